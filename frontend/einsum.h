// The einsum notation, "ijk,jr->ir".
#pragma once

#include <string_view>

#include "frontend/named_einsum.h"
#include "frontend/parse.h"

namespace weft {

/// Parses einsum notation; see parse_expression.
Expected<ParsedExpression> parse_einsum(std::string_view text);
/// The same of the einsum in a text, whose operands and result may have names there.
Expected<ParsedExpression> parse_einsum(std::string_view text, const NamedEinsum& named);

}  // namespace weft
