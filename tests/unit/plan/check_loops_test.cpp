#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace check_loops_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("intersections list every sparse factor of the loop once, one of them driving") {
  const OwnedProblem made = problem("A:ij:ss:50 B:ij:ss:50 C:jk:ss:50 -> ik", {{'i', 20}, {'j', 20}, {'k', 20}});
  const std::string head =
      "schedule\n tree (A * B * C)\n layout A ss:0,1 f64\n layout B ss:0,1 f64\n layout C ss:0,1 f64\n"
      " result R dd:0,1 f64\n R[i,k] += A[i,j] * B[i,j] * C[j,k] loops i,j,k\n";
  const std::string tail = " parallel i owner\n";
  CHECK(defect(made, head + tail).empty());
  CHECK(defect(made, head + "meet j: drive A@1.1, search B@1.2, gallop C@1.3\n" + tail).empty());
  const std::pair<const char*, const char*> cases[] = {
      {"meet j: drive A@1.1, search B@1.2\n", "must list every factor"},
      {"meet j: drive A@1.1, search B@1.2, search B@1.2\n", "must list every factor"},
      {"meet i: drive A@1.1, search B@1.2, search C@1.3\n", "must list every factor"},
      {"meet j: search A@1.1, search B@1.2, gallop C@1.3\n", "nothing drives"},
      {"meet k: drive C@2.3\n", "must list every factor"},
      {"meet i: drive A@1.1, drive B@1.2\n meet i: drive A@1.1, drive B@1.2\n", "two lines"},
  };
  for (const auto& [lines, expected] : cases) {
    const std::string found = defect(made, head + lines + tail);
    CAPTURE(lines);
    CAPTURE(found);
    CHECK(found.find(expected) != std::string::npos);
  }
}

TEST_CASE("factors of all statements that share a loop meet in it") {
  const OwnedProblem made = problem("A:ij:ss:50 B:ik:ss:50 -> jk", {{'i', 20}, {'j', 20}, {'k', 20}});
  const OwnedProblem chain = problem("A:ij:ss:50 B:ij:ss:50 C:i:s:5 -> i", {{'i', 20}, {'j', 20}});
  const std::string text =
      "schedule\n tree ((A * B) * C)\n layout A ss:0,1 f64\n layout B ss:0,1 f64\n layout C s:0 f64\n"
      " intermediate x[i] d:0 f64\n result R d:0 f64\n x[i] += A[i,j] * B[i,j] loops i,j\n";
  const std::string rest = " R[i] += x[i] * C[i] loops i fused 1\n";
  CHECK(defect(chain, text + "meet i: search A@1.1, search B@1.2, drive C@2.2\n" + rest + "parallel i owner\n").empty());
  CHECK(defect(chain, text + "meet i: search A@1.1, drive B@1.2\n" + rest + "parallel i owner\n").find("every factor") !=
        std::string::npos);
  CHECK(defect(chain, text + rest + "meet i: search A@1.1, search B@1.2, drive C@2.2\nparallel i owner\n")
            .find("first statement") != std::string::npos);
  CHECK(made.operands.size() == 2);
}

TEST_CASE("shared loops must exist on both sides") {
  const OwnedProblem made = problem("A:ij B:jk -> ik", {{'i', 3}, {'j', 3}, {'k', 3}});
  const std::string text =
      "schedule\n tree (A * B)\n layout A dd:0,1 f64\n layout B dd:0,1 f64\n result R dd:0,1 f64\n"
      " R[i,k] += A[i,j] * B[j,k] loops i,j,k";
  CHECK(defect(made, text + " vector k\n parallel i owner\n").empty());
  CHECK(defect(made, text + " fused 1\n").find("no predecessor") != std::string::npos);
}

}  // namespace check_loops_test
