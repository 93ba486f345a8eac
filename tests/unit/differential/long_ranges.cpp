#include "long_ranges.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <variant>

#include "engine/loop/overloaded.h"
#include "engine/lower/lower.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/schedule.h"
#include "oracle/stretched.h"

namespace weft::test {
namespace {

bool goes_over_long_ranges(const loop::Block& block, const LoweredNest& nest, const Network& network) {
  return std::ranges::any_of(block, [&](const loop::Statement& statement) {
    return std::visit(loop::Overloaded{[&](const loop::For& each) {
                                         const bool driven = std::ranges::count(each.steps, loop::Use::drive, &loop::Step::use) > 0;
                                         return (!driven && is_long(network.indices[nest.indices[each.index]].extent)) ||
                                                goes_over_long_ranges(each.body, nest, network);
                                       },
                                       [](const loop::Accumulate&) { return false; },
                                       [&](const auto& other) { return goes_over_long_ranges(other.body, nest, network); }},
                      statement.node);
  });
}

}  // namespace

bool has_long_extents(const Network& network) {
  return std::ranges::any_of(network.indices, [](const Index& index) { return is_long(index.extent); });
}

PlanOptions within_memory(const Network& network, PlanOptions options) {
  if (has_long_extents(network)) options.memory_limit = memory_over_long_extents;
  return options;
}

bool goes_over_long_ranges(const Schedule& schedule, const Network& network) {
  const auto nests = lower(schedule, network, std::vector<bool>(schedule.tensors.size(), true));
  if (!nests) throw std::runtime_error(nests.error().message);
  // Sums that are powers of others have indices of their own.
  const Network scheduled = scheduled_network(schedule, network);
  return std::ranges::any_of(*nests, [&](const LoweredNest& nest) { return goes_over_long_ranges(nest.program.body, nest, scheduled); });
}

bool is_left_out(const Schedule& schedule, const BuiltNetwork& built) {
  if (!has_long_extents(built.network)) return false;
  const PlanOptions options = within_memory(built.network);
  return memory_plan(schedule, Problem{built.network, built.facts, options}).peak_bytes > options.memory_limit ||
         goes_over_long_ranges(schedule, built.network);
}

bool is_left_out(const Expected<Plan>& plan, const BuiltNetwork& built) {
  if (plan) return has_long_extents(built.network) && goes_over_long_ranges(plan->schedule, built.network);
  const bool for_its_size = plan.error().kind == ErrorKind::resource && has_long_extents(built.network);
  if (!for_its_size) throw std::runtime_error(plan.error().message);
  return true;
}

Patience::Patience()
    : waiting_([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, stop, std::chrono::seconds(2), [] { return false; });
        if (!stop.stop_requested()) over_.cancel();
      }) {}

}  // namespace weft::test
