#include "frontend/repl/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/text/error_at.h"
#include "engine/text/scanner.h"
#include "frontend/array_text.h"
#include "frontend/slice.h"
#include "frontend/stored.h"

namespace weft {
namespace {

constexpr std::size_t longest = 1000;  // each bracket is a call within a call

/// Sums and products of numbers, scalars and elements: SUM = PRODUCT {(+|-) PRODUCT}, and so on downwards.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const FindTensor& find) : scanner_(text, " \t"), find_(find) {}

  Expected<double> value() {
    auto sum = this->sum();
    if (sum && !scanner_.at_end()) return wrong("an operator + - * / is missing here");
    return sum;
  }

 private:
  std::unexpected<Error> wrong(const std::string& message) const {
    return error_at(ErrorKind::input, scanner_.text(), message, {scanner_.next_character()});
  }
  char next() {
    scanner_.skip_blanks();
    return scanner_.next();
  }
  Expected<double> sum() {
    auto left = product();
    for (char sign = next(); left && (sign == '+' || sign == '-'); sign = next()) {
      scanner_.skip(1);
      const auto right = product();
      if (!right) return right;
      *left += sign == '+' ? *right : -*right;
    }
    return left;
  }
  Expected<double> product() {
    auto left = factor();
    for (char sign = next(); left && (sign == '*' || sign == '/'); sign = next()) {
      scanner_.skip(1);
      const auto right = factor();
      if (!right) return right;
      *left = sign == '*' ? *left * *right : *left / *right;
    }
    return left;
  }
  Expected<double> factor() {
    bool negative = false;
    for (char sign = next(); sign == '-' || sign == '+'; sign = next()) {
      negative ^= sign == '-';
      scanner_.skip(1);
    }
    auto found = operand();
    if (found && negative) *found = -*found;
    return found;
  }
  Expected<double> operand() {
    const char first = next();
    if (first == '(') {
      scanner_.skip(1);
      auto inside = sum();
      if (!inside) return inside;
      if (next() != ')') return wrong("a ')' is missing here");
      scanner_.skip(1);
      return inside;
    }
    if (is_digit(first) || first == '.') {
      const auto number = scanner_.take_number<double>();
      if (!number) return wrong("this number is malformed or too large");
      return *number;
    }
    const std::size_t begin = scanner_.position();
    const std::string name(scanner_.take_name());
    if (name.empty()) return wrong("a number, a scalar or an element is missing here");
    return element(name, begin);
  }
  Expected<double> element(const std::string& name, std::size_t begin) {
    const auto fails = [&](const std::string& message) {
      return error_at(ErrorKind::input, scanner_.text(), message, {scanner_.since(begin)});
    };
    const Tensor* const tensor = find_(name);
    if (tensor == nullptr) return fails(fmt::format("no tensor is named {}", name));
    Slice slice;
    if (next() == '[') {
      const std::size_t close = scanner_.rest().find(']');
      if (close == std::string_view::npos) return wrong("this bracket is not closed");
      auto parsed = parse_slice(scanner_.rest().substr(1, close - 1));
      if (!parsed) return std::unexpected(parsed.error());
      slice = std::move(*parsed);
      scanner_.skip(close + 1);
    }
    const auto selected = select(slice, tensor->extents(), name);
    if (!selected) return std::unexpected(selected.error());
    if (!std::ranges::all_of(*selected, &Selected::dropped)) {
      return fails(fmt::format("{} is no number: name a result and the indices, as in y(i) = v(i) * 2", name));
    }
    double value = 0;  // of what is not stored
    const auto visit = [&](std::span<const std::uint64_t>, double stored) {
      value = stored;
      return false;
    };
    if (auto visited = visit_entries(*tensor, *selected, {}, visit); !visited) return std::unexpected(visited.error());
    return value;
  }

  Scanner scanner_;
  const FindTensor& find_;
};

}  // namespace

bool is_arithmetic(std::string_view text) {
  if (text.size() > longest || text.find("->") != std::string_view::npos) return false;
  bool operates = false;
  bool in_brackets = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[' || c == ']') in_brackets = c == '[';
    if (in_brackets) continue;
    operates |= c == '+' || c == '-' || c == '*' || c == '/' || std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!continues_name(c) && std::string_view("+-*/(). \t]").find(c) == std::string_view::npos) return false;
    if (c == '(' && at > 0 && continues_name(text[at - 1])) return false;  // an access
  }
  const bool one_number_or_more = text.find_first_of("+-*/") != std::string_view::npos ||
                                  text.find_first_not_of("0123456789.eE") == std::string_view::npos;
  return operates && one_number_or_more;
}

Expected<double> arithmetic(std::string_view text, const FindTensor& find) { return Arithmetic(text, find).value(); }

}  // namespace weft
