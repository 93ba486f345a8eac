// What an output is the sum of: products of inputs, every workspace replaced by the products accumulated into it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "engine/loop/program.h"
#include "engine/loop/walk.h"

namespace weft::loop {

/// An index of an expanded product: a loop's index, or a copy of it where a workspace is substituted next to a product
/// that already has that index (x[] += T[k] squared is a sum over k and k'). Where an index is given by that one and others, what is
/// done to them.
struct Symbol {
  struct Other {
    IndexId index = 0;
    std::uint32_t copy = 0;
    std::int64_t factor = 1;
    IndexPart part = {};
    auto operator<=>(const Other&) const = default;
  };
  IndexId index = 0;
  std::uint32_t copy = 0;
  IndexPart part = {};
  std::int64_t factor = 1;
  IndexPart own_part = {};  ///< of the first index, in a sum
  std::vector<Other> others = {};  ///< of a sum, beside the first index
  std::int64_t offset = 0;
  std::optional<std::uint64_t> extent = {};  ///< of a sum
  std::optional<std::uint64_t> cover = {};   ///< a start of blocks, IndexDefinition::cover
  /// The level of the access whose start is a summand too: that of b, of c = j - b.
  struct Start {
    std::size_t level = 0;
    std::int64_t factor = 1;
    auto operator<=>(const Start&) const = default;
  };
  std::vector<Start> starts = {};
  auto operator<=>(const Symbol&) const = default;
  /// Whether it is of a symbol that a loop binds.
  bool is_of(const Symbol& loop) const {
    const auto is_it = [&](const Other& other) { return other.index == loop.index && other.copy == loop.copy; };
    return (index == loop.index && copy == loop.copy) || std::ranges::any_of(others, is_it);
  }
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

/// Whether a drive or locate step on a level of an access leaves out coordinates, by what is stored there alone: not on
/// a dense level of an input, nor where a fact says that the level is full, but at a sum, which may be out of range.
bool leaves_out(const Program& program, const Access& access, std::size_t level);

/// The products of every output, in text order; `all` are the Program's accumulates and outlive the result. The Program
/// satisfies binding, completeness and life cycle. Unsupported: a workspace written on its diagonal and read elsewhere.
Expected<std::vector<ExpandedProduct>> expand(const Program& program, const std::vector<PlacedAccumulate>& all);

}  // namespace weft::loop
