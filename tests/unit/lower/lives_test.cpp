#include "engine/lower/lives.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace lives_test {

using namespace weft;
using namespace weft::test;

TEST_CASE("a workspace lives around the statements that write and read it, inside all loops that these share") {
  const Case given{{{'i', 3}, {'j', 4}, {'k', 5}, {'l', 6}, {'m', 4}},
                   "R im",
                   {"A ij", "B jk", "C kl", "D lm"},
                   R"(  layout A ss:0,1 f64
  layout B ss:0,1 f64
  layout C dd:0,1 f64
  layout D dd:0,1 f64
  intermediate x[i,k] dd:0,1 f64
  intermediate y[i,l] dd:0,1 f64
  result R dd:0,1 f64
  x[i,k] += A[i,j] * B[j,k]   loops i,j,k
  y[i,l] += x[i,k] * C[k,l]   loops i,k,l   fused 1
  R[i,m] += y[i,l] * D[l,m]   loops i,l,m   fused 1
  parallel i owner
)"};
  const auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  const auto read = nests(*schedule, network_of(given));
  REQUIRE_MESSAGE(read, read.error().message);
  REQUIRE(read->size() == 1);
  const std::vector<WorkspaceLife> lives = workspace_lives(read->front());
  REQUIRE(lives.size() == 2);
  CHECK(lives[0].depth == 1);
  CHECK(lives[0].first == 0);
  CHECK(lives[0].last == 1);
  CHECK(lives[1].depth == 1);
  CHECK(lives[1].first == 1);
  CHECK(lives[1].last == 2);
  CHECK(read->front().storages[lives[0].storage].storage.name == "x");
  CHECK(read->front().storages[lives[1].storage].storage.name == "y");
}

}  // namespace lives_test
