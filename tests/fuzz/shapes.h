// Operands for a text that names them: extents by the names of its indices.
#pragma once

#include <vector>

#include "frontend/resolve.h"

namespace weft::fuzz {

/// An operand for every tensor that is read and not assigned before, with the order it is first written with. An index
/// whose name ends in a letter behind 'm' has the extent 3, the others 2; in einsum likewise.
std::vector<OperandShape> shapes_of(const ParsedExpression& expression);

}  // namespace weft::fuzz
