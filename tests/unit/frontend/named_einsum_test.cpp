#include "frontend/named_einsum.h"

#include <doctest/doctest.h>

namespace named_einsum_test {

using namespace weft;

namespace {

std::string read_as(std::string_view text, const std::vector<std::string>& given) {
  const auto named = named_einsum(text, given);
  REQUIRE_MESSAGE(named, text);
  if (!*named) return "as it is";
  std::string names;
  for (const std::string& name : (*named)->names) names += " " + name;
  return (*named)->text + " |" + names;
}

}  // namespace

TEST_CASE("a name for the result, names for the operands, or both") {
  CHECK(read_as("X = ij,j->i A x", {"A", "x"}) == "X(i) = A(i,j) * x(j) | A x");
  CHECK(read_as("ij,j->i A x", {"x", "A"}) == "out(i) = A(i,j) * x(j) | x A");
  CHECK(read_as("X = ij,j->i", {"A", ""}) == "X(i) = A(i,j) * T1(j) | A T1");
  CHECK(read_as("X=ij,j", {"", ""}) == "X(i) = T0(i,j) * T1(j) | T0 T1");
  CHECK(read_as("ij,jk->ik A A", {"A"}) == "out(i,k) = A(i,j) * A(j,k) | A");
  CHECK(read_as("s = i->", {"x"}) == "s() = x(i) | x");
  CHECK(read_as("i,-> x s", {"x", "s"}) == "out() = x(i) * s() | x s");
}

TEST_CASE("letters with blanks are letters, unless they name what is given") {
  CHECK(read_as("ij,jk -> i k", {"A", "B"}) == "as it is");
  CHECK(read_as("ij,jk -> i k", {"i", "k"}) == "out() = i(i,j) * k(j,k) | i k");
  CHECK(read_as("i j -> j i", {""}) == "as it is");
  CHECK(read_as("ij->i Tt", {"T"}) == "out(i) = Tt(i,j) | T");  // the name is missed later
}

TEST_CASE("index notation is left alone, and so are numbers") {
  for (const std::string_view text : {"y(i) = A(i,j) * x(j)", "s = a * b", "s = v", "y = 2", "a = b; c = a", "ij,j->i", "->", ""}) {
    CHECK_MESSAGE(read_as(text, {"A", "x"}) == "as it is", text);
  }
}

TEST_CASE("errors are those of einsum") {
  CHECK(named_einsum("X = ij,j?->i", {"A", "x"}).error().message.find("unexpected '?'") == 0);
  CHECK(named_einsum("X = ij,j->i", {"A"}).error().message.find("has 2 operands but 1 is given") != std::string::npos);
}

}  // namespace named_einsum_test
