// The judge against the search: cost() adds up a finished schedule loop by loop, the interval program remembers what it has
// added up below every set of loops. What one of them gets wrong the other does not know.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/space/trees.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace judge_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

/// Sums of the same terms in another order differ by less.
constexpr double rounding = 1e-9;

/// One tree of a network, its layouts as they are given: what the search asks the interval program about.
class Priced {
 public:
  Priced(const OwnedProblem& made, const ContractionTree& tree)
      : made_(made),
        models_(made),
        order_(models_.order_of(contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options))),
        numbers_(models_.numbers(order_, {})),
        model_(models_.model(order_, numbers_)) {}

  /// Whether the result has compressed levels.
  bool appends() const { return order_.result != nullptr; }

  std::optional<IntervalProgram::Nests> solve(IntervalTable& table) const {
    return IntervalProgram(model_, true, &table, numbers_).solve();
  }

  /// What cost() says of the schedule with these loops; nothing if it is not legal, or if its layouts are not those priced.
  std::optional<double> judged(const IntervalProgram::Nests& nests) const {
    const Schedule done = complete(order_.contractions, nests, made_.network, model_, {}, made_.operands);
    if (!check(done, made_)) return std::nullopt;
    const Cost cost = weft::cost(done, made_);
    return cost.ns - cost.conversion_ns / made_.options.calls;
  }

  /// In a table that the nests were found with, halves the remembered price of what is inside the root loop of the first nest, and
  /// forgets the sum over all nests. False if there is next to nothing inside.
  bool halve_inside(IntervalTable& table, const IntervalProgram::Nests& nests) const {
    if (nests.loops[0].empty()) return false;
    std::size_t last = 0;
    while (last + 1 < nests.loops.size() && nests.fused[last + 1] > 0) ++last;
    const Outside inside = model_.inside({}, nests.loops[0].front(), {0, last});
    const std::uint32_t number = IntervalTable::below(interval(table, last), inside.gathers, inside.batch_of(last));
    IntervalTable::Choice* remembered = table.choices.find(inside.indices, number);
    const double entries = model_.loop({}, nests.loops[0].front(), {0, last}).iterations;
    if (remembered == nullptr || !(entries * remembered->ns > 1e-6 * nests.ns)) return false;
    remembered->ns /= 2;
    *table.choices.find(0, IntervalTable::below(interval(table, numbers_.size() - 1), false, Batch::none)) = {};
    return true;
  }

 private:
  std::uint32_t interval(IntervalTable& table, std::size_t last) const {
    std::uint32_t number = 0;
    for (std::size_t statement = 0; statement <= last; ++statement) number = table.interval(number, numbers_[statement]);
    return number;
  }

  const OwnedProblem& made_;
  AlternativeModels models_;
  PricedOrder order_;
  std::vector<std::uint32_t> numbers_;
  CostModel model_;
};

bool agree(double searched, double judged) { return std::abs(searched - judged) <= rounding * judged; }

}  // namespace

TEST_CASE("cost() of a schedule is what the search priced, and not what the search remembered wrongly") {
  std::size_t compared = 0, sparse = 0, faults = 0, found = 0;
  for (unsigned seed = 1; seed <= scaled(300); ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed, false, seed % 2 == 0);
    CAPTURE(print(made.network));
    for (const ContractionTree& tree : choose_trees(made).trees) {
      const Priced priced(made, tree);
      IntervalTable table;
      const auto nests = priced.solve(table);
      if (!nests) continue;
      const std::optional<double> judged = priced.judged(*nests);
      if (!judged) continue;
      ++compared;
      if (priced.appends()) ++sparse;
      CHECK(nests->ns == doctest::Approx(*judged).epsilon(rounding));
      if (!priced.halve_inside(table, *nests)) continue;
      const auto wrong = priced.solve(table);
      REQUIRE(wrong.has_value());
      const std::optional<double> right = priced.judged(*wrong);
      if (!right) continue;
      ++faults;
      if (!agree(wrong->ns, *right)) ++found;
    }
  }
  CHECK(compared >= scaled(300));
  CHECK(sparse >= scaled(40));
  CHECK(faults >= scaled(200));
  CHECK(found == faults);
}

}  // namespace judge_test
