#include "frontend/parse.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "engine/text/names.h"
#include "unit/share.h"

namespace parse_test {

using namespace weft;

namespace {

// Coefficient, tree and openness of the first term: "2 (T * C) * B" is open, "2 [...]" is not.
std::string understood(std::string_view text) {
  const auto expression = parse_expression(text);
  if (!expression) return expression.error().message;
  REQUIRE(expression->assignments.size() == 1);
  REQUIRE(expression->assignments[0].terms.size() == 1);
  const ParsedTerm& term = expression->assignments[0].terms[0];
  CHECK(check(term.pinned, term.factors.size()));
  std::vector<std::string> names;
  for (const ParsedAccess& factor : term.factors) names.push_back(factor.name);
  const std::string tree = print(term.pinned, names);
  return std::to_string(static_cast<int>(term.coefficient)) + " " + tree + (term.open ? " open" : " pinned");
}

std::string error_of(std::string_view text, ErrorKind kind = ErrorKind::input) {
  const auto expression = parse_expression(text);
  REQUIRE_MESSAGE(!expression, text);
  CHECK(expression.error().kind == kind);
  return expression.error().message;
}

std::vector<std::string> names(const ParsedAccess& access) {
  std::vector<std::string> result;
  for (const ParsedIndex& index : access.indices) result.push_back(index.name);
  return result;
}

}  // namespace

TEST_CASE("an assignment with its spans") {
  const std::string text = "A(i,r) = T[i, j,kk] * -2 * B(j,r)*s";
  const auto expression = parse_expression(text);
  REQUIRE(expression);
  CHECK(expression->notation == Notation::index);
  CHECK(expression->text == text);
  const ParsedAssignment& assignment = expression->assignments[0];
  CHECK(assignment.result == ParsedAccess{"A", {{"i", {2, 3}}, {"r", {4, 5}}}, {0, 6}, {0, 1}});
  const ParsedTerm& term = assignment.terms[0];
  CHECK(term.coefficient == -2);
  REQUIRE(term.factors.size() == 3);
  CHECK(term.factors[0] == ParsedAccess{"T", {{"i", {11, 12}}, {"j", {14, 15}}, {"kk", {16, 18}}}, {9, 19}, {9, 10}});
  CHECK(names(term.factors[1]) == std::vector<std::string>{"j", "r"});
  CHECK(term.factors[2] == ParsedAccess{"s", {}, {34, 35}, {34, 35}});
  CHECK(term.span == Span{9, 35});
  CHECK(assignment.span == Span{0, 35});
}

TEST_CASE("scalars, with and without brackets") {
  for (const char* text : {"a = s", "a() = s()", "a[] = s [ ]", " a\t= s "}) {
    const auto expression = parse_expression(text);
    REQUIRE_MESSAGE(expression, text);
    CHECK(expression->assignments[0].result.name == "a");
    CHECK(expression->assignments[0].result.indices.empty());
    CHECK(expression->assignments[0].terms[0].factors[0].name == "s");
    CHECK(expression->assignments[0].terms[0].factors[0].indices.empty());
  }
}

TEST_CASE("coefficients and signs stand anywhere") {
  CHECK(understood("a = 3") == "3  open");
  CHECK(understood("a = -3") == "-3  open");
  CHECK(understood("a = 2 * T * -3 * B * (4)") == "-24 (T * B) open");
  CHECK(understood("a = -T") == "-1 T open");
  CHECK(understood("a = - - +T") == "1 T open");
  CHECK(understood("a = T * -B") == "-1 (T * B) open");
  CHECK(understood("a = -(T * -(2 * B))") == "2 (T * B) pinned");
  CHECK(understood("a = 0 * T") == "0 T open");
  CHECK(!std::signbit(parse_expression("a = 0 * -T")->assignments[0].terms[0].coefficient));
  CHECK(error_of("a = 1e300 * T * 1e300").starts_with("the product of the coefficients is outside the range"));
}

TEST_CASE("parentheses pin the tree") {
  CHECK(understood("a = A * B * C") == "1 (A * B * C) open");
  CHECK(understood("a = (A * B * C)") == "1 (A * B * C) pinned");
  CHECK(understood("a = 2 * ((A * B * C))") == "2 (A * B * C) pinned");
  CHECK(understood("a = (2 * A * B * C) * 3") == "6 (A * B * C) pinned");
  CHECK(understood("a = -((A * B * 2 * C))") == "-2 (A * B * C) pinned");
  CHECK(understood("a = (T * C) * B") == "1 ((T * C) * B) pinned");
  CHECK(understood("a = ((T * C) * B)") == "1 ((T * C) * B) pinned");
  CHECK(understood("a = B * (T * C)") == "1 (B * (T * C)) pinned");
  CHECK(understood("a = (T * C) * B * D") == "1 ((T * C) * B * D) open");
  CHECK(understood("a = ((T * C) * B * D)") == "1 ((T * C) * B * D) pinned");
  CHECK(understood("a = (A * B) * (C * D)") == "1 ((A * B) * (C * D)) pinned");
  CHECK(understood("a = (A * B * C) * D") == "1 ((A * B * C) * D) pinned");
}

TEST_CASE("parentheses around two factors pin them: neither is summed before they meet") {
  for (const char* text : {"a = (A * B)", "a = ((A) * B)", "a = ((A * ((B))))", "a = 1 * (A * B)", "a = (A * 1 * B)"}) {
    CHECK_MESSAGE(understood(text) == "1 (A * B) pinned", text);
  }
}

TEST_CASE("redundant parentheses mean nothing") {
  const std::string free_pair = understood("a = A * B");
  CHECK(free_pair == "1 (A * B) open");
  for (const char* text : {"a = (A) * B", "a = ((A)) * ((B))", "a = (1) * A * (B)"}) CHECK_MESSAGE(understood(text) == free_pair, text);
  CHECK(understood("a = ((T))") == understood("a = T"));
  CHECK(understood("a = (A) * (B) * C") == understood("a = A * B * C"));
  CHECK(understood("a = (2 * A) * B * C") == "2 (A * B * C) open");
  CHECK(understood("a = ((3)) * (-2)") == "-6  open");
}

TEST_CASE("several assignments") {
  for (const char* text : {"S(i) = M(i); O(i) = S(i)", "S(i) = M(i)\nO(i) = S(i)", ";;S(i)=M(i);\n;O(i)=S(i);\n",
                           "S(i) =\n  M(i)\nO(i)\n= S(i)\n"}) {
    const auto expression = parse_expression(text);
    REQUIRE_MESSAGE(expression, text);
    REQUIRE(expression->assignments.size() == 2);
    CHECK(expression->assignments[0].result.name == "S");
    CHECK(expression->assignments[1].terms[0].factors[0].name == "S");
  }
}

TEST_CASE("unsupported features are named") {
  const auto feature = [](std::string_view text) { return error_of(text, ErrorKind::unsupported); };
  CHECK(feature("A(i) = B(i) + C(i)") ==
        "sums of terms are not supported yet ('+' between terms)\n  A(i) = B(i) + C(i)\n              ^");
  CHECK(feature("A(i) = B(i) - C(i)").starts_with("sums of terms are not supported yet ('-' between terms)"));
  CHECK(feature("A(i) = (B(i) + C(i)) * D(i)").starts_with("sums of terms are not supported yet"));
  CHECK(feature("a = 1 + 2").starts_with("sums of terms"));
  CHECK(feature("A(i) += B(i)").starts_with("'+=' is not supported"));
  CHECK(feature("A(i) = B(i) / 2").starts_with("division is not supported"));
}

TEST_CASE("syntax errors point at their place") {
  CHECK(error_of("A(i = B(i)") == "expected ',' or ')' after an index of A, found '='\n  A(i = B(i)\n      ^");
  CHECK(error_of("A(i] = B(i)") == "'(' is closed by ']'\n  A(i] = B(i)\n   ^ ^");
  CHECK(error_of("A(i) = (B(i)") ==
        "'(' is not closed: expected ')', found the end of the expression\n  A(i) = (B(i)\n         ^    ^");
  CHECK(error_of("A(i) = B(i").starts_with("'(' is not closed"));
  CHECK(error_of("A(i) = B(").starts_with("'(' is not closed"));
  CHECK(error_of("A(i) = B(i))").starts_with("expected '*' or the end of the assignment, found ')'"));
  CHECK(error_of("A(i) = B(i) C(i)").starts_with("expected '*' between factors, found the name C"));
  CHECK(error_of("A(i) = (B(i) C(i))").starts_with("expected '*' between factors, found the name C"));
  CHECK(error_of("A(i) = B(i) 2").starts_with("expected '*' between factors, found the number 2"));
  CHECK(error_of("A(i) = B(i)(j)").starts_with("expected '*' between factors, found '('"));
  CHECK(error_of("A(i) = B(i,)").starts_with("expected an index of B, found ')'"));
  CHECK(error_of("A(i) = B(2)").starts_with("expected an index of B, found the number 2"));
  CHECK(error_of("A(i) = B(i j)").starts_with("expected ',' or ')' after an index of B, found the name j"));
  CHECK(error_of("A(i) = * B(i)").starts_with("expected a tensor, a number or '(', found '*'"));
  CHECK(error_of("A(i) = B(i) *").starts_with("expected a tensor, a number or '(', found the end of the expression"));
  CHECK(error_of("A(i) =").starts_with("expected a tensor, a number or '('"));
  CHECK(error_of("A(i) = ()").starts_with("expected a tensor, a number or '(', found ')'"));
  CHECK(error_of("A(i) = [B(i)]").starts_with("expected a tensor, a number or '(', found '['"));
  CHECK(error_of("= B").starts_with("expected a result, as in A(i,j) = ..., found '='"));
  CHECK(error_of("2 = B").starts_with("expected a result, as in A(i,j) = ..., found the number 2"));
  CHECK(error_of("A(i) B(i) = C").starts_with("expected '=' after the result A, found the name B"));
  CHECK(error_of("A = B = C").starts_with("an assignment has one '='"));
  CHECK(error_of("A = B; C").starts_with("expected '=' after the result C, found the end of the expression"));
  CHECK(error_of("A = B;\nC(i)\nD = B").starts_with("expected '=' after the result C, found the end of the line"));
  CHECK(error_of("T(i,j)*B(j)").starts_with("there is no '=': an expression is RESULT = FACTORS"));
  CHECK(error_of("").starts_with("the expression is empty"));
  CHECK(error_of(" \n\t").starts_with("the expression is empty"));
  CHECK(error_of("A = B\nC = D * * E") == "expected a tensor, a number or '(', found '*'\n  C = D * * E\n          ^");
}

TEST_CASE("limits: factors, order, nesting, length") {
  const auto product = [](std::size_t factors) {
    std::string text = "a = T";
    for (std::size_t factor = 1; factor < factors; ++factor) text += " * T";
    return text;
  };
  CHECK(parse_expression(product(16)));
  CHECK(error_of(product(17), ErrorKind::unsupported).starts_with("products of more than 16 factors"));

  const auto access = [](std::size_t order) {
    std::string text = "a = T(i0";
    for (std::size_t mode = 1; mode < order; ++mode) text += ",i" + std::to_string(mode);
    return text + ")";
  };
  CHECK(parse_expression(access(32)));
  CHECK(error_of(access(33), ErrorKind::unsupported)
            .starts_with("T has 33 indices: tensors of more than 32 modes are not supported"));

  const auto nested = [](std::size_t depth) {
    return "a = " + std::string(depth, '(') + "T" + std::string(depth, ')');
  };
  CHECK(understood(nested(deepest_nesting)) == "1 T open");
  CHECK(
      error_of(nested(deepest_nesting + 1), ErrorKind::unsupported).starts_with("parentheses nested deeper than 256"));

  if (!test::is_drawn_sanitized(0)) return;  // long texts
  CHECK(error_of(product(100000), ErrorKind::unsupported).starts_with("products of more than 16 factors"));
  CHECK(error_of(nested(1000000), ErrorKind::unsupported).starts_with("parentheses nested deeper than 256"));
  CHECK(error_of("a = " + std::string(1000000, '('), ErrorKind::unsupported).size() < 1000);
  std::string ones = "a = T";
  for (int count = 0; count < 100000; ++count) ones += " * 1";
  CHECK(understood(ones) == "1 T open");
  CHECK(understood("a = " + std::string(100000, '-') + "T") == "1 T open");
  const std::string name(100000, 'x');
  const auto expression = parse_expression(name + " = T");
  REQUIRE(expression);
  CHECK(expression->assignments[0].result.name == name);
}

TEST_CASE("any bytes are parsed or refused with a message") {
  std::mt19937 random(11);
  const std::string valid = "S(i,j) = (M[i,k] * -2e-1) * B(k,j) * s(); O(i) = S(i,i)\nx = 3";
  const std::string alphabet = "()[]*=,;+-.->_ \n0129eijkTS/\xc3\xa9\xff";
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 == 0 ? valid : "ijk,jr,kr->ir";
    for (std::size_t change = 1 + random() % 4; change > 0; --change) {
      const std::size_t place = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[place] = c;
          break;
        case 1:
          text.insert(place, 1, c);
          break;
        default:
          text.erase(place, 1 + random() % 3);
          break;
      }
      if (text.empty()) text.assign(1, ' ');
    }
    const auto expression = parse_expression(text);
    if (expression) {
      ++accepted;
      CHECK(!expression->assignments.empty());
    } else {
      CHECK(!expression.error().message.empty());
      CHECK(expression.error().kind != ErrorKind::internal);
    }
  }
  CHECK(accepted > 100);
}

}  // namespace parse_test
