#include "engine/lower/joined_results.h"

#include <doctest/doctest.h>

#include "engine/loop/print.h"
#include "engine/lower/lower.h"
#include "engine/plan/schedule/schedule.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"
#include "unit/replaced.h"

namespace joined_results_test {

using namespace weft;
using namespace weft::test;

namespace {

const std::string sampled =
    "schedule\n"
    "  tree S = (M * A * B)\n"
    "  tree O = (S * D)\n"
    "  layout M ss:0,1 f64\n"
    "  layout A dd:0,1 f64\n"
    "  layout B dd:0,1 f64\n"
    "  result S ss:0,1 f64 like M\n"
    "  layout D dd:0,1 f64\n"
    "  result O dd:0,1 f64\n"
    "  S[i,j] += M[i,j] * A[i,k] * B[j,k]   loops i,j,k   vector k\n"
    "  O[i,h] += S[i,j] * D[j,h]   loops i,j,h   vector h\n"
    "  parallel i owner\n"
    "  parallel i owner\n";

/// The programs of two assignments, with i, j of an extent each and k of `summed`.
std::vector<LoweredNest> lowered(const std::string& text, const std::string& second = "O(i,h) = S(i,j) * D(j,h)",
                                 std::uint64_t summed = 5) {
  const auto parsed = parse_expression("S(i,j) = M(i,j) * A(i,k) * B(j,k); " + second);
  REQUIRE_MESSAGE(parsed, parsed.error().message);
  const auto network = resolve(*parsed, {{"M", {4, 4}, Scalar::f64}, {"A", {4, summed}, Scalar::f64}, {"B", {4, summed}, Scalar::f64},
                                         {"D", {4, 3}, Scalar::f64}});
  REQUIRE_MESSAGE(network, network.error().message);
  const auto schedule = parse_schedule(text, *network);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  auto nests = lower(*schedule, *network, std::vector<bool>(schedule->tensors.size(), true));
  REQUIRE_MESSAGE(nests, nests.error().message);
  return *nests;
}

}  // namespace

TEST_CASE("a sampled product and what reads it are one nest, which walks the operand once") {
  const auto nests = lowered(sampled);
  REQUIRE(nests.size() == 1);
  const std::string text = loop::print(nests[0].program);
  CAPTURE(text);
  CHECK(text.find("@parallel(S: owner, O: owner)") != std::string::npos);
  CHECK(text.find("S += S_entry") != std::string::npos);
  CHECK(text.find("locate S") == std::string::npos);
  CHECK(text.find("drive S") == std::string::npos);
}

TEST_CASE("results are not joined where the loops would run over something else") {
  CHECK(lowered(replaced(sampled, " like M", "")).size() == 2);
  CHECK(lowered(replaced(sampled, "layout D dd", "layout D ds")).size() == 2);
  CHECK(lowered(replaced(sampled, "layout A dd", "layout A ds")).size() == 2);
  CHECK(lowered(replaced(sampled, "loops i,j,h   vector h\n  parallel i owner\n  parallel i owner",
                         "loops h,i,j\n  parallel i owner\n  parallel h owner"))
            .size() == 2);
  CHECK(lowered(replaced(sampled, "vector h\n  parallel i owner\n  parallel i owner", "vector h\n  parallel i owner\n  parallel i serial"))
            .size() == 2);
  CHECK(lowered(replaced(sampled, "O[i,h] += S[i,j] * D[j,h]   loops i,j,h", "O[i,h] += S[j,i] * D[j,h]   loops i,j,h"),
                "O(i,h) = S(j,i) * D(j,h)")
            .size() == 2);
  // No sum over nothing makes an entry.
  CHECK(lowered(sampled, "O(i,h) = S(i,j) * D(j,h)", 0).size() == 2);
}

}  // namespace joined_results_test
