#include "engine/prove/query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace weft {

const std::string& Query::constant(const std::string& name) {
  const auto [place, is_new] = declared_.insert(name);
  if (is_new) text_ += fmt::format("(declare-const {} Int)\n", name);
  return *place;
}

std::vector<std::string> Query::constants(std::string_view prefix, std::size_t count, std::string_view suffix) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < count; ++n) names.push_back(constant(fmt::format("{}{}{}", prefix, n, suffix)));
  return names;
}

std::string Query::value_of(const std::string& name, const std::vector<std::string>& arguments) {
  if (declared_.insert(name).second) {
    const std::vector<std::string> types(arguments.size(), "Int");
    text_ += fmt::format("(declare-fun {} ({}) Int)\n", name, fmt::join(types, " "));
  }
  return fmt::format("({} {})", name, fmt::join(arguments, " "));
}

void Query::require(const std::string& what) {
  if (what != "true") text_ += fmt::format("(assert {})\n", what);
}

void Query::within(const std::string& term, const std::string& least, const std::string& most) {
  require(logic::not_above(least, term));
  require(logic::not_above(term, most));
}

namespace logic {

std::string number_text(std::int64_t value) {
  // -2^63 has no positive counterpart.
  return value < 0 ? fmt::format("(- {})", std::uint64_t{0} - static_cast<std::uint64_t>(value))
                   : fmt::format("{}", value);
}

std::string equal(const std::string& a, const std::string& b) {
  return a == b ? "true" : fmt::format("(= {} {})", a, b);
}
std::string less(const std::string& a, const std::string& b) {
  return a == b ? "false" : fmt::format("(< {} {})", a, b);
}
std::string not_above(const std::string& a, const std::string& b) {
  return a == b ? "true" : fmt::format("(<= {} {})", a, b);
}
std::string negated(const std::string& what) {
  return what == "true" ? "false" : what == "false" ? "true" : fmt::format("(not {})", what);
}
std::string plus_one(const std::string& term) { return fmt::format("(+ {} 1)", term); }

std::string implies(const std::string& premise, const std::string& conclusion) {
  if (premise == "false" || conclusion == "true") return "true";
  return premise == "true" ? conclusion : fmt::format("(=> {} {})", premise, conclusion);
}

std::string joined(std::string_view function, const std::vector<std::string>& parts, std::string_view none) {
  if (parts.empty()) return std::string(none);
  return parts.size() == 1 ? parts.front() : fmt::format("({} {})", function, fmt::join(parts, " "));
}

std::string all_of(std::vector<std::string> parts) {
  if (std::ranges::find(parts, "false") != parts.end()) return "false";
  std::erase(parts, "true");
  return joined("and", parts, "true");
}

std::string any_of(std::vector<std::string> parts) {
  if (std::ranges::find(parts, "true") != parts.end()) return "true";
  std::erase(parts, "false");
  return joined("or", parts, "false");
}

std::string comes_before(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::string text = "false";
  for (std::size_t n = a.size(); n-- > 0;)
    text = any_of({less(a[n], b[n]), all_of({equal(a[n], b[n]), std::move(text)})});
  return text;
}

}  // namespace logic
}  // namespace weft
