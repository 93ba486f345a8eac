// Einsum with names, "X = ij,j->i A x", as index notation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/parse.h"

namespace weft {

/// An einsum over operands of these names, whose result is `result`: "X(i) = A(i,j) * x(j)". An operand may stand twice.
std::string index_notation(const ParsedExpression& einsum, const std::vector<std::string>& operands, const std::string& result);

struct NamedEinsum {
  std::string text;                ///< index notation
  std::vector<std::string> names;  ///< of the operands that were given, in their order
};

/// "X = ij,j->i A x", where names of operands may be left out (they are then given in order), and "X =" too if there are names. Nothing
/// if the text is no such thing: index notation, or einsum without names. The last words are names where they are in `given`, which has an
/// empty name for an operand that is given without one. Input error: as of parse_einsum and operand_names.
Expected<std::optional<NamedEinsum>> named_einsum(std::string_view text, const std::vector<std::string>& given);

}  // namespace weft
