// Which sums of a fiber are marked to go in vectors: long ones, of what is located by the innermost index alone.
#include "engine/lower/gathers.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace gathers_test {

using namespace weft;
using namespace weft::test;

namespace {

Case product_with_vector(const std::string& format, std::uint64_t columns = 200'000) {
  Case given;
  given.extents = {{'i', 3}, {'j', columns}};
  given.factors = {"M ij", "x j"};
  given.result = "y i";
  given.schedule = "  layout M " + format + " f64\n  layout x d:0 f64\n  result y d:0 f64\n  y[i] += M[i,j] * x[j]   loops i,j\n";
  return given;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("sums of long fibers are vectors") {
  const Case given = product_with_vector("ds:0,1");
  CHECK(has(program_with_means(given, {0, 20}), "for j: drive M, locate x @vector"));
  CHECK_FALSE(has(program_with_means(given, {0, 2.9}), "@vector"));
  CHECK_FALSE(has(program_with_means(given, {}), "@vector"));
  CHECK_FALSE(has(program_with_means(given, {0, 20}), "extent("));  // any matrix may come
  CHECK_FALSE(has(program_with_means(product_with_vector("uq:0,1"), {3, 20}), "@vector"));
  // The vector stays in the second cache.
  CHECK_FALSE(has(program_with_means(product_with_vector("ds:0,1", 100'000), {0, 20}), "@vector"));
}

TEST_CASE("what is gathered is not fetched ahead") {
  const Case given = product_with_vector("ds:0,1", 1 << 20);
  CHECK(has(program_with_means(given, {0, 2}), "@prefetch"));
  CHECK_FALSE(has(program_with_means(given, {0, 20}), "@prefetch"));
}

}  // namespace gathers_test
