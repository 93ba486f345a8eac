#include "engine/lower/facts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lowered_case.h"

namespace facts_test {

using namespace weft;
using namespace weft::test;

namespace {

Case product(std::uint64_t dense, const std::string& statement) {
  return {{{'i', 3}, {'k', 4}, {'r', dense}},
          "C ir",
          {"A ik", "B kr"},
          "  layout A ss:0,1 f64\n  layout B dd:0,1 f64\n  result C dd:0,1 f64\n  C[i,r] += A[i,k] * B[k,r]   " +
              statement + "\n"};
}

std::string facts_of(const Case& given) {
  const std::string text = programs(given);
  std::string lines;
  for (std::size_t at = text.find("fact"); at != std::string::npos; at = text.find("fact", at + 1)) {
    lines += text.substr(at, text.find('\n', at) - at) + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("extents of vector loops and of short dense loops inside others are facts") {
  CHECK(facts_of(product(1000, "loops i,k,r   vector r")) == "fact   extent(r) = 1000\n");
  CHECK(facts_of(product(256, "loops i,k,r")) == "fact   extent(r) = 256\n");
  CHECK(facts_of(product(257, "loops i,k,r")).empty());
  CHECK(facts_of(product(8, "loops r,i,k")).empty());  // the root loop is cut for threads
}

TEST_CASE("finite operands are facts where there is a workspace to be read") {
  const Case given = product(8, "loops i,k,r   vector r");
  CHECK(facts_of(given) == "fact   extent(r) = 8\nfact   finite(A)\nfact   finite(B)\n");
  const auto schedule = schedule_of(given);
  REQUIRE(schedule);
  const auto infinite = lower(*schedule, network_of(given), {true, false, true});
  REQUIRE_MESSAGE(infinite, infinite.error().message);
  const std::vector<loop::Fact>& known = infinite->front().program.facts;
  CHECK(std::ranges::count_if(
            known, [](const loop::Fact& fact) { return std::holds_alternative<loop::FiniteFact>(fact); }) == 1);
}

}  // namespace facts_test
