// PlanStore: plans by what was asked for, in memory, on disk, or made now.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/cache/disk_cache.h"
#include "engine/cache/memory_cache.h"
#include "engine/plan/plan.h"
#include "runtime/spread.h"
#include "weft/options.h"

namespace weft {

/// A plan is a function of plan_key (plan_cache.h), so it is made once however many threads ask. Thread safe.
class PlanStore {
 public:
  /// `options` have to outlive the store. `disk`: null where nothing is kept on disk.
  PlanStore(const EngineOptions& options, std::shared_ptr<DiskCache> disk);

  /// Plan::origin says where it came from; counted and traced by that. Errors as of weft::plan, and a resource error where
  /// these operands leave no room for any plan.
  Expected<Plan> get(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options);
  /// Whether get() would find it, as far as can be told without reading it.
  bool holds(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) const;

  std::uint64_t counted(PlanOrigin origin) const { return by_origin_[static_cast<std::size_t>(origin)].total(); }
  /// A plan that was found with the kernel made of it.
  void found_again() { by_origin_[static_cast<std::size_t>(PlanOrigin::memory)].add(); }

 private:
  Expected<Plan> remembered_or_made(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options);
  /// From disk, or made and stored there. One that physical memory shaped, or that was made without a solver, is of this
  /// machine and this moment, so it is kept from other processes.
  Expected<std::shared_ptr<const Plan>> from_disk_or_made(const std::string& key, const Network& network,
                                                          const std::vector<OperandFacts>& operands, const PlanOptions& options);
  /// A plan of the disk cache's text that passes its checks, planned again where the engine is paranoid.
  Expected<Plan> restored(const std::string& text, const Network& network, const std::vector<OperandFacts>& operands,
                          const PlanOptions& options) const;
  /// One line: the weft command that makes this plan, " # plan ", and `what`.
  void trace(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& chosen, const Schedule& schedule,
             const std::string& what) const;

  const EngineOptions& options_;
  std::shared_ptr<DiskCache> disk_;
  MemoryCache<std::shared_ptr<const Plan>> memory_;
  SpreadCount by_origin_[3];
};

}  // namespace weft
