#include "frontend/request_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/elapsed.h"

namespace weft {

const Expected<ParsedExpression>& RequestText::parsed() const {
  if (!parsed_) {
    const auto start = Clock::now();
    parsed_ = parse_expression(text_, is_given_);
    parse_ms_ = milliseconds_since(start);
  }
  return *parsed_;
}

Expected<std::vector<std::string>> RequestText::operands() const {
  const auto& expression = parsed();
  if (!expression) return std::unexpected(expression.error());
  if (expression->notation == Notation::index) return names_read(*expression);
  return unnamed(expression->assignments.front().terms.front().factors.size());
}

std::vector<std::string> unnamed(std::size_t operands) {
  std::vector<std::string> names;
  for (std::size_t operand = 0; operand < operands; ++operand) names.push_back(fmt::format("T{}", operand));
  return names;
}

IsGiven among(const Tensors& tensors) {
  return [&tensors](std::string_view name) { return tensors.contains(std::string(name)); };
}

IsGiven among(const std::vector<std::string>& names) {
  return [&names](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
}

std::vector<std::string> names_read(const ParsedExpression& expression) {
  std::vector<std::string> names, assigned;
  for (const ParsedAssignment& assignment : expression.assignments) {
    for (const ParsedTerm& term : assignment.terms) {
      for (const ParsedAccess& factor : term.factors) {
        const auto is_name = [&](const std::string& other) { return other == factor.name; };
        if (std::ranges::none_of(assigned, is_name) && std::ranges::none_of(names, is_name)) names.push_back(factor.name);
      }
    }
    assigned.push_back(assignment.result.name);
  }
  return names;
}

}  // namespace weft
