#include <doctest/doctest.h>

#include <limits>

#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace check_presence_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

// T's third level lies below a sparse or a dense one; B may hold NaN.
OwnedProblem mttkrp(const std::string& kinds, bool finite) {
  OwnedProblem made = problem("T:ijk:" + kinds + ":4000 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
  made.operands[1].statistics = Statistics({20, 32}, dense_format(2), 640, {}, finite);
  return made;
}

std::string text(const std::string& kinds, const std::string& first, const std::string& second) {
  return "schedule\n tree ((T * C) * B)\n layout T " + kinds +
         ":0,1,2 f64\n layout C dd:0,1 f64\n layout B dd:0,1 f64\n intermediate x[i,j,r] ddd f64\n"
         " result R dd:0,1 f64\n x[i,j,r] += T[i,j,k] * C[k,r] loops " +
         first + "\n R[i,r] += x[i,j,r] * B[j,r] loops " + second + "\n";
}

}  // namespace

TEST_CASE("beside NaN an intermediate is read only where it was provably written") {
  const std::string row = text("sss", "i,j,k,r vector r", "i,j,r fused 2 vector r") + " parallel i owner\n";
  CHECK(defect(mttkrp("sss", true), row).empty());
  CHECK(defect(mttkrp("sss", false), row).empty());  // a stored (i, j) has at least one k, and r is never filtered

  const std::string slice = text("sss", "i,j,k,r vector r", "i,j,r fused 1 vector r") + " parallel i owner\n";
  CHECK(defect(mttkrp("sss", true), slice).empty());
  CHECK(defect(mttkrp("sss", false), slice).find("x is dense and may be read where nothing was accumulated") !=
        std::string::npos);  // some j are absent

  const std::string dense = text("dds", "i,j,k,r vector r", "i,j,r fused 2 vector r") + " parallel i owner\n";
  CHECK(defect(mttkrp("dds", true), dense).empty());
  CHECK(defect(mttkrp("dds", false), dense).find("B holds NaN or Inf") != std::string::npos);  // a row may be empty
}

TEST_CASE("two factors that meet in a sum may have nothing in common") {
  OwnedProblem made = problem("T:ijk:sss:4000 D:ik:ss:50 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
  const std::string sum =
      "schedule\n tree ((T * C * D) * B)\n layout T sss f64\n layout C dd f64\n layout D ss f64\n layout B dd f64\n"
      " intermediate x[i,j,r] ddd f64\n result R dd f64\n x[i,j,r] += T[i,j,k] * C[k,r] * D[i,k] loops i,j,k,r\n"
      " R[i,r] += x[i,j,r] * B[j,r] loops i,j,r fused 2\n parallel i owner\n";
  CHECK(defect(made, sum).empty());
  made.operands[2].statistics = Statistics({20, 32}, dense_format(2), 640, {}, false);
  CHECK(defect(made, sum).find("x is dense") != std::string::npos);
}

TEST_CASE("an intermediate of infinite factors is not finite") {
  const OwnedProblem made = mttkrp("sss", false);
  Schedule schedule = schedule_of(
      made, text("sss", "i,j,k,r", "i,j,r fused 2") + " parallel i owner\n");
  CHECK(is_finite(schedule, 3, made.operands));
  schedule.statements[0].coefficient = std::numeric_limits<double>::infinity();
  CHECK_FALSE(is_finite(schedule, 3, made.operands));
}

TEST_CASE("beside NaN an intermediate is read wherever its levels know its entries") {
  const auto with_levels = [](std::string schedule, const std::string& levels) {
    return schedule.replace(schedule.find("ddd"), 3, levels);
  };
  // Below dense levels of T fibers may be empty, and j is bound inside.
  const std::string nest = text("dds", "i,j,k,r", "i,j,r fused 1") + " parallel i owner\n";
  CHECK_FALSE(defect(mttkrp("dds", false), nest).empty());
  CHECK(defect(mttkrp("dds", false), with_levels(nest, "daa")).empty());
  CHECK(defect(mttkrp("dds", false), with_levels(nest, "dhh")).empty());
  // Only j would be known, not whether anything was accumulated below it.
  CHECK(defect(mttkrp("dds", false), with_levels(nest, "dad")).find("B holds NaN or Inf") != std::string::npos);
  CHECK(defect(mttkrp("sss", false), with_levels(text("sss", "i,j,k,r", "i,j,r fused 1") + " parallel i owner\n", "dad")).empty());
  const std::string nests = text("dds", "i,j,r,k", "i,j,r") + " parallel i owner\n parallel i owner\n";
  CHECK_FALSE(defect(mttkrp("dds", false), nests).empty());
  CHECK(defect(mttkrp("dds", false), with_levels(nests, "sss")).empty());
}

TEST_CASE("a single entry knows whether it is there, inside a nest and between nests") {
  OwnedProblem made = problem("a:i:s:5 b:i:s:5 B:j -> j", {{'i', 20}, {'j', 20}});
  made.operands[2].statistics = Statistics({20}, dense_format(1), 20, {}, false);
  CHECK(defect(made, "schedule\n tree ((a * b) * B)\n layout a s f64\n layout b s f64\n layout B d f64\n intermediate x[] f64\n"
                     " result R d f64\n x[] += a[i] * b[i] loops i\n R[j] += x[] * B[j] loops j\n parallel i private\n parallel j owner\n")
            .empty());
}

TEST_CASE("what is absent annihilates further on, too") {
  OwnedProblem made = problem("T:ik:ss:20 C:k D:i B:i -> i", {{'i', 20}, {'k', 20}});
  const auto schedule = [](const std::string& x, const std::string& y) {
    return "schedule\n tree (((T * C) * D) * B)\n layout T ss f64\n layout C d f64\n layout D d f64\n layout B d f64\n intermediate x[i] " +
           x + " f64\n intermediate y[i] " + y +
           " f64\n result R d f64\n x[i] += T[i,k] * C[k] loops i,k\n y[i] += x[i] * D[i] loops i\n R[i] += y[i] * B[i] loops i\n"
           " parallel i owner\n parallel i owner\n parallel i owner\n";
  };
  CHECK(defect(made, schedule("d", "d")).empty());
  made.operands.back().statistics = Statistics({20}, dense_format(1), 20, {}, false);
  CHECK(defect(made, schedule("d", "s")).find("x is dense") != std::string::npos);
  CHECK(defect(made, schedule("s", "d")).find("y is dense") != std::string::npos);
  CHECK(defect(made, schedule("s", "s")).empty());
  const Schedule read = schedule_of(made, schedule("d", "d"));
  const auto annihilated = annihilated_tensors(read, finite_tensors(read, made.operands));
  CHECK(read.tensors[4].name == "x");
  REQUIRE(annihilated[4]);
  CHECK(read.tensors[*annihilated[4]].name == "B");
  CHECK_FALSE(annihilated[0]);
  CHECK(annihilates_any(read, made.operands));
}

TEST_CASE("plan() avoids what check() would refuse") {
  const OwnedProblem made = mttkrp("dds", false);
  const auto planned = plan(made);
  REQUIRE(planned.has_value());
  CHECK(check(planned->schedule, made).has_value());
  OwnedProblem pinned = made;
  pinned.options.tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  pinned.operands[0].pinned = true;
  const auto kept = plan(pinned);
  REQUIRE_MESSAGE(kept, kept.error().message);
  CHECK(check(kept->schedule, pinned));
  CHECK(explain(*kept, pinned)
            .find("\nB holds NaN or Inf, so that x has to tell absent entries from zeros") != std::string::npos);
  pinned.operands[1] = mttkrp("dds", true).operands[1];
  const auto finite = plan(pinned);
  REQUIRE(finite);
  CHECK(explain(*finite, pinned).find("NaN") == std::string::npos);
}

TEST_CASE("the baseline keeps absence in what needs it, and in nothing else") {
  // x = T * C is read beside B, y = D * E beside finite factors.
  OwnedProblem made = problem("T:ik:ss:20 C:k B:i D:jl:ss:20 E:l -> ij", {{'i', 20}, {'j', 20}, {'k', 20}, {'l', 20}});
  made.options.tree = *parse_tree("(((T * C) * B) * (D * E))", {"T", "C", "B", "D", "E"});
  const auto levels = [&] {
    std::string text;
    const Schedule plain = baseline(made);
    const auto legal = check(plain, made);
    CHECK_MESSAGE(legal, legal.error().message);
    for (const ScheduledTensor& tensor : plain.tensors) {
      if (tensor.role == TensorRole::intermediate) text += print_indices(tensor.modes, made.network) + ":" + tensor.format.text() + " ";
    }
    return text;
  };
  CHECK(levels() == "i:d:0 i:d:0 j:d:0 ");
  // The product of x and B is as little finite as B, so that an absent entry of y annihilates it.
  made.operands[2].statistics = Statistics({20}, dense_format(1), 20, {}, false);
  CHECK(levels() == "i:s:0 i:d:0 j:s:0 ");
}

TEST_CASE("the baseline keeps absence that comes from an earlier assignment") {
  OwnedProblem made = forest_problem("S = T:im:ss:5 -> ; R = S: U:jk V:k -> j", {{'i', 20}, {'m', 20}, {'j', 20}, {'k', 20}});
  Term& term = made.network.assignments.back().terms.front();
  term.pinned = *parse_tree("((S * U) * V)", {"S", "U", "V"});
  term.open = false;
  for (OperandFacts& facts : made.operands) {
    if (facts.format.order() == 1) facts.statistics = Statistics({20}, dense_format(1), 20, {}, false);
  }
  const auto legal = check(baseline(made), made);
  CHECK_MESSAGE(legal, legal.error().message);
}

TEST_CASE("a dense intermediate between two nests makes entries of a sparse result only where it was provably written") {
  const auto text = [](const std::string& layout) {
    return "schedule\n tree ((T * C) * B)\n layout T " + layout +
           " f64\n layout C d f64\n layout B d f64\n intermediate x[i] d f64\n result R s:0 f64\n"
           " x[i] += T[i,j] * C[j] loops i,j\n R[i] += x[i] * B[i] loops i\n parallel i owner\n parallel i owner\n";
  };
  const auto problem_of = [](const std::string& kinds) {
    OwnedProblem made = problem("T:ij:" + kinds + " C:j B:i -> i", {{'i', 20}, {'j', 20}});
    made.options.result_formats["R"] = sparse_format(1);
    return made;
  };
  CHECK(defect(problem_of("ss:50"), text("ss:0,1")).find("give it levels a (accumulator), h (hashed) or b (bitmap)") != std::string::npos);
  // An empty row.
  CHECK(defect(problem_of("ds:50"), text("ds:0,1")).find("give it levels a (accumulator), h (hashed) or b (bitmap)") != std::string::npos);
  CHECK(defect(problem_of("dd:400"), text("dd:0,1")).empty());
}

}  // namespace check_presence_test
