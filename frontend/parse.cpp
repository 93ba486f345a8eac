#include "frontend/parse.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "engine/text/names.h"
#include "frontend/einsum.h"
#include "frontend/named_einsum.h"
#include "frontend/token.h"

namespace weft {
namespace {

class IndexNotationParser {
 public:
  IndexNotationParser(std::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  Expected<ParsedExpression> parse() {
    ParsedExpression expression{std::string(text_), Notation::index, {}};
    while (true) {
      while (at(TokenKind::separator)) ++next_;
      if (at(TokenKind::end)) break;
      auto assignment = parse_assignment();
      if (!assignment) return std::unexpected(assignment.error());
      expression.assignments.push_back(std::move(*assignment));
    }
    if (expression.assignments.empty()) return wrong("the expression has no assignment", {token().span});
    return expression;
  }

 private:
  // What a product or a part of it contributes: a node of the tree, or none if it is only coefficients.
  struct Part {
    bool has_node = false;
    std::uint32_t node = 0;
  };

  const Token& token() const { return tokens_[next_]; }
  bool at(TokenKind kind) const { return token().kind == kind; }
  bool next_is(TokenKind kind) const { return next_ + 1 < tokens_.size() && tokens_[next_ + 1].kind == kind; }
  std::string_view spelled(const Token& token) const {
    return text_.substr(token.span.begin, token.span.end - token.span.begin);
  }

  std::string describe(const Token& token) const {
    switch (token.kind) {
      case TokenKind::end:
        return "the end of the expression";
      case TokenKind::separator:
        return spelled(token) == ";" ? "';'" : "the end of the line";
      case TokenKind::number:
        return fmt::format("the number {}", spelled(token));
      case TokenKind::name:
        return fmt::format("the name {}", spelled(token));
      default:
        return fmt::format("'{}'", spelled(token));
    }
  }

  std::unexpected<Error> wrong(std::string message, const std::vector<Span>& places) const {
    return error_at(ErrorKind::input, text_, std::move(message), places);
  }
  std::unexpected<Error> not_supported(std::string message, const std::vector<Span>& places) const {
    return error_at(ErrorKind::unsupported, text_, std::move(message), places);
  }
  std::unexpected<Error> expected(std::string_view what) const {
    return wrong(fmt::format("expected {}, found {}", what, describe(token())), {token().span});
  }

  Expected<ParsedAssignment> parse_assignment() {
    const std::size_t begin = token().span.begin;
    if (!at(TokenKind::name)) return expected("a result, as in A(i,j) = ...");
    auto result = parse_access();
    if (!result) return std::unexpected(result.error());
    if ((at(TokenKind::plus) || at(TokenKind::minus) || at(TokenKind::times)) && next_is(TokenKind::equals)) {
      return not_supported(
          fmt::format("'{}=' is not supported: an assignment defines its result with '='", spelled(token())),
          {token().span});
    }
    if (!at(TokenKind::equals)) return expected(fmt::format("'=' after the result {}", result->name));
    ++next_;
    auto term = parse_term();
    if (!term) return std::unexpected(term.error());
    if (at(TokenKind::plus) || at(TokenKind::minus)) {
      return not_supported(fmt::format("sums of terms are not supported yet ('{}' between terms)", spelled(token())),
                           {token().span});
    }
    if (at(TokenKind::equals)) return wrong("an assignment has one '='", {token().span});
    if (at(TokenKind::name) || at(TokenKind::number) || (at(TokenKind::open) && spelled(token()) == "(")) {
      return expected("'*' between factors");
    }
    if (!at(TokenKind::separator) && !at(TokenKind::end)) return expected("'*' or the end of the assignment");
    const std::size_t end = term->span.end;
    return ParsedAssignment{std::move(*result), {std::move(*term)}, {begin, end}};
  }

  Expected<ParsedTerm> parse_term() {
    term_ = ParsedTerm{};
    term_.span.begin = token().span.begin;
    bool inside_parentheses = false;
    const auto part = parse_product(0, inside_parentheses);
    if (!part) return std::unexpected(part.error());
    term_.span.end = tokens_[next_ - 1].span.end;
    if (term_.coefficient == 0) term_.coefficient = 0;  // equal networks print the same text: no -0
    const std::vector<ContractionTree::Node>& nodes = term_.pinned.nodes;
    const std::size_t children = nodes.empty() ? 0 : nodes.back().children.size();
    const bool flat = nodes.size() == children + 1 || nodes.empty();
    // Of two factors no tree is left to choose, but whether one of them is summed before they meet. One alone is always free.
    term_.open = children > 2 ? !inside_parentheses : flat && (children == 0 || !inside_parentheses);
    return std::move(term_);
  }

  // product := signed ('*' signed)*. `in_parentheses`: the returned node was written inside a pair of its own.
  Expected<Part> parse_product(std::size_t depth, bool& in_parentheses) {
    std::vector<std::uint32_t> children;
    bool child_in_parentheses = false;
    while (true) {
      bool parenthesised = false;
      const auto part = parse_signed(depth, parenthesised);
      if (!part) return part;
      if (part->has_node) {
        children.push_back(part->node);
        child_in_parentheses = parenthesised;
      }
      if (!at(TokenKind::times)) break;
      ++next_;
    }
    // A product of one factor and coefficients is that factor: the parentheses around or inside it mean nothing.
    in_parentheses = children.size() == 1 && child_in_parentheses;
    if (children.empty()) return Part{};
    if (children.size() == 1) return Part{true, children.front()};
    term_.pinned.nodes.push_back({std::move(children), 0});
    return last_node();
  }

  Expected<Part> parse_signed(std::size_t depth, bool& parenthesised) {
    for (; at(TokenKind::minus) || at(TokenKind::plus); ++next_) {
      if (at(TokenKind::minus)) term_.coefficient = -term_.coefficient;
    }
    if (at(TokenKind::number)) return parse_coefficient();
    if (at(TokenKind::open) && spelled(token()) == "(") return parse_group(depth, parenthesised);
    if (!at(TokenKind::name)) return expected("a tensor, a number or '('");
    auto access = parse_access();
    if (!access) return std::unexpected(access.error());
    if (term_.factors.size() == most_factors) {
      return not_supported(fmt::format("products of more than {} factors are not supported", most_factors),
                           {access->span});
    }
    term_.pinned.nodes.push_back({{}, static_cast<std::uint32_t>(term_.factors.size())});
    term_.factors.push_back(std::move(*access));
    return last_node();
  }

  Expected<Part> parse_coefficient() {
    const double value = token().value;
    term_.coefficient *= value;
    if (!std::isfinite(term_.coefficient)) {
      return wrong("the product of the coefficients is outside the range of a 64-bit number", {token().span});
    }
    ++next_;
    return Part{};
  }

  Expected<Part> parse_group(std::size_t depth, bool& parenthesised) {
    if (depth == deepest_nesting) {
      return not_supported(fmt::format("parentheses nested deeper than {} are not supported", deepest_nesting),
                           {token().span});
    }
    const Token open = token();
    ++next_;
    bool inner_parenthesised = false;
    const auto inner = parse_product(depth + 1, inner_parenthesised);
    if (!inner) return inner;
    if (at(TokenKind::plus) || at(TokenKind::minus)) {
      return not_supported(fmt::format("sums of terms are not supported yet ('{}' between terms)", spelled(token())),
                           {token().span});
    }
    if (at(TokenKind::name) || at(TokenKind::number)) return expected("'*' between factors");
    if (const auto good = close(open); !good) return std::unexpected(good.error());
    parenthesised = true;
    return inner;
  }

  // access := name, or name bracket (name (',' name)*)? bracket
  Expected<ParsedAccess> parse_access() {
    ParsedAccess access{std::string(spelled(token())), {}, token().span, token().span};
    ++next_;
    if (!at(TokenKind::open)) return access;
    const Token open = token();
    ++next_;
    if (!at(TokenKind::close)) {
      while (true) {
        if (!at(TokenKind::name)) {
          if (at(TokenKind::end)) return unclosed(open);
          return expected(fmt::format("an index of {}", access.name));
        }
        access.indices.push_back({std::string(spelled(token())), token().span});
        ++next_;
        if (!at(TokenKind::comma)) break;
        ++next_;
      }
      if (!at(TokenKind::close) && !at(TokenKind::end)) {
        return expected(fmt::format("',' or '{}' after an index of {}", closing(open), access.name));
      }
    }
    if (const auto good = close(open); !good) return std::unexpected(good.error());
    access.span.end = tokens_[next_ - 1].span.end;
    if (access.indices.size() > highest_order) {
      return not_supported(fmt::format("{} has {} indices: tensors of more than {} modes are not supported",
                                       access.name, access.indices.size(), highest_order),
                           {access.span});
    }
    return access;
  }

  char closing(const Token& open) const { return spelled(open) == "(" ? ')' : ']'; }

  std::unexpected<Error> unclosed(const Token& open) const {
    return wrong(
        fmt::format("'{}' is not closed: expected '{}', found {}", spelled(open), closing(open), describe(token())),
        {open.span, token().span});
  }

  Expected<void> close(const Token& open) {
    if (!at(TokenKind::close)) return unclosed(open);
    if (spelled(token()).front() != closing(open)) {
      return wrong(fmt::format("'{}' is closed by '{}'", spelled(open), spelled(token())), {open.span, token().span});
    }
    ++next_;
    return {};
  }

  Part last_node() const { return {true, static_cast<std::uint32_t>(term_.pinned.nodes.size() - 1)}; }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  ParsedTerm term_;
};

}  // namespace

Expected<ParsedExpression> parse_expression(std::string_view text, const IsGiven& is_given) {
  if (text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos) {
    return input_error("the expression is empty: write A(i,k) = B(i,j) * C(j,k), or einsum as in ij,jk->ik");
  }
  if (const auto named = named_einsum(text, is_given)) return parse_einsum(text, *named);
  const bool has_equals = text.find('=') != std::string_view::npos;
  const bool has_arrow = text.find("->") != std::string_view::npos;
  if (!has_equals && !has_arrow && text.find_first_of("()[]*") != std::string_view::npos) {
    return error_at(ErrorKind::input, text,
                    "there is no '=': an expression is RESULT = FACTORS, as in A(i,k) = B(i,j) * C(j,k), or einsum, as "
                    "in ij,jk->ik",
                    {{text.size(), text.size()}});
  }
  if (!has_equals) return parse_einsum(text);
  auto tokens = tokenize(text);
  if (!tokens) return std::unexpected(tokens.error());
  return IndexNotationParser(text, std::move(*tokens)).parse();
}

}  // namespace weft
