#include "engine/plan/schedule/append_order.h"

#include <algorithm>

#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {

AppendOrder append_order(const std::vector<IndexId>& indices, const Format& format, const std::vector<IndexId>& loops) {
  AppendOrder order{appended_levels(format.levels), 0};
  while (order.direct < order.appended && order.direct < loops.size() &&
         indices[format.mode_order[order.direct]] == loops[order.direct]) {
    ++order.direct;
  }
  return order;
}

std::vector<IndexId> by_level(const std::vector<IndexId>& indices, const Format& format, std::size_t first, std::size_t end) {
  std::vector<IndexId> levels;
  for (std::size_t level = first; level < end; ++level) levels.push_back(indices[format.mode_order[level]]);
  return levels;
}

std::vector<IndexId> drained_key(const std::vector<IndexId>& indices, const Format& format, const AppendOrder& order) {
  return by_level(indices, format, order.direct, order.appended);
}

std::vector<IndexId> drained_block(const std::vector<IndexId>& indices, const Format& format, const AppendOrder& order) {
  return by_level(indices, format, order.appended, format.order());
}

bool may_be_computed(const Format& format) {
  return std::ranges::all_of(format.levels, [](const Level& level) {
    return is_appendable(level.kind);
  });
}

bool may_be_delivered(const Format& computed, const Format& delivered) {
  const auto end = delivered.mode_order.end();
  const auto block = end - static_cast<std::ptrdiff_t>(delivered.order() - appended_levels(delivered.levels));
  for (std::size_t level = appended_levels(computed.levels); level < computed.order(); ++level) {
    if (std::find(block, end, computed.mode_order[level]) == end) return false;
  }
  return true;
}

Format computed_format(const Format& requested) {
  Format format = requested;
  for (Level& level : format.levels) {
    level = Level{is_dense(level.kind) ? LevelKind::dense : LevelKind::compressed};
  }
  return format;
}

}  // namespace weft
