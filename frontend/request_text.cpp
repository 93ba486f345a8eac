#include "frontend/request_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/elapsed.h"

namespace weft {

const Expected<ParsedExpression>& RequestText::parsed() const {
  if (!parsed_) {
    const auto start = Clock::now();
    parsed_ = parse_expression(text_);
    parse_ms_ = milliseconds_since(start);
  }
  return *parsed_;
}

Expected<std::vector<std::string>> RequestText::operands() const {
  const auto& expression = parsed();
  if (!expression) return std::unexpected(expression.error());
  if (expression->notation == Notation::index) return names_read(*expression);
  std::vector<std::string> names;
  for (const ParsedTerm& term : expression->assignments.front().terms) {
    for (std::size_t factor = 0; factor < term.factors.size(); ++factor) names.push_back(fmt::format("T{}", names.size()));
  }
  return names;
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
