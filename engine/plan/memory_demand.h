// How much memory a schedule needs.
#pragma once

#include "engine/plan/plan.h"

namespace weft {

/// What a schedule will allocate, by name, and the largest sum that is live at any time. Operands, conversions and the
/// result live throughout; an intermediate between nests from the nest that writes it to the one that reads it;
/// workspaces and private copies while their nest runs, one per assumed thread. Dense sizes are exact, conversions
/// estimated from distinct counts. Private copies are limited to what the memory limit leaves.
struct MemoryPlan {
  std::vector<MemoryDemand> demands;
  std::uint64_t peak_bytes = 0;
  /// The same without results and intermediates with compressed levels, whose size is estimated: they are charged as
  /// they grow, so that a limit refuses them only where it is reached.
  std::uint64_t announced_bytes = 0;
};
MemoryPlan memory_plan(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                       const PlanOptions& options);

/// The limit that the options give, or the machine's memory where that is less.
std::uint64_t usable_memory(const PlanOptions& options);

/// What of it the operands leave, and the result of a network's one assignment if it is dense: one that grows while it
/// is computed is charged then. Negative if they do not fit.
double room_beside(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
                   bool dense_result);

}  // namespace weft
