#include "engine/lower/independent_sums.h"

#include <algorithm>

#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Vectors of 64 bytes that are added to side by side, so that none has to wait for the addition before.
constexpr std::uint64_t sums_at_once = 4;
constexpr std::uint64_t vector_bytes = 64;
/// Of a fiber.
constexpr double long_fiber = 12;

class Sums {
 public:
  Sums(LoweredNest& nest, const std::vector<std::vector<double>>& means) : nest_(nest), means_(means) {}

  void mark(loop::Block& block, const std::vector<std::uint32_t>& bound) {
    for (loop::Statement& statement : block) {
      if (auto* each = std::get_if<loop::For>(&statement.node)) {
        each->marks.unroll = sets(*each, bound);
        mark(each->body, below(each->steps, bound));
      } else if (auto* late = std::get_if<loop::Bind>(&statement.node)) {
        mark(late->body, below(late->steps, bound));
      } else if (auto* live = std::get_if<loop::With>(&statement.node)) {
        mark(live->body, bound);
      }
    }
  }

 private:
  static std::vector<std::uint32_t> below(const std::vector<loop::Step>& steps, std::vector<std::uint32_t> bound) {
    for (const loop::Step& step : steps) ++bound[step.access];
    return bound;
  }

  std::uint64_t extent(loop::IndexId index) const {
    for (const loop::Fact& fact : nest_.program.facts)
      if (const auto* known = std::get_if<loop::ExtentFact>(&fact); known && known->index == index) return known->extent;
    return 0;
  }

  /// 0: one is enough.
  std::uint32_t sets(const loop::For& each, const std::vector<std::uint32_t>& bound) const {
    const auto* row = each.body.size() == 1 ? std::get_if<loop::For>(&each.body.front().node) : nullptr;
    if (row == nullptr || !row->marks.vector || row->body.size() != 1 || !has_long_fibers(each, bound)) return 0;
    const loop::AccessId target = std::get<loop::Accumulate>(row->body.front().node).target;
    if (std::ranges::find(each.steps, target, &loop::Step::access) != each.steps.end()) return 0;
    const std::uint64_t bytes = extent(row->index) * scalar_bytes(nest_.program.storages[nest_.program.accesses[target].storage].scalar);
    const std::uint64_t vectors = (bytes + vector_bytes - 1) / vector_bytes;
    return vectors == 0 || 2 * vectors > sums_at_once ? 0 : static_cast<std::uint32_t>(sums_at_once / vectors);
  }

  bool has_long_fibers(const loop::For& each, const std::vector<std::uint32_t>& bound) const {
    double entries = 0;
    for (const loop::Step& step : each.steps) {
      if (step.use != loop::Use::drive) continue;
      const std::uint32_t tensor = nest_.tensors[nest_.program.accesses[step.access].storage];
      const std::uint32_t level = bound[step.access];
      if (entries > 0 || tensor >= means_.size() || level >= means_[tensor].size()) return false;
      entries = means_[tensor][level];
    }
    return entries >= long_fiber;
  }

  LoweredNest& nest_;
  const std::vector<std::vector<double>>& means_;
};

}  // namespace

void mark_independent_sums(LoweredNest& nest, const std::vector<std::vector<double>>& means) {
  Sums(nest, means).mark(nest.program.body, std::vector<std::uint32_t>(nest.program.accesses.size(), 0));
}

}  // namespace weft
