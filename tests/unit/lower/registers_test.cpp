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

TEST_CASE("vectors over an index that the target lacks are summed whole, and added up once") {
  const auto blocked = [](std::uint64_t rows, std::uint64_t columns, const std::string& loops) {
    return Case{{{'i', 3}, {'j', 4}, {'r', rows}, {'c', columns}},
                "y ir",
                {"B ijrc", "x jc"},
                "  layout B dsdd:0,1,2,3 f64\n  layout x dd:0,1 f64\n  result y dd:0,1 f64\n"
                "  y[i,r] += B[i,j,r,c] * x[j,c]   loops " + loops + "   vector c\n"};
  };
  CHECK(programs(blocked(3, 8, "i,j,r,c")).find("with y_row[r,c] : f64 {dense, dense}\n      for j: drive B") != std::string::npos);
  CHECK(programs(blocked(9, 8, "i,r,j,c")).find("with y_row[c] : f64 {dense}\n        for j:") != std::string::npos);
  // As many as registers hold: 8 rows of 16; no loop around that only sums; none that may be kept inside the root.
  CHECK(programs(blocked(8, 16, "i,j,r,c")).find("with y_row[r,c]") != std::string::npos);
  CHECK(programs(blocked(8, 17, "i,j,r,c")).find("y_row") == std::string::npos);
  CHECK(programs(blocked(9, 8, "i,j,r,c")).find("y_row") == std::string::npos);
  CHECK(programs(blocked(3, 8, "j,i,r,c")).find("y_row") == std::string::npos);
  for (const char* loops : {"i,j,r,c", "i,r,j,c", "j,i,r,c", "r,i,j,c"}) {
    for (const std::uint64_t rows : {1, 3, 8, 9}) {
      for (const std::uint64_t columns : {1, 3, 8, 16, 17, 200}) CHECK(defect(blocked(rows, columns, loops)) == "");
    }
  }
  // Who reads the sum comes after it is complete, one by one or as a tile.
  const std::string layouts = "  layout T dsd:0,1,2 f64\n  layout B dd:0,1 f64\n  layout C dd:0,1 f64\n";
  CHECK(defect({{{'i', 3}, {'k', 4}, {'c', 8}, {'a', 3}},
                "Y ia",
                {"T ikc", "B kc", "C ia"},
                layouts + "  intermediate t[i] d:0 f64\n  result Y dd:0,1 f64\n"
                          "  t[i] += T[i,k,c] * B[k,c]   loops i,k,c   vector c\n"
                          "  Y[i,a] += t[i] * C[i,a]     loops i,a   fused 1   vector a\n"}) == "");
  CHECK(defect({{{'i', 3}, {'k', 4}, {'c', 8}, {'a', 3}, {'q', 2}},
                "Y ia",
                {"T ikc", "B kq", "C qa"},
                layouts + "  intermediate w[i,q,c] ddd:0,1,2 f64\n  result Y dd:0,1 f64\n"
                          "  w[i,q,c] += T[i,k,c] * B[k,q]   loops i,k,q,c   vector c\n"
                          "  Y[i,a] += w[i,q,c] * C[q,a]     loops i,q,c,a   fused 1   vector a\n"}) == "");
}

TEST_CASE("partial sums are there whole, however long the vector") {
  const auto sums = [](std::uint64_t columns) {
    return Case{{{'i', 3}, {'j', 4}, {'c', columns}}, "y i", {"B ijc", "x jc"},
                "  layout B dsd:0,1,2 f64\n  layout x dd:0,1 f64\n  result y d:0 f64\n"
                "  y[i] += B[i,j,c] * x[j,c]   loops i,j,c   vector c\n"};
  };
  CHECK(rows_of(sums(128)).statements.size() == 2);
  CHECK(defect(sums(128)) == "");
  for (const std::uint64_t columns : {std::uint64_t{129}, std::uint64_t{512}, std::uint64_t{1} << 61})
    CHECK(rows_of(sums(columns)).statements.size() == 1);
}

TEST_CASE("only as many rows as registers hold") {
  CHECK(rows_of(spmm(128)).statements.size() == 2);
  for (const char* scalar : {"f64", "f32"}) {  // in blocks
    CHECK(rows_of(spmm(512, scalar)).statements.size() == 2);
    CHECK(rows_of(spmm(513, scalar)).statements.size() == 1);
  }
  CHECK(defect(spmm(300)) == "");
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

TEST_CASE("where extents are not to be known rows are those of windows, three at most") {
  const auto windows_of = [](const Case& given) {
    const auto schedule = schedule_of(given);
    REQUIRE_MESSAGE(schedule, schedule.error().message);
    const auto read = nests(*schedule, network_of(given));
    REQUIRE_MESSAGE(read, read.error().message);
    return with_windowed_rows(read->back());
  };
  for (const std::uint64_t columns : {std::uint64_t{1}, std::uint64_t{32}, std::uint64_t{1} << 61}) {
    const Nest nest = windows_of(spmm(columns));
    REQUIRE(nest.statements.size() == 2);
    CHECK(nest.statements[1].loops == std::vector<IndexId>{0, 2});
    CHECK(nest.statements[1].fused == 1);
  }
  // A sum over all of the row, which shares the loop over k, is added to in between.
  const Case beside{{{'i', 3}, {'k', 4}, {'r', 8}, {'c', 5}},
                    "C ir",
                    {"A ik", "B kr", "D kc"},
                    "  layout A ss:0,1 f64\n  layout B dd:0,1 f64\n  layout D ds:0,1 f64\n  intermediate t[i,k] dd:0,1 f64\n"
                    "  result C dd:0,1 f64\n  t[i,k] += A[i,k] * D[k,c]   loops i,k,c\n"
                    "  C[i,r] += t[i,k] * B[k,r]   loops i,k,r   fused 2   vector r\n"};
  CHECK(windows_of(beside).statements.size() == 2);
  CHECK(rows_of(beside).statements.size() == 3);
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
