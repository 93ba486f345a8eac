#include "engine/plan/search/smaller_intermediates.h"

#include <algorithm>

#include "engine/plan/cost/memory_demand.h"

namespace weft {
namespace {

constexpr int most_halvings = 6;

}  // namespace

void add_smaller_intermediates(SearchResult& found, const Problem& problem, SearchScope scope) {
  const auto& [network, operands, options] = problem;
  const std::uint64_t limit = usable_memory(options);
  if (!found.memory_binds || found.candidates.empty() || found.candidates.front().cost.announced_bytes <= limit) return;
  const Schedule& cheapest = found.candidates.front().schedule;
  const ScheduledTensor& result = cheapest.tensors[cheapest.statements.back().target.tensor];
  double left = memory_beside(problem, result.format.all_dense() && !result.delivered);
  std::vector<Candidate> added;
  scope.marks = false;  // what they save is not memory
  for (int halving = 0; halving <= most_halvings && left >= 1 && !is_cancelled(options); ++halving, left /= 2) {
    PlanOptions bounded = options;
    bounded.memory_limit = static_cast<std::uint64_t>(left);
    bounded.prove = false;
    SearchResult smaller = search_schedules(Problem{network, operands, bounded}, scope);
    found.tried += smaller.tried;
    for (Candidate& candidate : smaller.candidates) {
      // Judged with the limit that there is: it says how many private copies there are.
      candidate.cost = cost(candidate.schedule, problem);
      if (candidate.cost.announced_bytes <= limit) added.push_back(candidate);
    }
    if (!smaller.candidates.empty() && smaller.candidates.front().cost.announced_bytes <= limit) break;
  }
  found.candidates.insert(found.candidates.end(), added.begin(), added.end());
  std::ranges::stable_sort(found.candidates, {}, [](const Candidate& candidate) { return candidate.cost.ns; });
}

}  // namespace weft
