#include "engine/plan_store.h"

#include <fmt/format.h>

#include "engine/plan_cache.h"
#include "engine/trace.h"
#include "runtime/elapsed.h"

namespace weft {

PlanStore::PlanStore(const EngineOptions& options, std::shared_ptr<DiskCache> disk)
    : options_(options), disk_(std::move(disk)), memory_({.entries = options.kernels_in_memory}) {}

Expected<Plan> PlanStore::get(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  const auto start = Clock::now();
  Expected<Plan> found = remembered_or_made(network, operands, options);
  if (found) by_origin_[static_cast<std::size_t>(found->origin)].add();
  if (found && options_.trace) {
    constexpr std::string_view origins[] = {"made", "memory", "disk"};
    trace(network, operands, options, found->schedule,
          fmt::format("{} cost {:.0f} ns candidates {} {} {:.3f} ms", word(found->producer), found->cost.ns, found->candidates,
                      origins[static_cast<std::size_t>(found->origin)], milliseconds_since(start)));
  }
  return found;
}

bool PlanStore::holds(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) const {
  if (!options_.use_cache) return false;
  const std::string key = plan_key(network, operands, options);
  return memory_.holds(key) || (disk_ && disk_->load(key, EntryForm::text));
}

Expected<Plan> PlanStore::remembered_or_made(const Network& network, const std::vector<OperandFacts>& operands,
                                             const PlanOptions& options) {
  if (!options_.use_cache) return weft::plan(Problem{network, operands, options});
  const std::string key = plan_key(network, operands, options);
  bool mine = false;
  const auto get = [&] {
    const auto make = [&] {
      mine = true;
      return from_disk_or_made(key, network, operands, options);
    };
    return memory_.get(key, make, [&] { return is_cancelled(options); });
  };
  auto known = get();
  // Another who waits for the same plan may have cancelled what made it.
  while (!known && known.error().kind == ErrorKind::cancelled && !mine && !is_cancelled(options)) known = get();
  if (!known) return std::unexpected(known.error());
  if (mine) return **known;
  Plan plan = **known;
  plan.origin = PlanOrigin::memory;
  auto fitting = with_memory(std::move(plan), network, operands, options);
  if (fitting) return fitting;
  auto again = weft::plan(Problem{network, operands, options});
  if (again)
    trace(network, operands, options, again->schedule, "from memory refused, planned again: " + fitting.error().message);
  return again;
}

Expected<std::shared_ptr<const Plan>> PlanStore::from_disk_or_made(const std::string& key, const Network& network,
                                                                   const std::vector<OperandFacts>& operands,
                                                                   const PlanOptions& options) {
  std::string refused;
  if (const auto text = disk_ ? disk_->load(key, EntryForm::text) : std::nullopt) {
    auto found = restored(*text, network, operands, options);
    if (!found && found.error().kind == ErrorKind::cancelled) return std::unexpected(found.error());
    if (found) {
      found->origin = PlanOrigin::disk;
      return std::make_shared<const Plan>(std::move(*found));
    }
    refused = fmt::format("{} refused, planned again: {}", DiskCache::file_name(key, EntryForm::text), found.error().message);
  }
  auto planned = weft::plan(Problem{network, operands, options});
  if (!planned) return std::unexpected(planned.error());
  if (!refused.empty()) trace(network, operands, options, planned->schedule, refused);
  const bool for_other_processes = planned->too_large == 0 && planned->solver.unavailable.empty();
  if (disk_ && for_other_processes) disk_->store(key, print_plan(*planned, network), EntryForm::text);
  return std::make_shared<const Plan>(std::move(*planned));
}

Expected<Plan> PlanStore::restored(const std::string& text, const Network& network, const std::vector<OperandFacts>& operands,
                                   const PlanOptions& options) const {
  auto found = restored_plan(text, network, operands, options);
  if (!found || !options_.paranoid) return found;
  // Planning is a pure function, so the text has to be the same.
  const auto again = weft::plan(Problem{network, operands, options});
  if (!again) return std::unexpected(again.error());
  if (print_plan(*again, network) != text) return internal_error("planning again gives another plan");
  return found;
}

void PlanStore::trace(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& chosen,
                      const Schedule& schedule, const std::string& what) const {
  if (!options_.trace) return;
  std::string command = command_line(network, operands, schedule, options_);
  if (chosen.calls != 1) command += fmt::format(" --calls {}", chosen.calls);
  if (chosen.prove) command += " --prove";
  if (chosen.objective == Objective::workspace_order) command += " --objective workspace-order";
  options_.trace(fmt::format("{} # plan {}", command, what));
}

}  // namespace weft
