// Extents that a .tns without a shape does not know: the largest coordinates, until another operand says more.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "frontend/parse.h"
#include "weft/engine.h"

namespace weft {

/// An operand's extents, and whether they are those of its largest coordinates.
struct KnownShape {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< by mode
  bool inferred = false;
};

/// A mode that another tensor knows to be longer.
struct GrownMode {
  std::size_t operand = 0;
  std::size_t mode = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::string like;  ///< the tensor that says so
  bool operator==(const GrownMode&) const = default;
};

/// The modes of inferred extents that grow so that each index has one extent, on diagonals and through intermediates,
/// too. `operands` in the order of an einsum's factors. An index over which those that are not inferred disagree, or
/// are shorter than an inferred one, grows nothing: resolve() tells that. Pure; any thread.
std::vector<GrownMode> grown_modes(const ParsedExpression& expression, const std::vector<KnownShape>& operands);

/// Replaces tensors by such as are extended so; `inferred` names those whose extents are. Returns a line for each
/// mode: "T: mode 1 read with extent 99, taken as 100 as in B". Errors as of with_extents.
Expected<std::vector<std::string>> grow_inferred_extents(Tensors& tensors, const ParsedExpression& expression,
                                                         const std::vector<std::string>& operands,
                                                         const std::set<std::string>& inferred,
                                                         const Resources& resources);

}  // namespace weft
