// A network of a text with small tensors for its operands, and its results by brute force.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "oracle/built_network.h"

namespace weft::fuzz {

struct BuiltText {
  test::BuiltNetwork built;
  std::map<std::string, test::CoordinateMap> results;  ///< of all assignments; intermediates have no zeros
};

/// Operands whose names begin with A to M are dense, the others compressed; extents as shapes_of gives them; entries
/// follow from the names alone. Nothing where the text is none, or its loops too many to interpret.
std::optional<BuiltText> built_text(std::string_view expression);

/// Legal? Then lowered, verified and interpreted, and every result it has must be the expected one.
void check_schedule(const Schedule& schedule, const BuiltText& text);

}  // namespace weft::fuzz
