// The einsum notation, "ijk,jr->ir".
#pragma once

#include <string_view>

#include "frontend/parse.h"

namespace weft {

/// Parses einsum notation; see parse_expression.
Expected<ParsedExpression> parse_einsum(std::string_view text);

}  // namespace weft
