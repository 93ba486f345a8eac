#include "frontend/einsum.h"

#include <doctest/doctest.h>

namespace einsum_test {

using namespace weft;

namespace {

// "ij,jk->ik" again, as it was understood.
std::string understood(std::string_view text) {
  const auto expression = parse_expression(text);
  REQUIRE_MESSAGE(expression, text);
  CHECK(expression->notation == Notation::einsum);
  CHECK(expression->text == text);
  REQUIRE(expression->assignments.size() == 1);
  const ParsedAssignment& assignment = expression->assignments.front();
  CHECK(assignment.result.name == "out");
  REQUIRE(assignment.terms.size() == 1);
  const ParsedTerm& term = assignment.terms.front();
  CHECK(term.coefficient == 1);
  CHECK(term.pinned == flat_tree(term.factors.size()));
  CHECK(term.open);
  std::string result;
  for (std::size_t factor = 0; factor < term.factors.size(); ++factor) {
    if (factor > 0) result += ',';
    CHECK(term.factors[factor].name.empty());
    for (const ParsedIndex& index : term.factors[factor].indices) {
      CHECK(text.substr(index.span.begin, index.span.end - index.span.begin) == index.name);
      result += index.name;
    }
  }
  result += "->";
  for (const ParsedIndex& index : assignment.result.indices) {
    CHECK(text.substr(index.span.begin, index.span.end - index.span.begin) == index.name);
    result += index.name;
  }
  return result;
}

std::string error_of(std::string_view text, ErrorKind kind = ErrorKind::input) {
  const auto expression = parse_einsum(text);
  REQUIRE_MESSAGE(!expression, text);
  CHECK(expression.error().kind == kind);
  return expression.error().message;
}

}  // namespace

TEST_CASE("explicit results") {
  CHECK(understood("ijk,jr,kr->ir") == "ijk,jr,kr->ir");
  CHECK(understood(" i j , jk\n-> k i ") == "ij,jk->ki");
  CHECK(understood("aA,Ab->ba") == "aA,Ab->ba");
  CHECK(understood("ii->i") == "ii->i");
  CHECK(understood("ij->") == "ij->");
  CHECK(understood(",i->i") == ",i->i");
  CHECK(understood("i,->i") == "i,->i");
  CHECK(understood("->") == "->");
  CHECK(understood(",,->") == ",,->");
}

TEST_CASE("implicit results: the letters that occur once, in ASCII order") {
  CHECK(understood("ij,jk") == "ij,jk->ik");
  CHECK(understood("ba") == "ba->ab");
  CHECK(understood("bA,Zc") == "bA,Zc->AZbc");
  CHECK(understood("ii") == "ii->");
  CHECK(understood("iij") == "iij->j");
  CHECK(understood(",") == ",->");
  CHECK(understood("i,i,i") == "i,i,i->");
}

TEST_CASE("spans of operands") {
  const auto expression = parse_einsum("ij, , kl");
  REQUIRE(expression);
  const std::vector<ParsedAccess>& factors = expression->assignments[0].terms[0].factors;
  CHECK(factors[0].span == Span{0, 2});
  CHECK(factors[1].span == Span{4, 4});
  CHECK(factors[2].span == Span{6, 8});
}

TEST_CASE("errors of einsum") {
  CHECK(error_of("ij->i->j") == "'->' stands twice\n  ij->i->j\n    ^  ^");
  CHECK(error_of("ij->i,j") == "einsum has one result: ',' cannot stand after '->'\n  ij->i,j\n       ^");
  CHECK(error_of("i...,j", ErrorKind::unsupported) ==
        "'...' in einsum is not supported yet: write the indices out\n  i...,j\n   ^");
  CHECK(error_of("i.j").starts_with("unexpected '.': the indices of einsum are single letters"));
  CHECK(error_of("i1,1j->ij").starts_with("unexpected '1'"));
  CHECK(error_of("i-j").starts_with("unexpected '-'"));
  CHECK(error_of("i>j").starts_with("unexpected '>'"));
  CHECK(error_of("(ij,jk),kl->il").starts_with("unexpected '(': einsum is letters, ',' and '->'"));
  CHECK(error_of("ij;jk").starts_with("einsum has one assignment"));
  CHECK(error_of("i\xc3\xa9->i").starts_with("unexpected '\xc3\xa9' (U+00E9)"));
  CHECK(error_of("i\xff").starts_with("unexpected byte 0xff"));
}

TEST_CASE("limits of einsum") {
  CHECK(understood(std::string(15, ',')) == std::string(15, ',') + "->");
  CHECK(error_of(std::string(16, ','), ErrorKind::unsupported)
            .starts_with("products of more than 16 factors are not supported"));
  CHECK(parse_einsum(std::string(32, 'i')));
  CHECK(error_of(std::string(33, 'i'), ErrorKind::unsupported).starts_with("tensors of more than 32 modes"));
  CHECK(!parse_einsum(std::string(1000000, ',')));
}

}  // namespace einsum_test
