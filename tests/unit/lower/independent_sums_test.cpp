// Which rows are summed in several sets: short ones over long fibers.
#include "engine/lower/independent_sums.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace independent_sums_test {

using namespace weft;
using namespace weft::test;

namespace {

std::string with_mean(std::uint64_t columns, double mean, const std::string& scalar = "f64") {
  Case given;
  given.extents = {{'i', 3}, {'k', 50}, {'r', columns}};
  given.factors = {"M ik", "C kr"};
  given.result = "Y ir";
  given.schedule = "  layout M ds:0,1 " + scalar + "\n  layout C dd:0,1 " + scalar + "\n  result Y dd:0,1 " + scalar +
                   "\n  Y[i,r] += M[i,k] * C[k,r]   loops i,k,r   vector r\n";
  return program_with_means(given, {0, mean});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("short rows of long fibers are summed in several sets") {
  CHECK(has(with_mean(8, 20), "@unroll(4)"));
  CHECK(has(with_mean(5, 20), "@unroll(4)"));
  CHECK(has(with_mean(16, 20), "@unroll(2)"));
  CHECK(has(with_mean(16, 20, "f32"), "@unroll(4)"));
  CHECK_FALSE(has(with_mean(17, 20), "@unroll"));  // three vectors
  CHECK_FALSE(has(with_mean(8, 5), "@unroll"));
  CHECK_FALSE(has(with_mean(8, 0), "@unroll"));
}

}  // namespace independent_sums_test
