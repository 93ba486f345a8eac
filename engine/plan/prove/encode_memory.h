// The memory of workspaces before loops and layouts are decided, for the solver.
#pragma once

#include <optional>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/space/alternatives.h"

namespace weft {

/// The bytes that memory_plan() will count for the schedule that a choice becomes, or less where that depends on decisions made
/// later: whether a dense block below the key of an intermediate is provably written, else its modes are part of the key.
/// All figures are bytes of one thread. Refers to all of its arguments.
class WorkspaceBytes {
 public:
  WorkspaceBytes(const Alternative& alternative, const Problem& problem);

  /// Of the intermediate that a statement writes, inside loops over `shared`, which its reader shares.
  double inside(std::size_t writer, IndexSet shared) const;
  /// Between nests: nothing for a sparse one, which is charged as it grows.
  double between(std::size_t writer) const;
  /// Of the result: nothing either, if it is sparse.
  double of_result() const;
  /// The workspace that is drained into the target of a statement where the loop over `index` below `bound` leaves the
  /// order in which that is appended to; of an intermediate, only if it leaves its nest. Nothing elsewhere.
  std::optional<double> drained(std::size_t writer, Outside outside, IndexId index, StatementRange range) const;

 private:
  IndexSet modes(std::size_t writer) const;
  Scalar scalar(std::size_t writer) const;
  double dense(std::size_t writer, IndexSet indices) const;
  double keyed(std::size_t writer, IndexSet outside, IndexSet whole_key, LevelKind kind) const;

  const Alternative& alternative_;
  const Problem problem_;
  std::optional<CostModel> model_;         // only where something is sparse
  std::vector<ProductEstimate> products_;  // per statement, then
};

}  // namespace weft
