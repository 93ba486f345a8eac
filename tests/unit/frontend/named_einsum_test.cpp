#include "frontend/named_einsum.h"

#include <doctest/doctest.h>

#include <array>
#include <span>

#include "frontend/request_text.h"
#include "frontend/resolve.h"
#include "weft/arrays.h"
#include "weft/engine.h"
#include "weft/session.h"

namespace named_einsum_test {

using namespace weft;

namespace {

std::string access_text(const ParsedAccess& access) {
  std::string indices;
  for (const ParsedIndex& index : access.indices) indices += (indices.empty() ? "" : ",") + index.name;
  return access.name + '(' + indices + ')';
}

/// "X(i) = A(i,j) * x(j)"; an einsum without names has none in front of the brackets.
std::string read_as(std::string_view text, const std::vector<std::string>& given) {
  const auto parsed = parse_expression(text, among(given));
  REQUIRE_MESSAGE(parsed, text);
  CHECK(parsed->text == text);
  const ParsedAssignment& assignment = parsed->assignments.front();
  std::string read = access_text(assignment.result) + " =";
  for (const ParsedAccess& factor : assignment.terms.front().factors) read += " " + access_text(factor);
  CHECK((parsed->notation == Notation::einsum) == assignment.terms.front().factors.front().name.empty());
  return read;
}

std::string refused(std::string_view text, const std::vector<std::string>& given) {
  const auto parsed = parse_expression(text, among(given));
  if (!parsed) return parsed.error().message;
  const auto names = operand_names(*parsed, given);
  REQUIRE_MESSAGE(!names, text);
  return names.error().message;
}

Tensor matrix(std::uint64_t rows, std::uint64_t columns, const std::vector<double>& values) {
  return *from_dense({rows, columns}, std::span<const double>(values), Resources{});
}

std::vector<double> values_of(const Tensor& tensor) {
  const auto values = tensor.values().as<const double>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a name for the result, names for the operands, or both") {
  CHECK(read_as("X = ij,j->i A x", {"A", "x"}) == "X(i) = A(i,j) x(j)");
  CHECK(read_as("ij,j->i A x", {"x", "A"}) == "out(i) = A(i,j) x(j)");
  CHECK(read_as("X = ij,j->i", {"A", ""}) == "X(i) = (i,j) (j)");
  CHECK(read_as("X=ij,j", {"", ""}) == "X(i) = (i,j) (j)");
  CHECK(read_as("ij,jk->ik A A", {"A"}) == "out(i,k) = A(i,j) A(j,k)");
  CHECK(read_as("s = i->", {"x"}) == "s() = (i)");
  CHECK(read_as("i,-> x s", {"x", "s"}) == "out() = x(i) s()");
  CHECK(read_as(" X = ij , jk\n-> i k A\tB ", {}) == "X(i,k) = A(i,j) B(j,k)");
}

TEST_CASE("letters with blanks are letters, unless they name what is given") {
  CHECK(read_as("ij,jk -> i k", {"A", "B"}) == "out(i,k) = (i,j) (j,k)");
  CHECK(read_as("ij,jk -> i k", {"i", "k"}) == "out() = i(i,j) k(j,k)");
  CHECK(read_as("i j -> j i", {""}) == "out(j,i) = (i,j)");
  CHECK(read_as("ij->i Tt", {"T"}) == "out(i) = Tt(i,j)");  // the name is missed later
}

TEST_CASE("index notation is left alone, and so are numbers") {
  const std::vector<std::string> given{"A", "x"};
  for (const std::string_view text : {"y(i) = A(i,j) * x(j)", "s = a * b", "s = v", "y = 2", "a = b; c = a", "ij,j->i", "->", ""}) {
    CHECK_MESSAGE(!named_einsum(text, among(given)), text);
  }
}

TEST_CASE("errors are those of einsum, with carets in the text that was given") {
  CHECK(refused("X = ij,j?->i", {"A", "x"}) ==
        "unexpected '?': the indices of einsum are single letters a-z, A-Z\n  X = ij,j?->i\n          ^");
  CHECK(refused("X = ij,j->i", {"A"}) == "the expression has 2 operands but 1 is given\n  X = ij,j->i\n         ^");
  CHECK(refused("X = ij,j->i A y", {"A", "x"}) == "no operand is given for y\n  X = ij,j->i A y\n                ^");
  CHECK(refused("A = ij,j->i A x", {"A", "x"}) == "the result A is named like an operand\n  A = ij,j->i A x\n  ^");
  CHECK(refused("ij,j->i A out", {"A", "out"}) == "the result out is named like an operand\n  ij,j->i A out\n        ^");
}

TEST_CASE("engines and sessions take einsum with names") {
  const Tensor A = matrix(2, 3, {1, 2, 3, 4, 5, 6}), B = matrix(3, 2, {1, 0, 0, 1, 1, 1});
  const std::vector<double> product{4, 5, 10, 11};
  const auto engine = Engine::create();
  REQUIRE(engine);
  for (const auto& [text, first, second, result] :
       {std::array<std::string, 4>{"ij,jk->ik A B", "A", "B", "out"}, {"X = ij,jk->ik A B", "A", "B", "X"},
        {"X = ij,jk->ik", "T0", "T1", "X"}, {"ij,jk->ik", "T0", "T1", "out"}, {"ij,jk -> i k i k", "i", "k", "out"},
        {"ij,jk->ik B A", "B", "A", "out"}}) {
    const Tensors operands{{first, A}, {second, B}};
    const auto kernel = engine->compile(text, operands);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    Bindings bindings;
    bindings.set(first, A);
    bindings.set(second, B);
    const auto results = kernel->run(bindings);
    REQUIRE(results);
    REQUIRE(results->contains(result));
    CHECK(values_of(results->at(result)) == product);
    CHECK(kernel->report().expression == text);
    const std::uint64_t known = engine->counters().known;
    CHECK(engine->compile(text, operands));
    CHECK(engine->counters().known == known + 1);
    const auto bytes = kernel->save();
    REQUIRE(bytes);
    const auto loaded = engine->load(*bytes);
    REQUIRE_MESSAGE(loaded, loaded.error().message);
    CHECK(values_of(loaded->run(bindings)->at(result)) == product);
    const std::map<std::string, Statistics> figures{{first, statistics(A, Resources{})}, {second, statistics(B, Resources{})}};
    CHECK(engine->compile(text, figures));
    const Session session{*engine};
    session.set(first, A);
    session.set(second, B);
    for (const Answer answer : {Answer::best, Answer::soonest}) {
      const auto told = session.evaluate(text, answer);
      REQUIRE_MESSAGE(told, told.error().message);
      CHECK(values_of(told->at(result)) == product);
    }
    const auto single = session.evaluate(text, std::vector<std::string>{first, second});
    REQUIRE_MESSAGE(single, single.error().message);
    CHECK(values_of(single->results.at(result)) == product);
  }
}

TEST_CASE("letters mean names once such tensors are there") {
  const auto engine = Engine::create();
  REQUIRE(engine);
  const Session session{*engine};
  const Tensor A = matrix(2, 2, {1, 2, 3, 4});
  session.set("T0", A);
  session.set("T1", A);
  CHECK(values_of(session.evaluate("ij,jk -> i k")->at("out")) == std::vector<double>{7, 10, 15, 22});
  session.set("i", matrix(2, 2, {1, 0, 0, 0}));
  session.set("k", A);
  session.set("T0", matrix(2, 2, {1, 0, 0, 0}));  // what is known of the text is asked anew
  CHECK(values_of(session.evaluate("ij,jk -> i k")->at("out")) == std::vector<double>{3});
}

TEST_CASE("names of too many operands or too few are told apart from letters of the result") {
  const auto message = [](std::string_view text) {
    const auto parsed = parse_expression(text);
    return parsed ? std::string() : parsed.error().message;
  };
  CHECK(message("X = ij,jk->ik A") ==
        "einsum with 2 operands is followed by as many names, not by 1\n  X = ij,jk->ik A\n                ^");
  CHECK(message("X = ij,jk->ik A B C").starts_with("einsum with 2 operands is followed by as many names, not by 3\n"));
  CHECK(message("ij->i j B C") == "einsum with 1 operand is followed by as many names, not by 2\n  ij->i j B C\n          ^");
  for (const char* right : {"X = ij,jk->ik A B", "ij,jk-> i k", "X = ij,jk-> i k A B", "ij,jk->", "X = ij,jk-> A B"})
    CHECK_MESSAGE(message(right).empty(), right);
}

TEST_CASE("missing names are told with their place") {
  const auto engine = Engine::create();
  REQUIRE(engine);
  const Tensors operands{{"A", matrix(2, 2, {1, 2, 3, 4})}, {"B", matrix(2, 2, {1, 2, 3, 4})}};
  const auto message = [&](std::string_view text) {
    const auto kernel = engine->compile(text, operands);
    REQUIRE(!kernel);
    CHECK(kernel.error().code == ErrorCode::missing_operand);
    return kernel.error().message;
  };
  CHECK(message("X = ij,jk->ik A C") == "no tensor is named C; given and not used: B\n  X = ij,jk->ik A C\n                  ^");
  CHECK(message("ij,jk->ik") ==
        "no tensor is named T0; given and not used: A, B; the names of an einsum's operands stand behind it, as in ij,jk->ik A B\n"
        "  ij,jk->ik\n  ^");
}

}  // namespace named_einsum_test
