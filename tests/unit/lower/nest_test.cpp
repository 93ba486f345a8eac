#include "engine/lower/nest.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace nest_test {

using namespace weft;
using namespace weft::test;

namespace {

Case chain(const std::string& statements) {
  return {{{'i', 3}, {'j', 4}, {'k', 5}, {'l', 6}},
          "R il",
          {"A ij", "B jk", "C kl"},
          "  layout A ss:0,1 f64\n  layout B ss:1,0 f64\n  layout C dd:0,1 f32\n  intermediate x[i,k] dd:1,0 f64\n"
          "  result R dd:0,1 f64\n" +
              statements};
}

std::vector<Nest> nests_of(const Case& given) {
  const auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  const auto read = nests(*schedule, network_of(given));
  REQUIRE_MESSAGE(read, read.error().message);
  return *read;
}

const NestStorage& storage_of(const Nest& nest, const NestAccess& access) { return nest.storages[access.storage]; }

}  // namespace

TEST_CASE("a nest ends where the next statement shares no loop") {
  const auto fused =
      nests_of(chain("  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n"
                     "  R[i,l] += x[i,k] * C[k,l]    loops i,k,l   fused 1   vector l\n"
                     "  parallel i owner\n"));
  REQUIRE(fused.size() == 1);
  CHECK(fused[0].root == RootReduction::owner);
  CHECK(fused[0].statements[1].fused == 1);

  const auto apart =
      nests_of(chain("  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n"
                     "  R[i,l] += x[i,k] * C[k,l]    loops i,k,l\n"));
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].root == RootReduction::serial);
}

TEST_CASE("an intermediate between nests is stored whole, inside one over the modes not bound outside") {
  const auto fused =
      nests_of(chain("  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n"
                     "  R[i,l] += x[i,k] * C[k,l]    loops i,k,l   fused 1\n"));
  const NestAccess& written = fused[0].statements[0].target;
  CHECK(storage_of(fused[0], written).storage.role == loop::Role::workspace);
  CHECK(storage_of(fused[0], written).storage.levels.size() == 1);
  CHECK(written.indices == std::vector<IndexId>{2});
  CHECK(fused[0].statements[1].factors[0] == written);

  const auto apart =
      nests_of(chain("  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n"
                     "  R[i,l] += x[i,k] * C[k,l]    loops i,k,l\n"));
  CHECK(storage_of(apart[0], apart[0].statements[0].target).storage.role == loop::Role::output);
  CHECK(storage_of(apart[1], apart[1].statements[0].factors[0]).storage.role == loop::Role::input);
  CHECK(apart[0].statements[0].target.indices == std::vector<IndexId>{2, 0});  // in storage order
}

TEST_CASE("accesses have their indices level by level, storages their levels and scalar") {
  const auto fused =
      nests_of(chain("  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n"
                     "  R[i,l] += x[i,k] * C[k,l]    loops i,k,l   fused 1\n"));
  const NestAccess& b = fused[0].statements[0].factors[1];
  CHECK(b.indices == std::vector<IndexId>{2, 1});
  CHECK(first_level_of(b, 1) == 1);
  CHECK(first_level_of(b, 0) == 2);
  CHECK(storage_of(fused[0], b).storage.levels[0].kind == LevelKind::compressed);
  CHECK(storage_of(fused[0], fused[0].statements[1].factors[1]).storage.scalar == Scalar::f32);
  CHECK(shared_loops(fused[0].statements, 0, 1) == 1);
  CHECK(shared_loops(fused[0].statements, 0, 0) == 3);
}

TEST_CASE("an operand in two layouts is two storages") {
  Case given{{{'i', 3}, {'j', 3}},
             "R ij",
             {"K ij", "K ji"},
             "  layout K.1 ss:0,1 f64\n  layout K.2 ss:1,0 f64 converted\n  result R dd:0,1 f64\n"
             "  R[i,j] += K.1[i,j] * K.2[j,i]   loops i,j\n"};
  const auto read = nests_of(given);
  REQUIRE(read[0].storages.size() == 3);
  CHECK(read[0].storages[0].storage.name == "K");
  CHECK(read[0].storages[1].storage.name == "K_2");
  CHECK(defect(given) == "");
}

TEST_CASE("statements that share a loop but do not meet in the nest become two") {
  const Case siblings{{{'i', 4}, {'j', 3}, {'k', 3}},
                      "R i",
                      {"A ij", "B ik"},
                      "  layout A ss:0,1 f64\n  layout B ss:0,1 f64\n  intermediate x[i] d:0 f64\n"
                      "  intermediate y[i] d:0 f64\n  result R d:0 f64\n  x[i] += A[i,j]   loops i,j\n"
                      "  y[i] += B[i,k]   loops i,k   fused 1\n  R[i] += x[i] * y[i]   loops i\n"
                      "  parallel i owner\n  parallel i owner\n"};
  const auto read = nests_of(siblings);
  REQUIRE(read.size() == 3);
  CHECK(read[0].root == RootReduction::owner);
  CHECK(read[1].root == RootReduction::owner);
  CHECK(read[1].statements[0].fused == 0);
  CHECK(read[2].root == RootReduction::owner);
  CHECK(defect(siblings) == "");
  Case met = siblings;
  met.schedule.replace(met.schedule.find("loops i\n"), 7, "loops i   fused 1");
  met.schedule.resize(met.schedule.rfind("  parallel"));
  CHECK(nests_of(met).size() == 1);
  CHECK(defect(met) == "");
}

}  // namespace nest_test
