#include "tests/oracle/mark_array_schedules.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "engine/plan/search/search_budget.h"
#include "engine/plan/search/search_mark_arrays.h"
#include "engine/plan/space/trees.h"

namespace weft {

std::vector<Schedule> mark_array_schedules(const Problem& problem) {
  std::vector<Schedule> schedules;
  const auto append = [&](const MarkedStatements& statements) {
    AlternativeSearch search(problem, true, usual_work);
    if (std::isinf(search.solve_marked(statements.schedule, statements.choice, infinity))) return;
    schedules.push_back(std::move(search.result().candidates.front().schedule));
  };
  AlternativeSearch search(problem, true, usual_work);
  std::vector<std::pair<MarkedStatements, std::size_t>> open;  // with how many mark arrays they have
  for (MarkedStatements& start : marked_starts(problem, search, choose_trees(problem).trees, true)) open.emplace_back(std::move(start), 0);
  for (std::size_t number = 0; number < open.size(); ++number) {
    if (keys_intermediates(open[number].first.schedule)) {
      append(open[number].first);
      continue;
    }
    for (MarkedStatements& next : with_another_mark(open[number].first)) {
      append(next);
      const std::size_t marks = open[number].second + 1;
      if (marks < most_mark_arrays) open.emplace_back(std::move(next), marks);
    }
  }
  return schedules;
}

}  // namespace weft
