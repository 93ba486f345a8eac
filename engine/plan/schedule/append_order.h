// In which order a target with compressed levels is written: appended as the loops go, or through a workspace.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/plan/schedule/schedule.h"

namespace weft {

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

/// Whether kernels write such a format themselves: dense and compressed levels only.
bool may_be_computed(const Format& format);

/// Whether a result computed in one format may be handed over in another without absent entries becoming stored ones:
/// dense levels below the last compressed one hold zeros, so they must be such levels in both.
bool may_be_delivered(const Format& computed, const Format& delivered);

/// The format with levels that kernels write and the mode order of the requested one: every level that is not dense is compressed.
Format computed_format(const Format& requested);

}  // namespace weft
