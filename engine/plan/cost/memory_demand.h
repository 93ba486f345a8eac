// How much memory a schedule needs: what tensors with compressed levels are expected to take follows from the distinct counts of what
// they are made from, and from counted joins.
#pragma once

#include <cstddef>

#include "engine/plan/cost/cost.h"
#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

/// Slots that add into private copies in a deterministic run, and at least so many in one whose copies are small against the
/// operand it walks: then a thread that is ahead takes another slot instead of waiting. No plan knows which of them will run,
/// nor on how many threads, so it counts memory for these.
constexpr std::uint64_t usual_slots = 8;

/// What a schedule will allocate, by name, and the largest sum that is live at any time. Operands, conversions and the
/// result live throughout; an intermediate between nests from the nest that writes it to the one that reads it;
/// workspaces, one per assumed thread, and private copies, one per assumed thread and usual_slots at least, while their nest
/// runs. Dense sizes are exact, conversions estimated from distinct counts. Private copies are limited to what the memory
/// limit leaves.
struct MemoryPlan {
  std::vector<MemoryDemand> demands;
  std::uint64_t peak_bytes = 0;
  /// The same without results and intermediates with compressed levels, whose size is estimated: they are charged as
  /// they grow, so that a limit refuses them only where it is reached.
  std::uint64_t announced_bytes = 0;
};
MemoryPlan memory_plan(const Schedule& schedule, const Problem& problem);

/// The limit that the options give, or the machine's memory where that is less.
std::uint64_t usable_memory(const PlanOptions& options);

/// What of it the operands leave, and the result of a network's one assignment if it is dense and not the host's: one that
/// grows while it is computed is charged then. Negative if they do not fit.
double memory_beside(const Problem& problem, bool dense_result);

/// How often the elements of a dense result are in memory that a run allocates: as computed, and as handed over where that is another
/// format, which is the host's if it lends memory for the result.
double allocated_copies(const std::string& result, bool delivered, const PlanOptions& options);

/// Of a dense tensor.
double result_bytes(const TensorDeclaration& result, Scalar scalar);

/// Of values over these indices.
double dense_bytes(IndexSet indices, Scalar scalar, const Network& network);

/// Of the tensor that a statement writes: as it is computed, and as it is handed over where that is another format. Values alone where
/// positions are shared. The schedule may be that of several assignments.
double expected_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem);

/// Of the workspace that is drained into it, for one thread.
double drained_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem);

/// Of a workspace with a key above a dense block, for one thread, inside loops over `outside`: a thousand rows of 16 values that are
/// touched of a million. A key of several modes has no bitmap.
double keyed_bytes(const ProductEstimate& product, IndexSet outside, IndexSet key, IndexSet block, LevelKind kind, Scalar scalar,
                   const Problem& problem);

/// Of one in a schedule: an intermediate that is not stored over the modes in `shared`, the loops around it. Dense
/// levels alone take what their extents say.
double keyed_bytes(const Schedule& schedule, std::size_t writer, IndexSet shared, const Problem& problem);

/// Of the coordinates of a converted operand, twice while they are sorted; a dense one has none.
double sorting_bytes(const OperandFacts& operand);

/// Entries that the tensor a statement writes is expected to have, and their share of all combinations.
struct ExpectedEntries {
  double entries = 0;
  double fill = 0;
};
ExpectedEntries expected_entries(const Schedule& schedule, std::size_t writer, const Problem& problem);

}  // namespace weft
