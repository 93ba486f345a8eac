#include "engine/loop/interpret.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/files/loop_case.h"

namespace interpret_test {

using namespace weft;
using namespace weft::loop;

namespace {

std::vector<test::LoopCase> cases_in(const std::string& folder) {
  Expected<std::vector<test::LoopCase>> cases = test::read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop" + folder);
  REQUIRE_MESSAGE(cases.has_value(), cases.error().message);
  return *std::move(cases);
}

}  // namespace

TEST_CASE("every text case: verified, printed and parsed, interpreted") {
  std::vector<test::LoopCase> cases = cases_in("");
  CHECK(cases.size() >= 70);
  for (test::LoopCase& each : cases_in("/sparse_results")) cases.push_back(std::move(each));
  for (const test::LoopCase& each : cases) {
    CAPTURE(each.name);
    CHECK(!each.error);
    const Expected<void> verified = verify(each.program);
    CHECK_MESSAGE(verified.has_value(), verified.error().message);
    const Expected<Program> again = parse(print(each.program));
    REQUIRE_MESSAGE(again.has_value(), again.error().message);
    CHECK(*again == each.program);
    const auto found = interpret(each.program, each.values);
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    CHECK(test::difference(each.program, each.expected, *found) == "");
  }
}

TEST_CASE("every refused text case is refused by the rule it names") {
  const std::vector<test::LoopCase> cases = cases_in("/errors");
  CHECK(cases.size() >= 70);
  for (const test::LoopCase& each : cases) {
    CAPTURE(each.name);
    REQUIRE(each.error.has_value());
    const Expected<Program> program = parse(each.program_text);
    if (!program) {
      CHECK(*each.error == "not yet");
      CHECK(program.error().kind == ErrorKind::unsupported);
      CHECK_MESSAGE(program.error().message.find(*each.error) != std::string::npos, program.error().message);
      continue;
    }
    CHECK(parse(print(*program)).value() == *program);
    const Expected<void> verified = verify(*program);
    REQUIRE_MESSAGE(!verified.has_value(), "verified, expected: ", *each.error);
    CHECK_MESSAGE(verified.error().message.starts_with(*each.error), verified.error().message, " instead of ",
                  *each.error);
  }
}

TEST_CASE("a loop over a long extent runs where what drives it has entries, and nowhere else") {
  constexpr std::uint64_t last = (std::uint64_t{1} << 62) - 1;
  const Program program = *parse(R"(program R
  index  i, j
  input  T : f64 {compressed<32,64>, compressed<32,64>}   access T[i,j]
  input  a : f64 {compressed<32,64>}                      access a[i]
  output R : f64 {compressed<32,64>}                      access R[i]
  for i: drive T, drive a, append R
    for j: drive T
      R += T * a
)");
  const Entries T = {{{0, 3}, 2}, {{7, last}, 5}, {{last, 0}, 1}, {{last, last}, 4}};
  const Interpretation values{{{"i", last + 1}, {"j", last + 1}}, {{"T", T}, {"a", {{{7}, 1}, {{8}, 1}, {{last}, 3}}}}, {}};
  const auto found = interpret(program, values);
  REQUIRE_MESSAGE(found, found.error().message);
  CHECK(found->at("R") == Entries{{{7}, 5}, {{last}, 15}});
  CHECK(*iterations(program, values) == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("what the caller leaves out is named") {
  const Program program = parse(
                              "program p\n  input b : f64 {dense} access b[i]\n  output s : f64 {} access s[]\n"
                              "  fact extent(i) = 2\n  for i: locate b\n    s += c0 * b\n")
                              .value();
  const auto message = [&](const Interpretation& values) {
    const auto found = interpret(program, values);
    return found ? "interpreted" : found.error().message;
  };
  CHECK(message({{}, {}, {}}) == "the extent of index i is missing");
  CHECK(message({{{"i", 3}}, {}, {}}) == "fact extent(i) = 2, but its extent is 3");
  CHECK(message({{{"i", 2}}, {}, {}}) == "the input b is missing");
  CHECK(message({{{"i", 2}}, {{"b", {{{2}, 1}}}}, {}}) == "b has coordinate 2 at level 0, index i has extent 2");
  CHECK(message({{{"i", 2}}, {{"b", {{{1, 1}, 1}}}}, {}}) == "b has 1 levels, but an entry has 2 coordinates");
  CHECK(message({{{"i", 2}}, {{"b", {{{1}, 1}}}}, {}}) == "coefficient c0 is missing: 0 given");
  const auto found = interpret(program, {{{"i", 2}}, {{"b", {{{1}, 3}}}}, {0.5}});
  REQUIRE(found.has_value());
  CHECK(found->at("s") == Entries{{{}, 1.5}});
}

TEST_CASE("a workspace that nothing contributed to is absent, not zero") {
  const Program program = parse(R"(program absent
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  input  e : f64 {dense}                      access e[i]
  output y : f64 {dense}                      access y[i]
  for i: drive M, locate e, insert y
    with x[] : f64 {}
      for j: drive M
        x += M
      y += x * e
)")
                              .value();
  CHECK(verify(program));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto found =
      interpret(program, {{{"i", 2}, {"j", 2}}, {{"M", {{{1, 0}, 3}}}, {"e", {{{0}, nan}, {{1}, 2}}}}, {}});
  REQUIRE(found.has_value());
  CHECK(found->at("y") == Entries{{{1}, 6}});
}

}  // namespace interpret_test
