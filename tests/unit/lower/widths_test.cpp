#include "engine/lower/widths.h"

#include <doctest/doctest.h>

#include "engine/plan/schedule/widths.h"
#include "lowered_case.h"

namespace widths_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr std::uint64_t wide = (std::uint64_t{1} << 32) + 1;

/// The product of two matrices over these extents, by a schedule with such a drain; its columns come in no order.
Case product(std::uint64_t rows, std::uint64_t columns, const std::string& drained) {
  return {{{'i', rows}, {'j', columns}, {'k', 5}},
          "A ij",
          {"B ik", "C kj"},
          "  layout B ss:0,1 f64\n  layout C ss:0,1 f64\n  result A ss:0,1 f64\n  A[i,j] += B[i,k] * C[k,j]   loops " + drained + "\n"};
}

Expected<std::vector<LoweredNest>> lowered_with_widths(const Case& given) {
  const auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  const Network network = network_of(given);
  // The operands have the widths that they would be converted to.
  Schedule wide_enough = *schedule;
  for (ScheduledTensor& tensor : wide_enough.tensors) tensor.converted = true;
  wide_enough = with_widths(std::move(wide_enough), network, {});
  return lower(wide_enough, network, std::vector<bool>(wide_enough.tensors.size(), true));
}

std::string text(const Expected<std::vector<LoweredNest>>& nests) {
  REQUIRE_MESSAGE(nests, nests.error().message);
  return loop::print(nests->back().program);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("extents up to 2^32 leave every program as it was") {
  const Case given = product(wide - 1, wide - 1, "i,k,j   drained accumulator");
  const std::string found = text(lowered_with_widths(given));
  CHECK(found == programs(given));
  CHECK(!has(found, "<64>"));
}

TEST_CASE("results, operands and workspaces have 64-bit coordinates at the levels that need them, and only there") {
  const std::string found = text(lowered_with_widths(product(3, wide, "i,k,j   drained accumulator")));
  CAPTURE(found);
  CHECK(has(found, "{accumulator<64>}"));
  CHECK(has(found, "output A : f64 {compressed<64,32>, compressed<64,64>}"));
  CHECK(has(found, "input  B : f64 {compressed<32,32>, compressed<32,32>}"));
  CHECK(has(found, "input  C : f64 {compressed<32,32>, compressed<32,64>}"));
}

TEST_CASE("all modes of a key are as wide as the widest") {
  CHECK(has(text(lowered_with_widths(product(wide, 3, "k,i,j   drained hashed"))), "{hashed(2)<64>}"));
  CHECK(has(text(lowered_with_widths(product(3, wide, "k,i,j   drained hashed"))), "{hashed(2)<64>}"));
  CHECK(has(text(lowered_with_widths(product(3, wide - 1, "k,i,j   drained accumulator"))), "{accumulator(2)<32>}"));
}

TEST_CASE("a hashed level over 2^32 coordinates has a wider empty slot") {
  CHECK(has(text(lowered_with_widths(product(3, wide - 1, "i,k,j   drained hashed"))), "{hashed<64>}"));
  CHECK(has(text(lowered_with_widths(product(3, wide - 2, "i,k,j   drained hashed"))), "{hashed<32>}"));
}

TEST_CASE("a schedule whose widths somebody forgot is refused, not run") {
  const auto nests = lowered(product(3, wide, "i,k,j   drained accumulator"));
  REQUIRE(!nests);
  CHECK(nests.error().kind == ErrorKind::internal);
  CHECK(has(nests.error().message, "has coordinates of 32 bits, the extent 4294967297 of j needs 64"));
}

}  // namespace widths_test
