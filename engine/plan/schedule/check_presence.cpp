#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

struct SparseBinding {
  LevelKind parent = LevelKind::dense;  // dense also stands for "no level above"
  bool direct = false;
};

// Every sparse level that any of the statements sharing the loop binds in it, and every dense one at a sum.
std::vector<SparseBinding> sparse_bindings(const Schedule& schedule, std::size_t number, std::size_t loop) {
  std::vector<SparseBinding> found;
  const std::size_t last = last_sharer(schedule, number, loop);
  for (std::size_t sharer = first_sharer(schedule, number, loop); sharer <= last; ++sharer) {
    const ScheduledStatement& statement = schedule.statements[sharer];
    for (const SparseLevel& met : sparse_levels(schedule, statement, loop)) {
      const ScheduledTensor& tensor = schedule.tensors[statement.factors[met.factor].tensor];
      // Keys of workspaces say nothing about how many entries there are.
      const bool stored = tensor.role == TensorRole::operand || (!is_listed(met.kind) && !has_gaps(met.kind));
      found.push_back({met.level == 0 ? LevelKind::dense : tensor.format.levels[met.level - 1].kind, met.direct && stored});
    }
    for (const ScheduledAccess& factor : statement.factors) {
      const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
      if (tensor.located.sums == 0) continue;
      const std::vector<BoundLevel> bound = bind_levels(factor.indices, tensor.format, statement.loops, tensor.located);
      for (std::size_t level = 0; level < bound.size(); ++level) {
        const bool leaves_out = tensor.located.is_sum(tensor.format.mode_order[level]) && is_dense(tensor.format.levels[level].kind);
        if (leaves_out && bound[level].loop == loop) found.push_back({LevelKind::dense, false});
      }
    }
  }
  return found;
}

bool is_present(const Schedule& schedule, const Network& network, std::uint32_t tensor);

// Whether a statement accumulates into every entry of the dense `block` of its target, each time its loop at depth
// `begin` is reached: loops over modes of the target run over their whole extents, those of the block among them, and
// loops that sum visit at least one coordinate. A fiber below a stored position of a sparse level is never empty; below
// a dense level it may be.
bool accumulates_everywhere(const Schedule& schedule, const Network& network, std::size_t writer, std::size_t begin,
                            IndexSet block) {
  const ScheduledStatement& statement = schedule.statements[writer];
  for (std::size_t loop = 0; loop < begin && loop < statement.loops.size(); ++loop) {
    if (contains(block, statement.loops[loop])) return false;
  }
  for (std::size_t loop = begin; loop < statement.loops.size(); ++loop) {
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
    const ScheduledTensor& read = schedule.tensors[factor.tensor];
    return read.role != TensorRole::intermediate || is_present(schedule, network, factor.tensor);
  });
}

// Where the levels of a target that know their entries end, under the loops of its writer: the first of the dense levels
// below them, and the loop in which the last of them is bound.
struct Block {
  IndexSet modes = 0;
  std::size_t begin = 0;
};

Block dense_block(const ScheduledStatement& statement, const Format& format, std::size_t shared) {
  const std::size_t known = appended_levels(format.levels);
  Block block{0, shared};
  const std::vector<BoundLevel> bound = bind_levels(statement.target.indices, format, statement.loops);
  for (std::size_t level = 0; level < format.order(); ++level) {
    if (level < known) block.begin = std::max(block.begin, bound[level].loop + 1);
    else if (bound[level].loop >= shared) block.modes |= one_index(statement.target.indices[format.mode_order[level]]);
  }
  return block;
}

// Whether the writer of `tensor` accumulates into every entry that its reader can reach, each time it is reached.
bool is_present(const Schedule& schedule, const Network& network, std::uint32_t tensor) {
  const std::size_t writer = writer_of(schedule, tensor);
  const std::size_t reader = reader_of(schedule, tensor);
  const std::size_t shared = shared_loops(schedule, writer, reader);
  if (schedule.tensors[tensor].format.all_dense()) return accumulates_everywhere(schedule, network, writer, shared, 0);
  const Block block = dense_block(schedule.statements[writer], schedule.tensors[tensor].format, shared);
  return accumulates_everywhere(schedule, network, writer, block.begin, block.modes);
}

}  // namespace

bool knows_its_entries(const Schedule& schedule, const Network& network, std::uint32_t tensor) {
  const std::size_t writer = writer_of(schedule, tensor);
  const std::size_t shared = shared_loops(schedule, writer, reader_of(schedule, tensor));
  const Block block = dense_block(schedule.statements[writer], schedule.tensors[tensor].format, shared);
  return block.modes == 0 || is_present(schedule, network, tensor);
}

std::vector<bool> entry_making_tensors(const Schedule& schedule) {
  std::vector<bool> makes(schedule.tensors.size(), false);
  for (std::size_t writer = schedule.statements.size(); writer-- > 0;) {  // readers stand behind
    const ScheduledStatement& statement = schedule.statements[writer];
    const ScheduledTensor& target = schedule.tensors[statement.target.tensor];
    if (!target.like && has_sparse_level(target.format) && leaves_nest(schedule, writer)) makes[statement.target.tensor] = true;
    if (!makes[statement.target.tensor]) continue;
    for (const ScheduledAccess& factor : statement.factors) {
      // Readers of a result read all stored values, the zeros of dense levels too.
      if (schedule.tensors[factor.tensor].role == TensorRole::intermediate) makes[factor.tensor] = true;
    }
  }
  return makes;
}

namespace {

Expected<void> check_entries(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  const ScheduledTensor& target = schedule.tensors[statement.target.tensor];
  for (const ScheduledAccess& factor : statement.factors) {
    if (schedule.tensors[factor.tensor].role != TensorRole::intermediate) continue;
    if (knows_its_entries(schedule, network, factor.tensor)) continue;
    return illegal(number, fmt::format("{} is dense and may be read where nothing was accumulated, which would become an entry "
                                       "of a sparse tensor: give it levels a (accumulator), h (hashed) or b (bitmap)",
                                       schedule.tensors[factor.tensor].name));
  }
  if (!statement.drained) return {};
  const AppendOrder order = append_order(statement.target.indices, target.format, statement.loops);
  const Block block = dense_block(statement, target.format, 0);
  if (block.modes == 0 || accumulates_everywhere(schedule, network, number, block.begin, block.modes)) return {};
  return illegal(number, fmt::format("the workspace of {} is dense over {}, where not every entry is provably accumulated: bind "
                                     "the other levels first", target.name,
                                     print_indices(drained_block(statement.target.indices, target.format, order), network)));
}

}  // namespace

bool is_finite(Steps steps, std::uint32_t tensor, const std::vector<OperandFacts>& operands) {
  if (steps.tensor(tensor).role == TensorRole::operand) return facts_of(operands, steps.tensor(tensor).tensor).statistics.finite();
  const Contraction& writer = steps[writer_of(steps, tensor)];
  return std::isfinite(writer.coefficient) &&
         std::ranges::all_of(writer.factors, [&](const ScheduledAccess& factor) { return is_finite(steps, factor.tensor, operands); });
}

std::vector<bool> finite_tensors(Steps steps, const std::vector<OperandFacts>& operands) {
  std::vector<bool> finite(steps.tensors(), false);
  for (std::uint32_t tensor = 0; tensor < finite.size(); ++tensor) {
    if (steps.tensor(tensor).role == TensorRole::operand) finite[tensor] = is_finite(steps, tensor, operands);
  }
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const auto is_known = [&](const ScheduledAccess& factor) { return finite[factor.tensor]; };
    finite[steps[number].target.tensor] = std::isfinite(steps[number].coefficient) && std::ranges::all_of(steps[number].factors, is_known);
  }
  return finite;
}

// Readers stand behind writers, so that a tensor annihilated further on is known when its writer is come to.
std::vector<std::optional<std::uint32_t>> annihilated_tensors(Steps steps, const std::vector<bool>& finite) {
  std::vector<std::optional<std::uint32_t>> found(steps.tensors());
  for (std::size_t number = steps.size(); number-- > 0;) {
    const Contraction& reader = steps[number];
    for (const ScheduledAccess& read : reader.factors) {
      if (steps.tensor(read.tensor).role != TensorRole::intermediate || found[read.tensor]) continue;
      const auto other = std::ranges::find_if(reader.factors, [&](const ScheduledAccess& factor) {
        return &factor != &read && (factor.tensor >= finite.size() || !finite[factor.tensor]);
      });
      if (other != reader.factors.end()) found[read.tensor] = other->tensor;
      // Readers of a result see its stored entries, the zeros of dense levels too.
      else if (steps.tensor(reader.target.tensor).role == TensorRole::intermediate) found[read.tensor] = found[reader.target.tensor];
    }
  }
  return found;
}

bool annihilates_any(Steps steps, const std::vector<OperandFacts>& operands) {
  if (std::ranges::all_of(operands, [](const OperandFacts& facts) { return facts.statistics.finite(); })) return false;
  const auto annihilated = annihilated_tensors(steps, finite_tensors(steps, operands));
  return std::ranges::any_of(annihilated, [](const std::optional<std::uint32_t>& one) { return one.has_value(); });
}

Expected<void> check_presence(const Schedule& schedule, const Network& network,
                              const std::vector<OperandFacts>& operands) {
  const std::vector<bool> finite = finite_tensors(schedule, operands);
  const bool all_finite = std::ranges::find(finite, false) == finite.end();
  const auto annihilated = annihilated_tensors(schedule, finite);
  const std::vector<bool> makes_entries = entry_making_tensors(schedule);
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (makes_entries[schedule.statements[number].target.tensor]) {
      if (auto done = check_entries(schedule, network, number); !done) return done;
    }
    if (all_finite) continue;
    for (const ScheduledAccess& factor : schedule.statements[number].factors) {
      if (schedule.tensors[factor.tensor].role != TensorRole::intermediate) continue;
      const std::optional<std::uint32_t> other = annihilated[factor.tensor];
      if (!other || knows_its_entries(schedule, network, factor.tensor)) continue;
      return illegal(number, fmt::format("{} is dense and may be read where nothing was accumulated, but {} holds NaN or Inf, "
                                         "which an absent entry would have annihilated: give it levels a (accumulator), h "
                                         "(hashed) or b (bitmap), or s between nests", schedule.tensors[factor.tensor].name,
                                         schedule.tensors[*other].name));
    }
  }
  return {};
}

}  // namespace weft
