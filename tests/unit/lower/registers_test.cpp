#include "engine/lower/registers.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lowered_case.h"

namespace registers_test {

using namespace weft;
using namespace weft::test;

namespace {

Case spmm(std::uint64_t columns, const std::string& scalar = "f64") {
  return {{{'i', 3}, {'k', 4}, {'r', columns}},
          "C ir",
          {"A ik", "B kr"},
          "  layout A ss:0,1 " + scalar + "\n  layout B dd:0,1 " + scalar + "\n  result C dd:0,1 " + scalar +
              "\n  C[i,r] += A[i,k] * B[k,r]   loops i,k,r   vector r\n"};
}

Nest rows_of(const Case& given) {
  const auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  const auto read = nests(*schedule, network_of(given));
  REQUIRE_MESSAGE(read, read.error().message);
  return with_register_rows(read->back(), network_of(given));
}

}  // namespace

TEST_CASE("the row becomes a workspace, copied once after the loops that add to it") {
  const Nest nest = rows_of(spmm(32));
  REQUIRE(nest.statements.size() == 2);
  const NestStatement& copy = nest.statements[1];
  CHECK(copy.loops == std::vector<IndexId>{0, 2});
  CHECK(copy.fused == 1);
  CHECK(copy.coefficient == 1);
  CHECK(copy.factors == std::vector<NestAccess>{nest.statements[0].target});
  CHECK(nest.storages[copy.factors[0].storage].storage.name == "C_row");
  CHECK(nest.storages[copy.target.storage].storage.role == loop::Role::output);
}

TEST_CASE("over a few coordinates in between the workspace is a tile") {
  const auto blocked = [](std::uint64_t rows, std::uint64_t columns, std::uint64_t width) {
    return Case{{{'i', 3}, {'j', 4}, {'r', rows}, {'c', columns}, {'s', width}},
                "Y irs",
                {"B ijrc", "X jcs"},
                "  layout B dsdd:0,1,2,3 f64\n  layout X ddd:0,1,2 f64\n  result Y ddd:0,1,2 f64\n"
                "  Y[i,r,s] += B[i,j,r,c] * X[j,c,s]   loops i,j,r,c,s   vector s\n"};
  };
  const auto indices_of_rows = [&](const Case& given) {
    const Nest nest = rows_of(given);
    REQUIRE(nest.statements.size() == 2);
    return std::pair(nest.statements[0].target.indices, nest.statements[1].loops);
  };
  using Indices = std::vector<IndexId>;
  const Case given = blocked(3, 3, 32);
  CHECK(defect(given) == "");
  const Network network = network_of(given);
  const auto id = [&](const std::string& name) {
    return static_cast<IndexId>(std::ranges::find(network.indices, name, &Index::name) - network.indices.begin());
  };
  CHECK(indices_of_rows(given) == std::pair(Indices{id("r"), id("s")}, Indices{id("i"), id("r"), id("s")}));
  // A row over s alone, inside r: too many iterations, or more than registers hold.
  for (const Case& other : {blocked(9, 1, 8), blocked(3, 9, 8), blocked(8, 2, 32)}) {
    CHECK(indices_of_rows(other) == std::pair(Indices{id("s")}, Indices{id("i"), id("j"), id("r"), id("s")}));
    CHECK(defect(other) == "");
  }
}

TEST_CASE("only as many rows as registers hold") {
  CHECK(rows_of(spmm(128)).statements.size() == 2);
  CHECK(rows_of(spmm(129)).statements.size() == 1);
  CHECK(rows_of(spmm(256, "f32")).statements.size() == 2);
  CHECK(rows_of(spmm(257, "f32")).statements.size() == 1);
  CHECK(rows_of(spmm(std::uint64_t{1} << 61)).statements.size() == 1);

  // The fiber workspace of an MTTKRP takes its share first.
  auto mttkrp = [](std::uint64_t columns) {
    return Case{{{'i', 3}, {'j', 3}, {'k', 3}, {'r', columns}},
                "A ir",
                {"T ijk", "B jr", "C kr"},
                "  layout T sss:0,1,2 f64\n  layout B dd:0,1 f64\n  layout C dd:0,1 f64\n"
                "  intermediate x[i,j,r] ddd:0,1,2 f64\n  result A dd:0,1 f64\n"
                "  x[i,j,r] += T[i,j,k] * C[k,r]   loops i,j,k,r   vector r\n"
                "  A[i,r] += x[i,j,r] * B[j,r]     loops i,j,r   fused 2   vector r\n"};
  };
  CHECK(rows_of(mttkrp(64)).statements.size() == 3);
  CHECK(rows_of(mttkrp(65)).statements.size() == 2);
  CHECK(defect(mttkrp(64)) == "");
  CHECK(defect(mttkrp(65)) == "");
}

TEST_CASE("no row where nothing would be kept") {
  auto statements = [](const std::string& layout_of_b, const std::string& statement) {
    Case given = spmm(8);
    const std::string layout = "layout B dd:0,1";
    given.schedule.replace(given.schedule.find(layout), layout.size(), "layout B " + layout_of_b);
    given.schedule.replace(given.schedule.find("loops i,k,r   vector r"), 22, statement);
    CHECK(defect(given) == "");
    return rows_of(given).statements.size();
  };
  CHECK(statements("dd:0,1", "loops i,k,r") == 1);             // no vector code
  CHECK(statements("dd:0,1", "loops k,i,r   vector r") == 1);  // the loop around r is the target's
  CHECK(statements("ds:0,1", "loops i,k,r   vector r") == 1);  // r is not dense
  CHECK(statements("dd:0,1", "loops i,k,r   vector r") == 2);
}

}  // namespace registers_test
