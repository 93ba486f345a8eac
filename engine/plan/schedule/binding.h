// At which loop every level of an access is bound, and in which order those of a target are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"
#include "runtime/sparse_levels.h"

namespace weft {

/// Levels are bound from the first to the last, each as soon as its index and all levels above it are bound. A level
/// is `direct` if the loop that binds it runs over its own index (it can drive the loop); others are late: found by
/// search or table. On a diagonal the second level of the index is late.
struct BoundLevel {
  std::size_t loop = 0;  ///< depth in the loops of the statement
  bool direct = false;
};

/// One per level of `format`. Every index of the access must be among `loops`. `located`: the modes that never drive.
std::vector<BoundLevel> bind_levels(const std::vector<IndexId>& indices, const Format& format,
                                    const std::vector<IndexId>& loops, const LocatedModes& located = {});
LocatedModes located_modes(const TensorDeclaration& tensor);

/// Levels of a target up to the last one that is not dense are appended, so that the loops that bind them must be the
/// outermost ones, in the order of the levels; dense levels below are blocks, written in any order. The levels from
/// the first that breaks this are the key of a workspace inside the loops before: the statement is `drained`.
struct AppendOrder {
  std::size_t appended = 0;  ///< leading levels of the format; 0: all levels are dense
  std::size_t direct = 0;    ///< of these, how many the first loops bind in order
  bool needs_drain() const { return direct < appended; }
  bool operator==(const AppendOrder&) const = default;
};

/// Of a target accessed with `indices` (by mode) below `loops`, outermost first.
AppendOrder append_order(const std::vector<IndexId>& indices, const Format& format, const std::vector<IndexId>& loops);

/// Indices of an access, which are by mode, in the order of the levels: of those from `first` to `end`.
std::vector<IndexId> by_level(const std::vector<IndexId>& indices, const Format& format, std::size_t first, std::size_t end);
inline std::vector<IndexId> by_level(const std::vector<IndexId>& indices, const Format& format) {
  return by_level(indices, format, 0, format.order());
}

/// The key of the workspace of a drained statement, in the order in which it is drained: levels direct … appended.
std::vector<IndexId> drained_key(const std::vector<IndexId>& indices, const Format& format, const AppendOrder& order);

/// What follows the key in that workspace: the dense levels below the appended ones.
std::vector<IndexId> drained_block(const std::vector<IndexId>& indices, const Format& format, const AppendOrder& order);

/// A sparse level of a factor, bound at some loop.
struct SparseLevel {
  std::uint32_t factor = 0;
  std::uint32_t level = 0;
  LevelKind kind = LevelKind::compressed;
  bool direct = false;
};

/// The sparse levels that the loop at this depth of a statement binds, by factor, then level.
std::vector<SparseLevel> sparse_levels(const Schedule& schedule, const ScheduledStatement& statement, std::size_t loop);

/// Whether a sparse level of any factor is bound at the loop: then it visits stored coordinates only.
bool filters(const Schedule& schedule, const ScheduledStatement& statement, std::size_t loop);

/// Whether the innermost loop of a statement may become vector code: it is not shared, no sparse level is bound in it,
/// it appends nothing, and, under strict floating point, its sum is not reassociated.
bool may_be_vector(const Schedule& schedule, std::size_t statement, const PlanOptions& options);

/// A conversion must not turn absent entries into stored zeros nor the other way round.
bool may_be_converted(const OperandFacts& operand);

}  // namespace weft
