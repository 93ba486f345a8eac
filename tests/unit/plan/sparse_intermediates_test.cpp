#include "engine/plan/space/contraction_variants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/space/alternatives.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/random_networks.h"

namespace sparse_intermediates_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

const std::map<Storage, std::string> words{{Storage::workspace, "workspace"}, {Storage::keyed, "keyed"}, {Storage::of_loops, "of loops"}};

// The ways in which the only intermediate of ((A * B) * C) may be stored.
std::vector<std::string> ways(const OwnedProblem& made, bool every_order) {
  const ContractionTree tree = *parse_tree("((A * B) * C)", {"A", "B", "C"});
  const ResultFormat result = plainest_result_format(made);
  std::vector<std::string> found;
  for (const Contractions& way : with_sparse_intermediates(
           contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, result), every_order)) {
    const ContractedTensor& tensor = way.tensors[way.steps.front().target.tensor];
    found.push_back(tensor.storage == Storage::stored ? tensor.layout.text() : words.at(tensor.storage));
  }
  return found;
}

// Loops in another order than that of a stored intermediate's levels give it theirs: that is another alternative.
bool keeps_levels(const Contractions& alternative, const Schedule& completed) {
  for (std::size_t number = 0; number < alternative.tensors.size(); ++number) {
    const Format& wanted = alternative.tensors[number].layout;
    if (alternative.tensors[number].role != TensorRole::intermediate) continue;
    for (std::size_t level = 0; level < wanted.order(); ++level) {
      const bool stored = wanted.levels[level].kind == LevelKind::compressed;
      if (stored && wanted.mode_order[level] != completed.tensors[number].format.mode_order[level]) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a restricted intermediate is dense, a workspace with a key, or between nests in every order") {
  const std::map<char, std::uint64_t> extents = {{'i', 100}, {'j', 100}, {'k', 100}, {'l', 100}};
  const std::vector<std::string> both{"workspace", "keyed", "ss:0,1", "ss:1,0"};
  CHECK(ways(problem("A:ij:ss:200 B:jk:ss:200 C:kl:ss:200 -> il", extents), false) == both);
  // Of one mode that is not restricted entries are known above it, or with it.
  const std::vector<std::string> rows{"workspace", "keyed", "sd:0,1", "ss:0,1", "ss:1,0"};
  CHECK(ways(problem("A:ij:ss:200 B:jk C:il:ss:200 -> ilk", extents), false) == rows);
  const OwnedProblem three = problem("A:ij:ss:200 B:ik:ss:200 C:kl:ss:200 -> ijl", extents);
  CHECK(ways(three, false) == std::vector<std::string>{"workspace", "of loops"});
  CHECK(ways(three, true).size() == 8);
  CHECK(ways(problem("A:ij:ss:200 B:jk C:kl -> il", extents), true).size() == 1);  // a dense result
}

TEST_CASE("what is priced before loops are chosen is what the schedule costs") {
  std::size_t compared = 0;
  for (const unsigned seed : seeds(200)) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed);
    if (result_formats(made).front().format.all_dense()) continue;
    CAPTURE(print(made.network));
    for (const Alternative& alternative : all_alternatives(made, 3000).alternatives) {
      REQUIRE(stores_as_priced(alternative.contractions));
      const CostModel model(alternative.contractions, made, alternative.paths);
      for_each_nest(alternative.contractions, [&](const LoopNests& nests) {
        const Schedule done = complete(alternative.contractions, nests, made.network, model, alternative.paths, made.operands);
        if (!check(done, made) || !keeps_levels(alternative.contractions, done)) return true;
        const double priced = time_cost(done, made, model).ns;
        const double judged = cost(done, made).ns;
        ++compared;
        if (priced == judged || std::abs(priced - judged) <= 1e-9 * judged) return true;
        CAPTURE(print(done, made.network));
        CHECK(priced == doctest::Approx(judged).epsilon(1e-9));
        return true;
      });
    }
  }
  CHECK(compared > scaled(1000));
}

TEST_CASE("nests that are chosen write what is between them in the order of its levels") {
  std::size_t stored = 0;
  for (const unsigned seed : seeds(200)) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed);
    if (result_formats(made).front().format.all_dense()) continue;
    for (const Alternative& alternative : all_alternatives(made, 3000).alternatives) {
      const CostModel model(alternative.contractions, made, alternative.paths);
      const auto nests = IntervalProgram(model).solve();
      if (!nests) continue;
      const Schedule done = complete(alternative.contractions, *nests, made.network, model, alternative.paths, made.operands);
      CAPTURE(print(done, made.network));
      CHECK(keeps_levels(alternative.contractions, done));
      for (std::size_t number = 0; number + 1 < done.statements.size(); ++number) stored += model.compressed(number) != 0 ? 1 : 0;
    }
  }
  CHECK(stored > scaled(20));
}

TEST_CASE("what nobody reaches is impossible rather than no number where it is impossible") {
  const OwnedProblem made = problem("A:kj B:ki:ss:5 C:ij:ss:100 -> i", {{'i', 60}, {'j', 20}, {'k', 0}});
  for (const Schedule& schedule : enumerate_schedules(made, 3000)) {
    CAPTURE(print(schedule, made.network));
    CHECK_FALSE(std::isnan(cost(schedule, made).ns));
  }
}

}  // namespace sparse_intermediates_test
