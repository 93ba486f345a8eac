#include "engine/plan/schedule/storage.h"

#include <algorithm>

#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

Format format_of_kind(std::size_t order, Scalar scalar, LevelKind kind) {
  Format format = dense_format(order, scalar);
  for (Level& level : format.levels) level.kind = kind;
  return format;
}

}  // namespace

Storage storage_of(const Format& format) {
  if (format.all_dense()) return Storage::workspace;
  if (std::ranges::any_of(format.levels, is_listed, &Level::kind)) return Storage::of_loops;
  return std::ranges::all_of(format.levels, has_slots, &Level::kind) ? Storage::keyed : Storage::stored;
}

Format keyed_format(std::size_t order, Scalar scalar) { return format_of_kind(order, scalar, LevelKind::hashed); }
Format format_of_loops(std::size_t order, Scalar scalar) { return format_of_kind(order, scalar, LevelKind::accumulator); }

Format format_of_loops(const std::vector<IndexId>& indices, IndexSet block, Scalar scalar) {
  Format format = format_of_loops(indices.size(), scalar);
  for (std::size_t mode = 0; mode < indices.size(); ++mode) {
    if (contains(block, indices[mode])) format.levels[mode] = Level{};
  }
  return format;
}

Format stored_format(const std::vector<std::uint32_t>& compressed, const std::vector<std::uint32_t>& block, Scalar scalar) {
  Format format = sparse_format(compressed.size() + block.size(), scalar);
  format.mode_order = compressed;
  for (const std::uint32_t mode : block) {
    format.levels[format.mode_order.size()].kind = LevelKind::dense;
    format.mode_order.push_back(mode);
  }
  return format;
}

IndexSet appended_modes(const Format& format, const std::vector<IndexId>& indices) {
  IndexSet appended = 0;
  for (std::size_t mode = 0; mode < indices.size(); ++mode) {
    if (is_listed(format.levels[mode].kind)) appended |= one_index(indices[mode]);
  }
  return appended;
}

bool stores_as_priced(const Schedule& statements) {
  return std::ranges::none_of(statements.tensors, [](const ScheduledTensor& tensor) {
    return tensor.role == TensorRole::intermediate && storage_of(tensor.format) == Storage::of_loops;
  });
}

}  // namespace weft
