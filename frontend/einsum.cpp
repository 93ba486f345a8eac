#include "frontend/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/text/names.h"
#include "engine/text/picture.h"
#include "frontend/token.h"
#include "frontend/words.h"

namespace weft {
namespace {

class EinsumParser {
 public:
  EinsumParser(std::string_view text, const NamedEinsum& named) : text_(text), named_(named), end_(named.einsum.end) {}

  Expected<ParsedExpression> parse() {
    begin_access(named_.einsum.begin);
    for (position_ = named_.einsum.begin; position_ < end_; ++position_) {
      if (const auto good = read_character(); !good) return std::unexpected(good.error());
    }
    if (const auto good = end_access(end_); !good) return std::unexpected(good.error());
    if (const auto good = check_names(); !good) return std::unexpected(good.error());
    if (!result_) add_implicit_result();
    add_names();

    ParsedExpression expression{std::string(text_), named_.operands.empty() ? Notation::einsum : Notation::index, {}};
    ParsedTerm term;
    term.pinned = flat_tree(operands_.size());
    term.span = {operands_.front().span.begin, operands_.back().span.end};
    term.factors = std::move(operands_);
    expression.assignments.push_back({std::move(*result_), {std::move(term)}, {0, text_.size()}});
    return expression;
  }

 private:
  Expected<void> read_character() {
    const char c = text_[position_];
    if (is_letter(c)) {
      if (access_.indices.empty()) access_.span.begin = position_;
      access_.span.end = position_ + 1;
      access_.indices.push_back({std::string(1, c), {position_, position_ + 1}});
      return {};
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return {};
    if (c == ',') {
      if (arrow_) return wrong(ErrorKind::input, "einsum has one result: ',' cannot stand after '->'", 1);
      if (auto good = end_access(position_); !good) return good;
      begin_access(position_ + 1);
      return {};
    }
    if (text_.substr(position_, 2) == "->") {
      if (arrow_) {
        return error_at(ErrorKind::input, text_, "'->' stands twice", {*arrow_, {position_, position_ + 2}});
      }
      if (auto good = end_access(position_); !good) return good;
      arrow_ = Span{position_, position_ + 2};
      ++position_;
      begin_access(position_ + 1);
      return {};
    }
    if (text_.substr(position_, 3) == "...") {
      return wrong(ErrorKind::unsupported, "'...' in einsum is not supported yet: write the indices out", 3);
    }
    const std::string name = name_character(text_, position_);
    if (c == ';') return wrong(ErrorKind::input, "einsum has one assignment: write several in index notation", 1);
    if (c == '(' || c == ')' || c == '[' || c == ']' || c == '*') {
      return wrong(ErrorKind::input,
                   fmt::format("unexpected {}: einsum is letters, ',' and '->'; write index notation, as "
                               "in A(i,k) = B(i,j) * C(j,k), to use brackets",
                               name),
                   1);
    }
    return wrong(ErrorKind::input,
                 fmt::format("unexpected {}: the indices of einsum are single letters a-z, A-Z", name), 1);
  }

  void begin_access(std::size_t position) { access_ = {"", {}, {position, position}, {}}; }

  /// Words behind the result's that have letters of no operand are names, of too many operands or too few: X = ij,jk->ik A.
  Expected<void> check_names() const {
    if (!arrow_) return {};
    std::string letters;
    for (const ParsedAccess& operand : operands_)
      for (const ParsedIndex& index : operand.indices) letters += index.name;
    const std::vector<std::string_view> words = words_of(at({arrow_->end, end_}));
    const auto is_name_of_none = [&](std::string_view word) { return word.find_first_not_of(letters) != std::string_view::npos; };
    const auto first = words.empty() ? words.end() : std::find_if(words.begin() + 1, words.end(), is_name_of_none);
    if (first == words.end()) return {};
    const std::size_t given = static_cast<std::size_t>(words.end() - first) + named_.operands.size();
    const auto begin = static_cast<std::size_t>(first->data() - text_.data());
    const std::size_t end = named_.operands.empty() ? end_ : named_.operands.back().end;
    return error_at(ErrorKind::input, text_,
                    fmt::format("einsum with {} operand{} is followed by as many names, not by {}", operands_.size(),
                                operands_.size() == 1 ? "" : "s", given),
                    {{begin, end}});
  }

  /// What has no name is pointed at where its letters stand.
  void add_names() {
    for (std::size_t operand = 0; operand < operands_.size(); ++operand) {
      ParsedAccess& access = operands_[operand];
      access.named = access.span;
      if (named_.operands.empty()) continue;
      access.name = std::string(at(named_.operands[operand]));
      access.named = named_.operands[operand];
    }
    result_->name = named_.target ? at(*named_.target) : "out";
    result_->named = named_.target.value_or(result_->span);
  }
  std::string_view at(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  Expected<void> end_access(std::size_t end) {
    // An operand without letters is pointed at where it ends: the ',' or '->' behind it.
    if (access_.indices.empty()) access_.span = {end, end};
    if (access_.indices.size() > highest_order) {
      return error_at(ErrorKind::unsupported, text_,
                      fmt::format("tensors of more than {} modes are not supported", highest_order), {access_.span});
    }
    if (arrow_) {
      result_ = std::move(access_);
      return {};
    }
    if (operands_.size() == most_factors) {
      return error_at(ErrorKind::unsupported, text_,
                      fmt::format("products of more than {} factors are not supported", most_factors), {access_.span});
    }
    operands_.push_back(std::move(access_));
    return {};
  }

  void add_implicit_result() {
    std::array<unsigned, 128> count{};
    std::array<Span, 128> place{};
    for (const ParsedAccess& operand : operands_) {
      for (const ParsedIndex& index : operand.indices) {
        const auto letter = static_cast<std::size_t>(index.name.front());
        ++count[letter];
        place[letter] = index.span;
      }
    }
    result_ = ParsedAccess{"", {}, {end_, end_}, {}};
    for (std::size_t letter = 0; letter < count.size(); ++letter) {
      if (count[letter] == 1) {
        result_->indices.push_back({std::string(1, static_cast<char>(letter)), place[letter]});
      }
    }
  }

  std::unexpected<Error> wrong(ErrorKind kind, std::string message, std::size_t length) const {
    return error_at(kind, text_, std::move(message), {{position_, position_ + length}});
  }

  std::string_view text_;
  const NamedEinsum& named_;
  std::size_t end_;  // of the einsum in the text
  std::size_t position_ = 0;
  ParsedAccess access_;
  std::vector<ParsedAccess> operands_;
  std::optional<Span> arrow_;
  std::optional<ParsedAccess> result_;
};

}  // namespace

Expected<ParsedExpression> parse_einsum(std::string_view text) { return parse_einsum(text, {{}, {0, text.size()}, {}}); }

Expected<ParsedExpression> parse_einsum(std::string_view text, const NamedEinsum& named) { return EinsumParser(text, named).parse(); }

}  // namespace weft
