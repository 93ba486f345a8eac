#include "engine/plan/space/contraction_variants.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/space/trees.h"
#include "unit/plan/networks.h"

namespace weft::plan_test::partial_sums_test {
namespace {

OwnedProblem paths() {
  return problem("V:iaj:sss:20000 W:jbk:sss:20000 -> ab", {{'i', 500}, {'a', 100}, {'j', 500}, {'b', 100}, {'k', 500}});
}

std::vector<std::string> products(const Contractions& contractions, const Network& network) {
  std::vector<std::string> found;
  for (const Contraction& step : contractions.steps) found.push_back(print_product(contractions, step, network));
  return found;
}

Contractions contractions(const OwnedProblem& made, const std::string& tree) {
  const ContractionTree parsed = *parse_tree(tree, factor_names(made.network));
  return contractions_of(made.network, parsed, step_orders(parsed, 1).front(), made.operands, made.options);
}

std::size_t sums(Steps steps) {
  std::size_t found = 0;
  for (std::size_t number = 0; number < steps.size(); ++number) found += steps[number].factors.size() == 1 ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("every choice of operands that have an index of their own is summed first") {
  const OwnedProblem made = paths();
  std::vector<std::vector<std::string>> found;
  for (const Contractions& one : with_partial_sums(contractions(made, "(V * W)"), made.network, made.options)) {
    found.push_back(products(one, made.network));
  }
  CHECK(found == std::vector<std::vector<std::string>>{
                     {"R[a,b] += V[i,a,j] * W[j,b,k]"},
                     {"x[a,j] += V[i,a,j]", "R[a,b] += x[a,j] * W[j,b,k]"},
                     {"x[b,j] += W[j,b,k]", "R[a,b] += V[i,a,j] * x[b,j]"},
                     {"x[a,j] += V[i,a,j]", "y[b,j] += W[j,b,k]", "R[a,b] += x[a,j] * y[b,j]"}});
}

TEST_CASE("sums stand before their reader or before everything, in trees of several steps") {
  const OwnedProblem made = problem("A:ij:ss:100 B:jk:ss:100 C:im:ss:100 -> i", {{'i', 10}, {'j', 10}, {'k', 10}, {'m', 10}});
  const std::vector<Contractions> found = with_partial_sums(contractions(made, "((A * B) * C)"), made.network, made.options);
  REQUIRE(found.size() == 6);
  CHECK(products(found[4], made.network) ==
        std::vector<std::string>{"y[j] += B[j,k]", "x[i] += A[i,j] * y[j]", "z[i] += C[i,m]", "R[i] += x[i] * z[i]"});
  CHECK(products(found[5], made.network) ==
        std::vector<std::string>{"y[j] += B[j,k]", "z[i] += C[i,m]", "x[i] += A[i,j] * y[j]", "R[i] += x[i] * z[i]"});
}

TEST_CASE("nothing is summed first without an index of its own, alone, in a given tree, or under strict floating point") {
  const OwnedProblem matrix = problem("M:ij:ss:100 x:j -> i", {{'i', 10}, {'j', 10}});
  CHECK(with_partial_sums(contractions(matrix, "(M * x)"), matrix.network, matrix.options).size() == 1);
  const OwnedProblem alone = problem("M:ij:ss:100 -> i", {{'i', 10}, {'j', 10}});
  CHECK(with_partial_sums(contractions(alone, "M"), alone.network, alone.options).size() == 1);
  OwnedProblem made = paths();
  CHECK(contraction_variants(contractions(made, "(V * W)"), made, false).size() == 4);
  made.options.strict_fp = true;
  CHECK(contraction_variants(contractions(made, "(V * W)"), made, false).size() == 1);
  made.options.strict_fp = false;
  made.options.tree = flat_tree(2);
  CHECK(contraction_variants(contractions(made, "(V * W)"), made, false).size() == 1);
}

TEST_CASE("of many operands none, one or all are summed first") {
  const OwnedProblem made = problem("A:ij:ss:30 B:ik:ss:30 C:il:ss:30 D:im:ss:30 -> i", {{'i', 9}, {'j', 9}, {'k', 9}, {'l', 9}, {'m', 9}});
  const std::vector<Contractions> found = with_partial_sums(contractions(made, "(A * B * C * D)"), made.network, made.options);
  REQUIRE(found.size() == 6);
  for (std::size_t number = 1; number < 5; ++number) CHECK(sums(found[number]) == 1);
  CHECK(sums(found[5]) == 4);
}

TEST_CASE("the planner sums first where that takes less") {
  const OwnedProblem made = paths();
  CHECK(sums(planned(made).schedule) > 0);
  OwnedProblem given = made;
  given.options.tree = flat_tree(2);
  const Plan whole = planned(given);
  CHECK(sums(whole.schedule) == 0);
  CHECK(planned(made).cost.ns < whole.cost.ns);
}

}  // namespace weft::plan_test::partial_sums_test
