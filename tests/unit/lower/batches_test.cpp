// Which loops add their products to a common block a batch at a time: those with iterations enough, over blocks of a size.
#include "engine/lower/batches.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace batches_test {

using namespace weft;
using namespace weft::test;

namespace {

Case ttmc(std::uint64_t rows, std::uint64_t columns) {
  Case given;
  given.extents = {{'i', 3}, {'j', 50}, {'k', 20}, {'r', rows}, {'s', columns}};
  given.factors = {"T ijk", "B jr", "C ks"};
  given.result = "A irs";
  given.schedule =
      "  layout T sss:0,1,2 f64\n  layout B dd:0,1 f64\n  layout C dd:0,1 f64\n  intermediate x[i,j,s] ddd:0,1,2 f64\n"
      "  result A ddd:0,1,2 f64\n  x[i,j,s] += T[i,j,k] * C[k,s]   loops i,j,k,s   vector s\n"
      "  A[i,r,s] += x[i,j,s] * B[j,r]   loops i,j,r,s   fused 2   vector s\n  parallel i owner\n";
  return given;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("loops with enough iterations are batches, as long as what waits is small") {
  CHECK(has(program_with_means(ttmc(16, 16), {3, 20, 2}), "for j: drive T, locate B        @batch(32)"));
  CHECK(has(program_with_means(ttmc(16, 64), {3, 20, 2}), "@batch(16)"));
  CHECK(has(program_with_means(ttmc(16, 128), {3, 20, 2}), "@batch(8)"));
  CHECK_FALSE(has(program_with_means(ttmc(16, 16), {3, 2, 20}), "@batch"));  // two fibers of a row
  CHECK_FALSE(has(program_with_means(ttmc(16, 16), {}), "@batch"));
  CHECK_FALSE(has(program_with_means(ttmc(1, 16), {3, 20, 2}), "@batch"));   // one row
  CHECK_FALSE(has(program_with_means(ttmc(16, 129), {3, 20, 2}), "@batch"));  // longer than rows that are written out
}

}  // namespace batches_test
