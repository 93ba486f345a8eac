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

std::string with_means(const Case& given, const std::vector<double>& means) {
  const auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  LoweringFacts facts;
  facts.means.resize(schedule->tensors.size());
  facts.means[0] = means;
  const auto nests = lower(*schedule, network_of(given), std::vector<bool>(schedule->tensors.size(), true), facts);
  REQUIRE_MESSAGE(nests, nests.error().message);
  return print(nests->front().program);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("loops with enough iterations are batches, as long as what waits is small") {
  CHECK(has(with_means(ttmc(16, 16), {3, 20, 2}), "for j: drive T, locate B        @batch(32)"));
  CHECK(has(with_means(ttmc(16, 64), {3, 20, 2}), "@batch(16)"));
  CHECK(has(with_means(ttmc(16, 128), {3, 20, 2}), "@batch(8)"));
  CHECK_FALSE(has(with_means(ttmc(16, 16), {3, 2, 20}), "@batch"));  // two fibers of a row
  CHECK_FALSE(has(with_means(ttmc(16, 16), {}), "@batch"));
  CHECK_FALSE(has(with_means(ttmc(1, 16), {3, 20, 2}), "@batch"));   // one row
  CHECK_FALSE(has(with_means(ttmc(16, 129), {3, 20, 2}), "@batch"));  // longer than rows that are written out
}

}  // namespace batches_test
