#include "frontend/repl/statement.h"

#include <doctest/doctest.h>

namespace weft::statement_test {
namespace {

Statement only(std::string_view text) {
  const auto input = parse_input(text);
  REQUIRE(input);
  REQUIRE(input->statements.size() == 1);
  return input->statements.front();
}

Statement load(const char* name, const char* spec) { return LoadStatement{name, spec}; }
Statement expression(const char* text) { return ExpressionStatement{text, {}, ""}; }

TEST_CASE("a name gets a file, a generated tensor or a number") {
  CHECK(only("T = flights.tns.zst") == load("T", "flights.tns.zst"));
  CHECK(only("T=a/b.tns:3x4") == load("T", "a/b.tns:3x4"));
  CHECK(only("T = \"my file.tns\"") == load("T", "my file.tns"));
  CHECK(only("T = \"a;b #1.tns\":3x4") == load("T", "a;b #1.tns:3x4"));
  CHECK(only("T = ../x.txt") == load("T", "../x.txt"));
  CHECK(only("B = uniform(20x3,seed=1)") == load("B", "uniform(20x3,seed=1)"));
  CHECK(only("s = -2.5e1") == load("s", "-2.5e1"));
  CHECK(only("s = inf") == load("s", "inf"));
}

TEST_CASE("assignments are expressions; those next to each other are one") {
  CHECK(only("A(i) = B(i,j) * c(j)") == expression("A(i) = B(i,j) * c(j)"));
  CHECK(only("a = B(i) * C(i)") == expression("a = B(i) * C(i)"));
  CHECK(only("a = 2 * b") == expression("a = 2 * b"));
  CHECK(only("a = B[i]") == expression("a = B[i]"));
  CHECK(only("A[i] = 2.5 * b[i]") == expression("A[i] = 2.5 * b[i]"));
  CHECK(only("S(i) = A(i,j); t = S(i)") == expression("S(i) = A(i,j); t = S(i)"));
  CHECK(only("A(i) =\n B(i) *\n C(i)") == expression("A(i) =\n B(i) *\n C(i)"));
  const auto mixed = parse_input("s = 2; A(i) = s * B(i); A; C(i) = A(i)");
  REQUIRE(mixed);
  CHECK(mixed->statements == std::vector<Statement>{load("s", "2"), expression("A(i) = s * B(i)"), ShowStatement{"A", "", {}, ""},
                                                    expression("C(i) = A(i)")});
}

TEST_CASE("einsum takes as many names as it has operands") {
  CHECK(only("ijk,jr,kr->ir T B C") == Statement(ExpressionStatement{"ijk,jr,kr->ir", {"T", "B", "C"}, ""}));
  CHECK(only("ij, jk A B") == Statement(ExpressionStatement{"ij, jk", {"A", "B"}, ""}));
  CHECK(only("ij -> T") == Statement(ExpressionStatement{"ij ->", {"T"}, ""}));
  CHECK(only("ii T") == Statement(ExpressionStatement{"ii", {"T"}, ""}));
  for (const char* no_assignment : {"2 * A(i)", "A(i) * B(i)"}) {
    CAPTURE(no_assignment);
    REQUIRE(!parse_input(no_assignment));
    CHECK(parse_input(no_assignment).error().message.starts_with("there is no '='"));
  }
  for (const char* sum : {"A + B", "1+1", "s - 1", "T[0, 1]/4"}) CHECK(only(sum) == Statement(ArithmeticStatement{sum}));
  CHECK(only("X = ij,ij-> A A") == Statement(ExpressionStatement{"ij,ij->", {"A", "A"}, "X"}));
  for (const char* wrong : {"ij,jk->ik", "ij,jk->ik A", "X = ij,jk->ik A", "ij,jk->ik A x.tns"}) {
    CAPTURE(wrong);
    CHECK(!parse_input(wrong));
  }
}

TEST_CASE("a tensor, an element, a slice, printed or named") {
  CHECK(only("A") == Statement(ShowStatement{"A", "", {}, ""}));
  CHECK(only("s()") == Statement(ShowStatement{"s", "", {}, ""}));
  CHECK(only("B = A") == Statement(ShowStatement{"A", "", {}, "B"}));
  CHECK(only("A[3,5]") == Statement(ShowStatement{"A", "[3,5]", {std::int64_t{3}, std::int64_t{5}}, ""}));
  CHECK(only("v = A [0, :]") == Statement(ShowStatement{"A", "[0, :]", {std::int64_t{0}, SliceRange{}}, "v"}));
  CHECK(!parse_input("A[]"));
}

TEST_CASE("a line that begins with ':' is one command") {
  CHECK(only(":quit") == Statement(CommandStatement{"quit", ""}));
  CHECK(only(" :time  A(i) = B(i); C(i) = A(i) ") == Statement(CommandStatement{"time", "A(i) = B(i); C(i) = A(i)"}));
  const auto after = parse_input("A; :list");
  REQUIRE(after);
  CHECK(after->statements.size() == 2);
}

TEST_CASE("nothing, empty statements, and a ';' at the end") {
  CHECK(parse_input("")->statements.empty());
  CHECK(parse_input(" ;; ; ")->statements.empty());
  CHECK(!parse_input("A; B")->silent);
  CHECK(parse_input("A; B;")->silent);
}

TEST_CASE("comments") {
  CHECK(without_comment("A # b") == "A ");
  CHECK(without_comment("# b") == "");
  CHECK(without_comment("x#1.tns") == "x#1.tns");
  CHECK(without_comment("T = \"a #1\" # b") == "T = \"a #1\" ");
}

TEST_CASE("which lines go on") {
  for (const char* open : {"A(i,", "A(i) =", "A(i) = B(i) *  ", "A(i) = (B(i)", "A[0", "A \\", "ij,", ":time A(i"}) {
    CAPTURE(open);
    CHECK(goes_on(open));
  }
  for (const char* whole : {"", "  ", "A", "A(i) = B(i)", "A(i) = B(i))", ":write A=", ":set calls ="}) {
    CAPTURE(whole);
    CHECK(!goes_on(whole));
  }
  CHECK(joined("", "A(i) =") == "A(i) =");
  CHECK(joined("A(i) =", " B(i)") == "A(i) =\n B(i)");
  CHECK(joined("A(i) \\", "= B(i)") == "A(i)   = B(i)");
}

}  // namespace
}  // namespace weft::statement_test
