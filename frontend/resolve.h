// ParsedExpression and operands to Network: names, orders and extents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/network/network.h"
#include "frontend/parse.h"

namespace weft {

/// What the language needs to know of an operand. A bare SPEC has an empty name (einsum only).
struct OperandShape {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< by mode; empty: a scalar
  Scalar scalar = Scalar::f64;
  bool operator==(const OperandShape&) const = default;
};

/// The names of the operands in the order given, checked against the expression before any operand is read. With
/// einsum the operands are those of the text in order, and the n-th (from 0), if `given[n]` is empty, is named "Tn".
/// Input errors: the wrong number of operands for einsum; with index notation a bare operand, one that is missing or
/// not used; one given twice or with a name that is no name; a result named like an operand, assigned twice, or used
/// before it is assigned.
Expected<std::vector<std::string>> operand_names(const ParsedExpression& expression,
                                                 const std::vector<std::string>& given);

/// The network of an expression over operands of these shapes. Tensors and indices are numbered in the order of
/// print(Network): for each assignment the result, then the factors. Indices belong to their assignment: an index of
/// the same name and extent in a later assignment has the same number, one of another extent a new number. A result is
/// f32 if it has factors and all are f32, else f64. Extents are compared, never multiplied. Input errors beyond those
/// of operand_names: an operand with another order than written, unequal extents of an index, an index twice in a
/// result or in no factor. Errors carry a picture of the text. Pure; any thread.
Expected<Network> resolve(const ParsedExpression& expression, const std::vector<OperandShape>& operands);

}  // namespace weft
