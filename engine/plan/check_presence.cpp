#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/binding.h"
#include "engine/plan/check.h"
#include "engine/plan/statements.h"

namespace weft {
namespace {

struct SparseBinding {
  LevelKind parent = LevelKind::dense;  // dense also stands for "no level above"
  bool direct = false;
};

// Every sparse level that any of the statements sharing the loop binds in it.
std::vector<SparseBinding> sparse_bindings(const Schedule& schedule, std::size_t number, std::size_t loop) {
  std::size_t first = number;
  while (schedule.statements[first].fused > loop) --first;
  std::vector<SparseBinding> found;
  for (std::size_t sharer = first;
       sharer == first || (sharer < schedule.statements.size() && schedule.statements[sharer].fused > loop); ++sharer) {
    const ScheduledStatement& statement = schedule.statements[sharer];
    for (const ScheduledAccess& factor : statement.factors) {
      const Format& format = schedule.tensors[factor.tensor].format;
      const std::vector<BoundLevel> bound = bind_levels(factor.indices, format, statement.loops);
      for (std::size_t level = 0; level < bound.size(); ++level) {
        if (bound[level].loop != loop || !is_sparse(format.levels[level].kind)) continue;
        found.push_back({level == 0 ? LevelKind::dense : format.levels[level - 1].kind, bound[level].direct});
      }
    }
  }
  return found;
}

// Whether the writer of `tensor` accumulates into every entry that its reader can reach, each time it is reached:
// loops over the modes that the two do not share run over their whole extents, and loops that sum visit at least one
// coordinate. A fiber below a stored position of a sparse level is never empty; below a dense level it may be.
bool is_present(const Schedule& schedule, const Network& network, std::uint32_t tensor) {
  const std::size_t writer = writer_of(schedule, tensor);
  const std::size_t reader = reader_of(schedule, tensor);
  const ScheduledStatement& statement = schedule.statements[writer];
  for (std::size_t loop = shared_loops(schedule, writer, reader); loop < statement.loops.size(); ++loop) {
    const std::vector<SparseBinding> sparse = sparse_bindings(schedule, writer, loop);
    const IndexId index = statement.loops[loop];
    if (sparse.empty()) {
      if (network.indices[index].extent == 0) return false;
      continue;
    }
    const bool summed = !contains(index_set(statement.target.indices), index);
    if (!summed || sparse.size() > 1 || !sparse.front().direct || !is_sparse(sparse.front().parent)) return false;
  }
  return std::all_of(statement.factors.begin(), statement.factors.end(), [&](const ScheduledAccess& factor) {
    return schedule.tensors[factor.tensor].role != TensorRole::intermediate ||
           is_present(schedule, network, factor.tensor);
  });
}

}  // namespace

bool is_finite(const Schedule& schedule, std::uint32_t tensor, const std::vector<OperandFacts>& operands) {
  if (schedule.tensors[tensor].role == TensorRole::operand) {
    return facts_of(operands, schedule.tensors[tensor].tensor).statistics.finite();
  }
  const ScheduledStatement& writer = schedule.statements[writer_of(schedule, tensor)];
  return std::isfinite(writer.coefficient) &&
         std::all_of(writer.factors.begin(), writer.factors.end(), [&](const ScheduledAccess& factor) {
           return is_finite(schedule, factor.tensor, operands);
         });
}

Expected<void> check_presence(const Schedule& schedule, const Network& network,
                              const std::vector<OperandFacts>& operands) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (std::size_t read = 0; read < statement.factors.size(); ++read) {
      const std::uint32_t tensor = statement.factors[read].tensor;
      if (schedule.tensors[tensor].role != TensorRole::intermediate) continue;
      for (std::size_t other = 0; other < statement.factors.size(); ++other) {
        if (other == read || is_finite(schedule, statement.factors[other].tensor, operands)) continue;
        if (is_present(schedule, network, tensor)) continue;
        return input_error(fmt::format(
            "schedule, statement {}: {} is dense and may be read where nothing was accumulated, but {} holds NaN or "
            "Inf, which an absent entry would have annihilated: use a tree without this intermediate",
            number + 1, schedule.tensors[tensor].name, schedule.tensors[statement.factors[other].tensor].name));
      }
    }
  }
  return {};
}

}  // namespace weft
