#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "engine/plan/cost/cost.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/contractions.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/search.h"
#include "engine/plan/space/alternatives.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"
#include "runtime/level_traits.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/random_networks.h"

namespace chained_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

OwnedProblem mttkrp(std::uint64_t entries, std::uint64_t extent) {
  OwnedProblem made = problem("T:ijk:sss:" + std::to_string(entries) + " B:jr C:kr -> ir",
                              {{'i', extent}, {'j', extent}, {'k', extent}, {'r', 16}});
  made.options.calls = 1e6;
  return made;
}

std::string layout_of_first(const Plan& found) { return found.schedule.tensors.front().format.text(); }
bool is_chained(const Plan& found) { return layout_of_first(found).find("uq") != std::string::npos; }

}  // namespace

TEST_CASE("operands with fibers of a few entries are converted to a chain where calls pay for it") {
  OwnedProblem made = mttkrp(60'000, 200);  // 1.5 entries a fiber
  const Plan found = planned(made);
  CHECK(layout_of_first(found) == "duq:0,1,2");
  CHECK(found.schedule.statements.size() == 1);
  CHECK(found.optimal != Optimal::none);
  CHECK(found.proof.find("chains of levels") != std::string::npos);
  made.options.calls = 1;
  CHECK_FALSE(is_chained(planned(made)));
  made.options.calls = 1e6;
  made.operands.front().pinned = true;
  const Plan pinned = planned(made);
  CHECK(layout_of_first(pinned) == "sss:0,1,2");
  CHECK(found.cost.ns < pinned.cost.ns);
  CHECK_FALSE(is_chained(planned(mttkrp(4'000'000, 200))));  // 100 entries a fiber
}

TEST_CASE("an operand that lends its positions is walked through a copy that keeps the order of its entries") {
  OwnedProblem made = problem("T:ijk:sss:60000 A:ir B:jr C:kr -> ijk", {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 16}});
  made.options.calls = 1e6;
  const Plan found = planned(made);
  const std::string text = print(found.schedule, made.network);
  CAPTURE(text);
  const ScheduledTensor& result = found.schedule.tensors.back();
  CHECK(layout_of_first(found) == "duq:0,1,2");
  CHECK(result.format.text() == "duq:0,1,2");
  REQUIRE(result.delivered);
  CHECK(result.delivered->text() == "sss:0,1,2");
  CHECK(result.like == 0);
  CHECK(found.optimal != Optimal::none);
  made.options.calls = 1;
  CHECK_FALSE(is_chained(planned(made)));
  made.options.calls = 1e6;
  made.operands.front().pinned = true;
  CHECK_FALSE(is_chained(planned(made)));
}

TEST_CASE("a result that a later assignment reads stands at the positions of an operand as it is given") {
  OwnedProblem made = forest_problem("S = T:ijk:sss:60000 A:ir B:jr C:kr -> ijk; O = S:ijk B:jr C:kr -> ir",
                                     {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 16}});
  made.options.calls = 1e6;
  made.options.results = {"S"};
  const Plan found = planned(made);
  const auto stored = std::ranges::find(found.schedule.tensors, "S", &ScheduledTensor::name);
  REQUIRE(stored != found.schedule.tensors.end());
  CHECK(stored->like.has_value());
  CHECK(stored->format.text() == "sss:0,1,2");
  CHECK_FALSE(stored->delivered.has_value());
}

TEST_CASE("no chain where another sparse operand co-iterates, nor of a matrix") {
  OwnedProblem two = problem("T:ijk:sss:60000 M:jk:ss:20000 B:kr -> ir", {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 16}});
  CHECK_FALSE(PathSpace(two).chains());
  const OwnedProblem matrix = problem("M:ij:ss:60000 B:jr -> ir", {{'i', 2000}, {'j', 2000}, {'r', 16}});
  CHECK_FALSE(PathSpace(matrix).chains());
  CHECK(PathSpace(mttkrp(60'000, 200)).chains());
  const OwnedProblem diagonal = problem("T:iji:sss:600 B:jr -> ir", {{'i', 20}, {'j', 20}, {'r', 16}});
  CHECK_FALSE(PathSpace(diagonal).chains());
}

TEST_CASE("coordinate lists are walked entry by entry where their runs are short, and the ends of runs are priced elsewhere") {
  // A million entries of 60^5: 60 runs of i, 3600 of (i,j), 4.7 entries for each (i,j,k).
  const std::string factors = " B:jr C:kr D:lr E:mr -> ir";
  const std::map<char, std::uint64_t> extents{{'i', 60}, {'j', 60}, {'k', 60}, {'l', 60}, {'m', 60}, {'r', 16}};
  const auto ns = [&](const std::string& kinds, const ContractionTree& tree) {
    OwnedProblem made = problem("T:ijklm:" + kinds + ":1000000" + factors, extents);
    for (OperandFacts& facts : made.operands) facts.pinned = true;
    made.options.tree = tree;
    return planned(made).cost.ns;
  };
  // Loops over i, j and k that the steps share are none of a walk.
  const auto nested_ns = [&](const std::string& kinds) {
    OwnedProblem made = problem("T:ijklm:" + kinds + ":1000000" + factors, extents);
    const ContractionTree tree = *parse_tree("(((T * D * E) * C) * B)", {"T", "B", "C", "D", "E"});
    const Contractions contractions =
        contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
    const AccessPaths stored(contractions.tensors.size());
    const auto loops = [&](const std::string& names) {
      std::vector<IndexId> found;
      for (const char name : names)
        found.push_back(static_cast<IndexId>(std::ranges::find(made.network.indices, std::string(1, name), &Index::name) -
                                             made.network.indices.begin()));
      return found;
    };
    const LoopNests nests{{loops("ijklmr"), loops("ijkr"), loops("ijr")}, {0, 3, 2}};
    return cost(complete(contractions, nests, made.network, CostModel(contractions, made, stored), stored, made.operands), made).ns;
  };
  for (const std::string kinds : {"duqqq", "uqqqq"}) {
    CAPTURE(kinds);
    CHECK(ns(kinds, flat_tree(5)) < 1.1 * ns("sssss", flat_tree(5)));
    CHECK(nested_ns(kinds) > 1.2 * nested_ns("sssss"));
  }
}

// A(i,j,r) = T(i,j,k) * C(k,r), j outside: for every i a search among its 4000 entries and one for the end of 20.
TEST_CASE("a run that is looked up costs a search among all entries of its fiber and one for its end") {
  const auto found = [](const std::string& kinds, const std::string& entries) {
    OwnedProblem made = problem("T:ijk:" + kinds + ":" + entries + " C:kr -> ijr", {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 16}});
    made.operands.front().pinned = true;
    made.options.machine.threads = 1;
    return planned(made);
  };
  for (const std::string entries : {"800000", "1600000"}) {
    CAPTURE(entries);
    CHECK(found("duq", entries).schedule.statements.front().loops.front() == 0);
    CHECK(found("duq", entries).cost.ns < 1.5 * found("dss", entries).cost.ns);
  }
}

TEST_CASE("below the first level a chain has no dense level, whether or not every coordinate occurs") {
  for (const std::uint64_t extent : {0, 1, 2}) {
    CAPTURE(extent);
    const OwnedProblem made = problem("T:ijkl:ssss:64 -> i", {{'i', 2}, {'j', 2}, {'k', extent}, {'l', 4}});
    const Contractions contractions = contractions_of(made.network, flat_tree(1), {0}, made.operands, made.options);
    AccessPaths paths(contractions.tensors.size());
    paths.front() = AccessPath::chain_of_loops(16);
    const CostModel model(contractions, made, paths);
    const LoopNests nests{{{0, 1, 2, 3}}, {0}};
    const std::string layout = complete(contractions, nests, made.network, model, paths, made.operands).tensors.front().format.text();
    CHECK((layout == "duqq:0,1,2,3" || layout == "suqq:0,1,2,3"));
  }
}

TEST_CASE("loops that do not stand together read compressed levels") {
  const OwnedProblem made = mttkrp(60'000, 200);
  const Contractions contractions = contractions_of(made.network, flat_tree(3), {3}, made.operands, made.options);
  AccessPaths paths(contractions.tensors.size());
  paths.front() = AccessPath::chain_of_loops(4);
  const CostModel model(contractions, made, paths);
  const auto layout = [&](std::vector<IndexId> loops) {
    return complete(contractions, {{std::move(loops)}, {0}}, made.network, model, paths, made.operands).tensors.front().format.text();
  };
  const auto& indices = made.network.indices;
  const auto named = [&](const char* name) {
    return static_cast<IndexId>(std::ranges::find(indices, name, &Index::name) - indices.begin());
  };
  const IndexId i = named("i"), j = named("j"), k = named("k"), r = named("r");
  CHECK(layout({i, j, k, r}) == "duq:0,1,2");
  CHECK(layout({i, r, k, j}) == "duq:0,2,1");
  CHECK(layout({i, j, r, k}) == "dss:0,1,2");
}

namespace {

// The cheapest schedule of every tree, order of steps and nest with the sparse operand, the first factor, in a chain where loops allow it.
double cheapest_chained(const OwnedProblem& made) {
  double cheapest = std::numeric_limits<double>::infinity();
  const auto judge = [&](const Contractions& contractions) {
    for (const double fill_limit : dense_fill_limits) {
      AccessPaths paths(contractions.tensors.size());
      paths.front() = AccessPath::chain_of_loops(fill_limit);
      const CostModel model(contractions, made, paths);
      for_each_nest(contractions, [&](const LoopNests& nests) {
        const Schedule schedule = complete(contractions, nests, made.network, model, paths, made.operands);
        const bool chained = begins_chain(schedule.tensors.front().format.levels[1].kind);
        if (chained && check(schedule, made)) cheapest = std::min(cheapest, cost(schedule, made).ns);
        return true;
      });
    }
  };
  for (const ContractionTree& tree : choose_trees(made).trees) {
    for (const std::vector<std::uint32_t>& order : step_orders(tree, 100)) {
      for (const ResultFormat& format : result_formats(made)) {
        Contractions plain = contractions_of(made.network, tree, order, made.operands, format);
        for (const Contractions& contractions : contraction_variants(std::move(plain), made, true)) judge(contractions);
      }
    }
  }
  return cheapest;
}

}  // namespace

// The search with chains finds what the enumeration finds with every nest over a chain beside all others.
TEST_CASE("the cheapest nest over a chain is found, and judged as it was priced") {
  std::size_t compared = 0, chained = 0, of_several = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const bool chain = seed % 3 == 0;  // a second factor
    OwnedProblem made = problem("T:ijk:" + std::string(seed % 4 == 0 ? "dss" : "sss") + ":" + std::to_string(50 + 97 * seed) +
                                    (chain ? " B:jr -> irk" : " B:jr -> ir"),
                                {{'i', 10 + seed}, {'j', 60}, {'k', 5 + seed % 40}, {'r', 1 + seed % 17}});
    made.options.calls = seed % 5 == 0 ? 10 : 1e6;
    constexpr std::size_t limit = 100'000;
    const std::vector<Schedule> all = enumerate_schedules(made, limit);
    REQUIRE(all.size() < limit);
    double cheapest = std::numeric_limits<double>::infinity();
    for (const Schedule& schedule : all) cheapest = std::min(cheapest, cost(schedule, made).ns);
    const double without = cheapest;
    cheapest = std::min(cheapest, cheapest_chained(made));
    OwnedProblem proving = made;
    proving.options.prove = true;
    const SearchResult found = search_schedules(proving);
    CHECK(found.candidates.front().cost.ns == doctest::Approx(cheapest).epsilon(1e-9));
    ++compared;
    if (cheapest >= without) continue;
    ++chained;
    of_several += found.candidates.front().schedule.statements.size() > 1 ? 1 : 0;
  }
  CHECK(compared == 60);
  CHECK(chained >= 10);
  CAPTURE(of_several);
}

// Entries are added to rows of x, which a factor then multiplies as a matrix.
TEST_CASE("a product in steps walks over a chain too, where the loops over it are those of one step") {
  OwnedProblem made = problem("T:ijk:sss:20000 B:ip C:jq -> pqk", {{'i', 120}, {'j', 120}, {'k', 60}, {'p', 8}, {'q', 8}});
  made.options.calls = 1000;
  made.options.machine.threads = 1;
  const Plan found = planned(made);
  CHECK(found.schedule.statements.size() == 2);
  CHECK(layout_of_first(found).starts_with("duq:2,"));  // i and j are alike
  made.operands.front().pinned = true;
  CHECK(found.cost.ns < 0.9 * planned(made).cost.ns);
}

TEST_CASE("loops over a chain that statements share are priced as loops over fibers, and read compressed levels") {
  OwnedProblem made = problem("T:ijk:sss:60000 B:jr C:kr -> ir", {{'i', 200}, {'j', 200}, {'k', 200}, {'r', 16}});
  made.options.tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const std::vector<std::uint32_t> order = step_orders(*made.options.tree, 1).front();
  const Contractions contractions = contractions_of(made.network, *made.options.tree, order, made.operands, made.options);
  AccessPaths paths(contractions.tensors.size());
  const auto& indices = made.network.indices;
  const auto named = [&](const char* name) {
    return static_cast<IndexId>(std::ranges::find(indices, name, &Index::name) - indices.begin());
  };
  const IndexId i = named("i"), j = named("j"), k = named("k"), r = named("r");
  const auto completed = [&](std::uint32_t fused) {
    const CostModel model(contractions, made, paths);
    return complete(contractions, {{{i, j, k, r}, {i, j, r}}, {0, fused}}, made.network, model, paths, made.operands);
  };
  const auto layout = [&](std::uint32_t fused) { return completed(fused).tensors.front().format.text(); };
  paths.front() = AccessPath::chain_of_loops(1);
  CHECK(layout(0) == "duq:0,1,2");
  CHECK(layout(1) == "duq:0,1,2");
  CHECK(layout(2) == "dss:0,1,2");
  const double chained = cost(completed(1), made).ns, shared = cost(completed(2), made).ns;
  paths.front() = AccessPath::of_loops(1);
  CHECK(cost(completed(1), made).ns > chained);
  CHECK(cost(completed(2), made).ns == shared);
}

}  // namespace chained_test
