#include "engine/lower/forest.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace forest_test {

using namespace weft;
using namespace weft::test;

namespace {

/// The lines of the body that begin with `for`, without marks.
std::string loops_of(const Case& given) {
  const std::string text = programs(given);
  std::string lines;
  for (std::size_t at = text.find("for "); at != std::string::npos; at = text.find("for ", at + 1)) {
    std::string line = text.substr(at, text.find('\n', at) - at);
    line.resize(line.find_last_not_of(' ', line.find('@') - 1) + 1);
    lines += line + "\n";
  }
  return lines;
}

Case two_sparse(const std::string& statement) {
  return {{{'i', 3}, {'j', 4}, {'k', 5}},
          "R i",
          {"A ij", "B ij", "D jk"},
          "  layout A ss:0,1 f64\n  layout B us:0,1 f64\n  layout D ds:0,1 f64\n  result R d:0 f64\n"
          "  R[i] += A[i,j] * B[i,j] * D[j,k]   " +
              statement};
}

}  // namespace

TEST_CASE("who drives and who is searched is what the schedule says, else all sparse levels drive") {
  Case given = two_sparse("loops i,j,k\n");
  const std::string layout = "us:0,1";
  given.schedule.replace(given.schedule.find(layout), layout.size(), "uq:0,1");
  CHECK(loops_of(given) == "for i: drive A, drive B, insert R\nfor j: drive A, drive B, locate D\nfor k: drive D\n");
  given.schedule += "  meet i: drive A@1.1, search B@1.2\n  meet j: drive B@1.2, gallop A@1.1\n";
  CHECK(loops_of(given) ==
        "for i: drive A, locate B, insert R\nfor j: drive B, locate A(gallop), locate D\nfor k: drive D\n");
  CHECK(defect(given) == "");
}

TEST_CASE("a level whose index is bound further out is located where the level before it is bound") {
  Case given = two_sparse("loops j,i,k\n");
  const std::string layout = "us:0,1";
  given.schedule.replace(given.schedule.find(layout), layout.size(), "ss:1,0");
  CHECK(loops_of(given) == "for j: drive B, locate D\nfor i: drive A, drive B, locate A, insert R\nfor k: drive D\n");
  CHECK(defect(given) == "");
}

TEST_CASE("root loops: owned rows, else copies, else serial") {
  auto marks = [](const std::string& statement) {
    Case given = two_sparse(statement);
    const std::string layout = "us:0,1";
    given.schedule.replace(given.schedule.find(layout), layout.size(), "ss:0,1");
    const std::string text = programs(given);
    const std::size_t at = text.find("@parallel");
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  CHECK(marks("loops i,j,k\n  parallel i owner\n") == "@parallel(R: owner)");
  CHECK(marks("loops j,i,k\n  parallel j private\n") == "@parallel(R: private)");
  CHECK(marks("loops i,j,k\n  parallel i serial\n").empty());
  CHECK(marks("loops i,j,k\n").empty());
}

TEST_CASE("overlapping lives: the workspace opened first encloses the other") {
  const Case given{{{'i', 3}, {'j', 4}, {'k', 5}, {'l', 3}, {'m', 2}},
                   "R i",
                   {"A ij", "B ik", "C il", "D im"},
                   R"(  layout A dd:0,1 f64
  layout B dd:0,1 f64
  layout C dd:0,1 f64
  layout D dd:0,1 f64
  intermediate x[i] d:0 f64
  intermediate y[i] d:0 f64
  intermediate z[i] d:0 f64
  result R d:0 f64
  x[i] += A[i,j]          loops i,j
  y[i] += B[i,k]          loops i,k   fused 1
  z[i] += x[i] * C[i,l]   loops i,l   fused 1
  R[i] += z[i] * y[i] * D[i,m]   loops i,m   fused 1
)"};
  CHECK(defect(given) == "");
  const std::string text = programs(given);
  const std::size_t x = text.find("with x"), y = text.find("with y"), z = text.find("with z");
  CHECK(x < y);
  CHECK(y < z);
  CHECK(z != std::string::npos);
}

}  // namespace forest_test
