#include "engine/plan/schedule/binding.h"

#include <algorithm>
#include <bit>

#include "runtime/dense_levels.h"

namespace weft {

std::vector<BoundLevel> bind_levels(const std::vector<IndexId>& indices, const Format& format,
                                    const std::vector<IndexId>& loops, const LocatedModes& located) {
  std::vector<BoundLevel> bound;
  bound.reserve(format.order());
  std::size_t depth = 0;
  bool driven = false;  // a level is already direct at this depth
  for (std::size_t level = 0; level < format.order(); ++level) {
    const std::uint32_t mode = format.mode_order[level];
    const auto depth_of = [&](IndexId index) {
      return static_cast<std::size_t>(std::find(loops.begin(), loops.end(), index) - loops.begin());
    };
    std::size_t own = depth_of(indices[mode]);
    for (std::uint64_t others = located.beside(mode); others != 0; others &= others - 1)
      own = std::max(own, depth_of(indices[static_cast<std::size_t>(std::countr_zero(others))]));
    if (own > depth) {
      depth = own;
      driven = false;
    }
    const bool direct = own == depth && !driven && !located.has(mode);
    driven = driven || own == depth;
    bound.push_back({depth, direct});
  }
  return bound;
}

LocatedModes located_modes(const TensorDeclaration& tensor) {
  LocatedModes located;
  for (std::size_t mode = 0; mode < tensor.extents.size(); ++mode) {
    if (tensor.is_located(mode)) located.modes |= std::uint64_t{1} << mode;
    if (!tensor.is_sum(mode)) continue;
    located.sums |= std::uint64_t{1} << mode;
    located.others.resize(tensor.extents.size());
    for (const ModeSum::Other& other : tensor.sums[mode].others) located.others[mode] |= std::uint64_t{1} << other.mode;
  }
  return located;
}

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

std::vector<SparseLevel> sparse_levels(const Schedule& schedule, const ScheduledStatement& statement, std::size_t loop) {
  std::vector<SparseLevel> found;
  for (std::uint32_t factor = 0; factor < statement.factors.size(); ++factor) {
    const ScheduledAccess& access = statement.factors[factor];
    const Format& format = schedule.tensors[access.tensor].format;
    if (!has_sparse_level(format)) continue;
    const std::vector<BoundLevel> bound = bind_levels(access.indices, format, statement.loops, schedule.tensors[access.tensor].located);
    for (std::uint32_t level = 0; level < bound.size(); ++level) {
      const LevelKind kind = format.levels[level].kind;
      if (bound[level].loop == loop && is_sparse(kind)) found.push_back({factor, level, kind, bound[level].direct});
    }
  }
  return found;
}

bool filters(const Schedule& schedule, const ScheduledStatement& statement, std::size_t loop) {
  return !sparse_levels(schedule, statement, loop).empty();
}

namespace {

/// Whether a mode of the access holds a part or a sum of the index: neighbours at that are no neighbours there.
bool is_located(const Schedule& schedule, const ScheduledAccess& access, IndexId index) {
  const LocatedModes& located = schedule.tensors[access.tensor].located;
  for (std::size_t mode = 0; located.modes != 0 && mode < access.indices.size(); ++mode) {
    if (!located.has(mode)) continue;
    std::uint64_t modes = located.beside(mode) | std::uint64_t{1} << mode;
    for (; modes != 0; modes &= modes - 1)
      if (access.indices[static_cast<std::size_t>(std::countr_zero(modes))] == index) return true;
  }
  return false;
}

}  // namespace

bool may_be_vector(const Schedule& schedule, std::size_t number, const PlanOptions& options) {
  const ScheduledStatement& statement = schedule.statements[number];
  const std::size_t depth = statement.loops.size();
  if (depth == 0 || statement.fused == depth) return false;
  if (number + 1 < schedule.statements.size() && schedule.statements[number + 1].fused >= depth) return false;
  if (filters(schedule, statement, depth - 1)) return false;
  const auto located = [&](const ScheduledAccess& factor) { return is_located(schedule, factor, statement.loops.back()); };
  if (std::ranges::any_of(statement.factors, located)) return false;
  const std::vector<IndexId>& target = statement.target.indices;
  const ScheduledTensor& written = schedule.tensors[statement.target.tensor];
  const std::vector<IndexId> appended = by_level(target, written.format, 0, appended_levels(written.format.levels));
  if (!written.like && contains(index_set(appended), statement.loops.back())) return false;
  return !options.strict_fp || std::find(target.begin(), target.end(), statement.loops.back()) != target.end();
}

bool may_be_converted(const OperandFacts& operand) {
  return !operand.pinned && operand.format.order() > 0 && is_sparse(operand.format.levels.back().kind);
}

}  // namespace weft
