#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"
#include "unit/plan/networks.h"

namespace check_products_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

Schedule made_schedule(const OwnedProblem& made, const std::string& tree, const std::vector<std::string>& names) {
  const ContractionTree parsed = *parse_tree(tree, names);
  return without_loops(contractions_of(made.network, parsed, step_orders(parsed, 1).front(), made.operands, made.options));
}

std::string message(const Schedule& schedule, const OwnedProblem& made) {
  const auto done = check_products(schedule, made.network);
  return done ? "" : done.error().message;
}

}  // namespace

TEST_CASE("the products of a tree are accepted, changed ones are not") {
  const OwnedProblem made = problem("A:ij B:jk C:kl -> il", {{'i', 2}, {'j', 3}, {'k', 4}, {'l', 5}});
  const Schedule good = made_schedule(made, "((A * B) * C)", {"A", "B", "C"});
  CHECK(message(good, made).empty());

  Schedule bad = good;
  std::swap(bad.statements[0], bad.statements[1]);
  CHECK(message(bad, made).find("read before it is written") != std::string::npos);

  bad = good;
  bad.statements[1].factors.pop_back();
  CHECK(message(bad, made).find("index l of R is in no factor") != std::string::npos);

  bad = good;
  bad.statements.pop_back();
  CHECK(message(bad, made).find("in no statement") != std::string::npos);

  bad = good;
  bad.statements[1].factors.push_back(bad.statements[1].factors[0]);
  CHECK(message(bad, made).find("read twice") != std::string::npos);

  bad = good;
  bad.statements[1].target = bad.statements[0].target;
  CHECK(message(bad, made).find("written twice") != std::string::npos);

  bad = good;
  bad.statements[1].factors[0].tensor = 99;
  CHECK(message(bad, made).find("not declared") != std::string::npos);

  bad = good;
  bad.statements[0].factors[0].indices[0] = 77;
  CHECK(message(bad, made).find("the expression lacks") != std::string::npos);
}

TEST_CASE("an index is summed only where nobody needs it any more") {
  const OwnedProblem made = problem("A:ij B:jk C:jl -> il", {{'i', 2}, {'j', 3}, {'k', 4}, {'l', 5}});
  Schedule bad = made_schedule(made, "((A * B) * C)", {"A", "B", "C"});
  CHECK(message(bad, made).empty());
  bad.tensors[3].modes = {0};
  bad.tensors[3].format = dense_format(1);
  bad.statements[0].target.indices = {0};
  bad.statements[1].factors[0].indices = {0};
  CHECK(message(bad, made).find("index j is summed here but needed later") != std::string::npos);
}

TEST_CASE("occurrences that are accessed alike stand for each other") {
  const OwnedProblem made = problem("K:ij K:ij v:j -> i", {{'i', 4}, {'j', 4}});
  Schedule schedule = made_schedule(made, "((K * v) * K)", {"K", "K", "v"});
  CHECK(message(schedule, made).empty());
  CHECK(message(merge_layouts(schedule), made).empty());
  schedule.tree = *parse_tree("((K.2 * v) * K.1)", {"K", "K", "v"});
  CHECK(message(schedule, made).empty());
  schedule.tree = *parse_tree("((K.1 * K.2) * v)", {"K", "K", "v"});
  CHECK(message(schedule, made).find("order of the tree") != std::string::npos);
}

TEST_CASE("a single factor has a statement without a contraction") {
  const OwnedProblem made = problem("A:ij:ss:5 -> j", {{'i', 4}, {'j', 4}});
  CHECK(message(made_schedule(made, "A", {"A"}), made).empty());
}

}  // namespace check_products_test
