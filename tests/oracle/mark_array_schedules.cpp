#include "tests/oracle/mark_array_schedules.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "engine/plan/search/alternative_search.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/trees.h"

namespace weft {

namespace {

/// Of a network: five factors over seven indices have choices by the thousand, each of them with a program of its own to solve.
constexpr std::size_t most_tried = 600;

}  // namespace

std::vector<Schedule> mark_array_schedules(const Problem& problem) {
  std::vector<Schedule> schedules;
  std::size_t tried = 0;
  const auto append = [&](const MarkedContractions& marked) {
    if (++tried > most_tried) return;
    AlternativeSearch search(problem, true, usual_work);
    if (std::isinf(search.solve_marked(marked.contractions, marked.choice, infinity))) return;
    schedules.push_back(std::move(search.result().candidates.front().schedule));
  };
  AlternativeSearch search(problem, true, usual_work);
  std::vector<std::pair<MarkedContractions, std::size_t>> open;  // with how many mark arrays they have
  for (MarkedContractions& start : marked_starts(problem, search, choose_trees(problem).trees, true)) {
    open.emplace_back(std::move(start), 0);
  }
  for (std::size_t number = 0; number < open.size() && tried < most_tried; ++number) {
    if (keys_intermediates(open[number].first.contractions)) {
      append(open[number].first);
      continue;
    }
    for (MarkedContractions& next : with_another_mark(open[number].first)) {
      append(next);
      const std::size_t marks = open[number].second + 1;
      if (marks < most_mark_arrays) open.emplace_back(std::move(next), marks);
    }
  }
  return schedules;
}

}  // namespace weft
