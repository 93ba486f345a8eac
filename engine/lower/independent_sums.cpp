#include "engine/lower/independent_sums.h"

#include <algorithm>

#include "engine/lower/loops.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Vectors of 64 bytes that are added to side by side, so that none has to wait for the addition before.
constexpr std::uint64_t sums_at_once = 4;
constexpr std::uint64_t vector_bytes = 64;
/// Of a fiber.
constexpr double long_fiber = 12;

/// 0: one is enough.
std::uint32_t sets(const LoweredNest& nest, const loop::For& each, const LevelsBound& bound,
                   const std::vector<std::vector<double>>& means) {
  const auto* row = each.body.size() == 1 ? std::get_if<loop::For>(&each.body.front().node) : nullptr;
  if (row == nullptr || !row->marks.vector || row->body.size() != 1) return 0;
  if (std::ranges::count(each.steps, loop::Use::drive, &loop::Step::use) != 1) return 0;
  if (fiber_entries(nest, each, bound, means).value_or(0) < long_fiber) return 0;
  const loop::AccessId target = std::get<loop::Accumulate>(row->body.front().node).target;
  if (std::ranges::find(each.steps, target, &loop::Step::access) != each.steps.end()) return 0;
  const Scalar scalar = nest.program.storages[nest.program.accesses[target].storage].scalar;
  const std::uint64_t bytes = fixed_extent(nest.program, row->index).value_or(0) * scalar_bytes(scalar);
  const std::uint64_t vectors = (bytes + vector_bytes - 1) / vector_bytes;
  return vectors == 0 || 2 * vectors > sums_at_once ? 0 : static_cast<std::uint32_t>(sums_at_once / vectors);
}

}  // namespace

void mark_independent_sums(LoweredNest& nest, const std::vector<std::vector<double>>& means) {
  for_each_loop(nest.program, [&](loop::For& each, const LevelsBound& bound) { each.marks.unroll = sets(nest, each, bound, means); });
}

}  // namespace weft
