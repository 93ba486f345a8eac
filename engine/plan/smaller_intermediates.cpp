#include "engine/plan/smaller_intermediates.h"

#include <algorithm>

#include "engine/plan/memory_demand.h"

namespace weft {
namespace {

constexpr int most_halvings = 6;

// What operands and a dense result leave; a result that grows while it is computed is charged then.
double room_for_intermediates(const Network& network, const std::vector<OperandFacts>& operands, const Schedule& schedule,
                              const PlanOptions& options) {
  double room = static_cast<double>(usable_memory(options));
  for (const OperandFacts& operand : operands) room -= static_cast<double>(operand.exact_bytes());
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.role != TensorRole::result || !tensor.format.all_dense()) continue;
    double bytes = scalar_bytes(tensor.format.scalar);
    for (const std::uint64_t extent : network.tensors[tensor.tensor].extents) bytes *= static_cast<double>(extent);
    room -= bytes;
  }
  return room;
}

}  // namespace

void add_smaller_intermediates(SearchResult& found, const Network& network, const std::vector<OperandFacts>& operands,
                               const PlanOptions& options) {
  const std::uint64_t limit = usable_memory(options);
  if (!found.memory_binds || found.candidates.empty() || found.candidates.front().cost.announced_bytes <= limit) return;
  double room = room_for_intermediates(network, operands, found.candidates.front().schedule, options);
  std::vector<Candidate> added;
  for (int halving = 0; halving <= most_halvings && room >= 1 && !is_cancelled(options); ++halving, room /= 2) {
    PlanOptions bounded = options;
    bounded.memory_limit = static_cast<std::uint64_t>(room);
    bounded.prove = false;
    SearchResult smaller = search_schedules(network, operands, bounded, true);
    found.tried += smaller.tried;
    for (Candidate& candidate : smaller.candidates) {
      // Judged with the limit that there is: it says how many private copies there are.
      candidate.cost = cost(candidate.schedule, network, operands, options);
      if (candidate.cost.announced_bytes <= limit) added.push_back(candidate);
    }
    if (!smaller.candidates.empty() && smaller.candidates.front().cost.announced_bytes <= limit) break;
  }
  found.candidates.insert(found.candidates.end(), added.begin(), added.end());
  std::ranges::stable_sort(found.candidates, {}, [](const Candidate& candidate) { return candidate.cost.ns; });
}

}  // namespace weft
