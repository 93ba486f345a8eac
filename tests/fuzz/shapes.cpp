#include "fuzz/shapes.h"

#include <set>
#include <string>

namespace weft::fuzz {

std::vector<OperandShape> shapes_of(const ParsedExpression& expression) {
  std::vector<OperandShape> shapes;
  std::set<std::string> known;
  for (const ParsedAssignment& assignment : expression.assignments) {
    for (const ParsedTerm& term : assignment.terms)
      for (const ParsedAccess& factor : term.factors) {
        // Operands of einsum have no names, and each stands once.
        if (expression.notation == Notation::index && !known.insert(factor.name).second) continue;
        OperandShape shape;
        shape.name = factor.name;
        for (const ParsedIndex& index : factor.indices) shape.extents.push_back(index.name.back() > 'm' ? 3 : 2);
        shapes.push_back(std::move(shape));
      }
    known.insert(assignment.result.name);
  }
  return shapes;
}

}  // namespace weft::fuzz
