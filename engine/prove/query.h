// Query: the text of a question in SMT-LIB 2, over integers and without quantifiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Declarations and assertions, without commands.
class Query {
 public:
  /// A constant of this name, declared when it is first asked for.
  const std::string& constant(const std::string& name);
  /// Constants "m0_1", "m1_1", …
  std::vector<std::string> constants(std::string_view prefix, std::size_t count, std::string_view suffix);
  /// "(NAME ARGUMENT…)", of a function that nothing is said of but that equal arguments give equal values.
  std::string value_of(const std::string& name, const std::vector<std::string>& arguments);

  /// Nothing where it is "true".
  void require(const std::string& what);
  void within(const std::string& term, const std::string& least, const std::string& most);
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> declared_;
  std::string text_;
};

/// Terms and formulas as texts. What the texts alone decide, as that a term equals itself, is "true" or "false" and
/// left out.
namespace logic {

std::string number_text(std::int64_t value);
std::string equal(const std::string& a, const std::string& b);
std::string less(const std::string& a, const std::string& b);
std::string not_above(const std::string& a, const std::string& b);
std::string negated(const std::string& what);
std::string implies(const std::string& premise, const std::string& conclusion);
std::string plus_one(const std::string& term);
std::string all_of(std::vector<std::string> parts);
std::string any_of(std::vector<std::string> parts);
/// "(and A B)", A where there is nothing else, `none` where there is nothing.
std::string joined(std::string_view function, const std::vector<std::string>& parts, std::string_view none);
/// a < b by the first terms in which they differ.
std::string comes_before(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace logic
}  // namespace weft
