// What an output is the sum of: products of inputs, every workspace replaced by the products accumulated into it.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/loop/program.h"
#include "engine/loop/walk.h"

namespace weft::loop {

/// An index of an expanded product: a loop's index, or a copy of it where a workspace is substituted next to a product
/// that already has that index (x[] += T[k] squared is a sum over k and k'). Where an index is given by that one, what is
/// done to it.
struct Symbol {
  IndexId index = 0;
  std::uint32_t copy = 0;
  IndexPart part = {};
  auto operator<=>(const Symbol&) const = default;
  /// The symbol of the loop that binds it.
  Symbol of_loop() const { return {index, copy}; }
};

/// A storage with the symbols of its first levels: of all levels for a factor.
struct ExpandedAccess {
  StorageId storage = 0;
  std::vector<Symbol> symbols;
  auto operator<=>(const ExpandedAccess&) const = default;
};

/// A step that leaves out the coordinates where `prefix` has no entry.
struct Filter {
  ExpandedAccess prefix;
  Step step;
};

struct ExpandedProduct {
  const PlacedAccumulate* root = nullptr;  ///< the Accumulate into the output
  std::vector<Symbol> target;              ///< its symbols, those of the output's first access
  std::vector<ExpandedAccess> factors;     ///< inputs
  std::vector<ExpandedAccess> through;     ///< the workspaces that were substituted
  std::vector<Symbol> loops;               ///< around it and around what was substituted
  std::vector<Filter> filters;             ///< on the way
  bool negative = false;
  std::vector<std::uint32_t> coefficients;
};

/// Whether a drive or locate step on a level of a storage leaves out coordinates, by what is stored there alone: not on
/// a dense level of an input, nor where a fact says that the level is full.
bool leaves_out(const Program& program, StorageId storage, std::size_t level);

/// The products of every output, in text order; `all` are the Program's accumulates and outlive the result. The Program
/// satisfies binding, completeness and life cycle. Unsupported: a workspace written on its diagonal and read elsewhere.
Expected<std::vector<ExpandedProduct>> expand(const Program& program, const std::vector<PlacedAccumulate>& all);

}  // namespace weft::loop
