#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/search/interval_program.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/plan/plan.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/search.h"
#include "engine/plan/space/trees.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace interval_program_test {

using namespace weft;
using namespace weft::plan_test;

// However little is at stake.
static PlanOptions everything(PlanOptions options) {
  options.prove = true;
  return options;
}

// Where it is exact: every tree, every depth-first order of statements, every choice of kept and converted operands
// (each converted to the order of its loops), intermediates random access, no memory limit, finite operands.
TEST_CASE("the dynamic program finds the cheapest of all enumerated schedules") {
  std::size_t compared = 0;
  for (unsigned seed = 1; seed <= scaled(250); ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed);
    CAPTURE(print(made.network));
    constexpr std::size_t limit = 3000;
    const std::vector<Schedule> all = enumerate_schedules(made, limit);
    REQUIRE_FALSE(all.empty());
    if (all.size() == limit) continue;
    double cheapest = std::numeric_limits<double>::infinity();
    const Schedule* best = nullptr;
    for (const Schedule& schedule : all) {
      const double ns = cost(schedule, made).ns;
      if (ns < cheapest) {
        cheapest = ns;
        best = &schedule;
      }
    }
    const Problem proving{made.network, made.operands, everything(made.options)};
    const SearchResult found = search_schedules(proving, {.chains = false, .opens = false});
    REQUIRE_FALSE(found.candidates.empty());
    CHECK(found.frontier.all_trees());
    CAPTURE(print(found.candidates.front().schedule, made.network));
    CAPTURE(print(*best, made.network));
    CHECK(found.candidates.front().cost.ns == doctest::Approx(cheapest).epsilon(1e-9));
    const Schedule plain = baseline(made);
    const auto planned = plan(made);
    REQUIRE(planned.has_value());
    CHECK(planned->cost.ns <= cost(plain, made).ns);
    ++compared;
  }
  CHECK(compared >= scaled(130));
}

// Then prices depend on the statements that share the outer loops.
TEST_CASE("with counted joins too") {
  std::size_t compared = 0;
  std::size_t joined = 0;
  for (unsigned seed = 1; seed <= scaled(160); ++seed) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed, false, true);
    CAPTURE(print(made.network));
    constexpr std::size_t limit = 1500;
    std::vector<Schedule> all = enumerate_schedules(made, limit);
    if (all.size() == limit) continue;
    std::mt19937 random(seed);
    for (const Schedule& schedule : all) {
      for (const std::uint64_t join : uncounted_joins(schedule, made)) {
        constexpr double ratios[] = {0.1, 0.5, 2, 30};
        made.options.joins[join] = ratios[random() % std::size(ratios)];
      }
    }
    if (!made.options.joins.empty()) ++joined;
    all = enumerate_schedules(made, limit);  // how accesses meet depends on joins
    double cheapest = std::numeric_limits<double>::infinity();
    for (const Schedule& schedule : all) {
      cheapest = std::min(cheapest, cost(schedule, made).ns);
    }
    const Problem proving{made.network, made.operands, everything(made.options)};
    const SearchResult found = search_schedules(proving, {.chains = false, .opens = false});
    REQUIRE_FALSE(found.candidates.empty());
    CAPTURE(print(found.candidates.front().schedule, made.network));
    CHECK(found.candidates.front().cost.ns == doctest::Approx(cheapest).epsilon(1e-9));
    ++compared;
  }
  CHECK(compared >= scaled(80));
  CHECK(joined >= scaled(26));
}

TEST_CASE("what the program predicts is what cost() says of the schedule") {
  const OwnedProblem made = problem("T:ijk:sss:1000000 B:jr C:kr -> ir", {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 32}});
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const Contractions contractions =
      contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
  const CostModel model(contractions, made);
  const auto nests = IntervalProgram(model).solve();
  REQUIRE(nests.has_value());
  CHECK(nests->exact);
  CHECK(nests->loops[0] == std::vector<IndexId>{0, 1, 2, 3});
  CHECK(nests->loops[1] == std::vector<IndexId>{0, 1, 3});
  CHECK(nests->fused == std::vector<std::uint32_t>{0, 2});
  const auto planned = plan(made);
  REQUIRE(planned.has_value());
  CHECK(planned->schedule.tree == tree);
  CHECK(planned->cost.ns == doctest::Approx(nests->ns).epsilon(1e-12));
}

TEST_CASE("below a limit the program finds what it finds without one, and nothing that reaches it") {
  std::size_t compared = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed);
    CAPTURE(print(made.network));
    for (const ContractionTree& tree : choose_trees(made).trees) {
      const Contractions contractions =
      contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
      const CostModel model(contractions, made);
      const auto all = IntervalProgram(model).solve();
      if (!all) continue;
      // One program asked for more and more, as a search does whose alternatives share a table.
      IntervalProgram asked(model);
      for (const double share : {0.1, 0.5, 0.9, 1.0}) CHECK_FALSE(asked.solve(share * all->ns).has_value());
      const auto below = asked.solve(1.0001 * all->ns);
      REQUIRE(below.has_value());
      CHECK(below->ns == all->ns);
      CHECK(below->loops == all->loops);
      CHECK(below->fused == all->fused);
      const auto loose = IntervalProgram(model).solve(3 * all->ns);
      REQUIRE(loose.has_value());
      CHECK(loose->ns == all->ns);
      ++compared;
    }
  }
  CHECK(compared >= 100);
}

TEST_CASE("a full table leaves a legal nest that is no claim") {
  std::size_t dearer = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed);
    CAPTURE(print(made.network));
    for (const ContractionTree& tree : choose_trees(made).trees) {
      AlternativeModels models(made);
      const PricedOrder order =
          models.order_of(contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options));
      const std::vector<std::uint32_t> numbers = models.numbers(order, {});
      const CostModel model = models.model(order, numbers);
      const auto least = IntervalProgram(model).solve();
      models.table().most_bytes = 0;
      CHECK(models.is_full());
      const auto narrow = IntervalProgram(model, true, &models.table(), numbers).solve();
      if (!narrow) continue;
      REQUIRE(least.has_value());
      CHECK_FALSE(narrow->exact);
      CHECK(narrow->ns >= least->ns * (1 - 1e-12));
      if (narrow->ns > least->ns * (1 + 1e-9)) ++dearer;
      // Whoever finds it in the table claims nothing either.
      const auto again = IntervalProgram(model, true, &models.table(), numbers).solve();
      REQUIRE(again.has_value());
      CHECK_FALSE(again->exact);
    }
  }
  CHECK(dearer >= 10);
}

// What is left of a limit behind a statement without loops does not add up to the limit again.
TEST_CASE("limits that round lead to no nest that was not looked for") {
  const OwnedProblem made = problem("a: b: M:ij:ss:50 x:j -> i", {{'i', 50}, {'j', 60}});
  const ContractionTree tree = *parse_tree("((a * b) * (M * x))", {"a", "b", "M", "x"});
  for (const std::vector<std::uint32_t>& order : step_orders(tree, 4)) {
    const Contractions contractions = contractions_of(made.network, tree, order, made.operands, made.options);
    const CostModel model(contractions, made);
    const auto all = IntervalProgram(model).solve();
    REQUIRE(all.has_value());
    std::mt19937_64 draw(1);
    for (int time = 0; time < 2000; ++time) {
      const double limit = all->ns * std::uniform_real_distribution<double>(0, 1)(draw);
      CAPTURE(limit);
      CHECK_FALSE(IntervalProgram(model).solve(limit).has_value());
    }
  }
}

TEST_CASE("a root whose own loop takes far too long is left out") {
  OwnedProblem made = problem("A:ij:ss:50 B:i -> i", {{'i', 50}, {'j', 1'000'000'000'000}});
  made.options.machine.threads = 1;
  const Contractions contractions = contractions_of(made.network, flat_tree(2), {2}, made.operands, made.options);
  const CostModel model(contractions, made);
  const auto nests = IntervalProgram(model).solve();
  REQUIRE(nests.has_value());
  CHECK(nests->loops[0] == std::vector<IndexId>{0, 1});
}

TEST_CASE("unfused nests share no loop") {
  const OwnedProblem made = problem("T:ijk:sss:1000000 B:jr C:kr -> ir", {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 32}});
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const Contractions contractions =
      contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
  const CostModel model(contractions, made);
  const auto fused = IntervalProgram(model).solve();
  const auto unfused = IntervalProgram(model, false).solve();
  REQUIRE(unfused.has_value());
  CHECK(unfused->fused == std::vector<std::uint32_t>{0, 0});
  CHECK(unfused->ns > fused->ns);
}

TEST_CASE("twenty indices in one statement stay within a bounded effort") {
  std::string text;
  std::map<char, std::uint64_t> extents;
  for (unsigned index = 0; index < 20; ++index) extents[static_cast<char>('a' + index)] = 30;
  for (unsigned factor = 0; factor < 10; ++factor) {
    const char first = static_cast<char>('a' + 2 * factor);
    const char third = static_cast<char>('a' + (2 * factor + 2) % 20);
    text += std::string("T") + std::to_string(factor) + ":" + first + static_cast<char>(first + 1) + third + ":sss:900 ";
  }
  const OwnedProblem made = problem(text + "-> a", extents);
  const ContractionTree tree = flat_tree(10);
  const Contractions contractions = contractions_of(made.network, tree, {10}, made.operands, made.options);
  const CostModel model(contractions, made);
  IntervalProgram program(model);
  const auto nests = program.solve();
  REQUIRE(nests.has_value());
  CHECK_FALSE(nests->exact);
  CHECK(program.work() < 100'000);
}

}  // namespace interval_program_test
