#include "engine/plan/search/search.h"

#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace smaller_intermediates_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

// A power of a sparse matrix: every intermediate is a dense matrix, or one of its rows inside a shared loop.
OwnedProblem power() {
  OwnedProblem made = problem("A:ab:ss:900 A:bc A:cd A:de A:ef -> af",
                         {{'a', 100}, {'b', 100}, {'c', 100}, {'d', 100}, {'e', 100}, {'f', 100}});
  made.options.result_formats["R"] = dense_format(2);
  made.options.calls = 1000;
  return made;
}

constexpr std::uint64_t matrix = 100 * 100 * 8;

}  // namespace

TEST_CASE("a chain keeps rows of its intermediates where whole ones do not fit") {
  for (const bool pinned : {false, true}) {
    CAPTURE(pinned);
    OwnedProblem made = power();
    if (pinned) made.options.tree = *parse_tree("((((A * A) * A) * A) * A)", {"A", "A", "A", "A", "A"});
    const Plan free = planned(made);
    REQUIRE(free.cost.peak_bytes > 2 * matrix);
    made.options.memory_limit = 2 * matrix;
    const Plan bound = planned(made);
    CHECK(bound.cost.peak_bytes <= made.options.memory_limit);
    CHECK(bound.schedule.statements.size() > 2);
    CHECK(bound.cost.ns >= free.cost.ns);
    // One product of all factors, which stores nothing, is what there would be else.
    if (pinned) continue;
    OwnedProblem whole = made;
    whole.options.tree = flat_tree(5);
    CHECK(bound.cost.ns < planned(whole).cost.ns);
  }
}

TEST_CASE("only what fits is added, in order, and nothing where memory does not bind") {
  OwnedProblem made = power();
  SearchResult found = search_schedules(made);
  const std::size_t before = found.candidates.size();
  add_smaller_intermediates(found, made);
  CHECK(found.candidates.size() == before);
  made.options.memory_limit = 2 * matrix;
  found = search_schedules(made);
  REQUIRE(found.candidates.front().cost.announced_bytes > made.options.memory_limit);
  std::size_t fitting = 0;
  for (const Candidate& candidate : found.candidates) fitting += candidate.cost.announced_bytes <= made.options.memory_limit ? 1 : 0;
  const std::size_t all = found.candidates.size();
  add_smaller_intermediates(found, made);
  CHECK(found.candidates.size() > all);
  std::size_t now = 0;
  for (std::size_t number = 0; number < found.candidates.size(); ++number) {
    const Candidate& candidate = found.candidates[number];
    if (number > 0) CHECK(found.candidates[number - 1].cost.ns <= candidate.cost.ns);
    if (candidate.cost.announced_bytes > made.options.memory_limit) continue;
    ++now;
    CHECK(check(candidate.schedule, made).has_value());
    CHECK(candidate.cost == cost(candidate.schedule, made));
  }
  CHECK(now == fitting + (found.candidates.size() - all));
}

}  // namespace smaller_intermediates_test
