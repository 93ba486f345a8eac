#include "engine/plan/explain/explain_sparse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/plan/cost/expected_bytes.h"
#include "engine/plan/explain/quantities.h"
#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/space/mark_arrays.h"

namespace weft {
namespace {

std::string table_of(LevelKind kind) {
  switch (kind) {
    case LevelKind::hashed: return "a hash table";
    case LevelKind::bitmap: return "a bitmap";
    case LevelKind::accumulator:
    case LevelKind::dense:
    case LevelKind::compressed:
    case LevelKind::compressed_nonunique:
    case LevelKind::variable:
    case LevelKind::singleton: break;
  }
  return "an accumulator";
}

std::string expected_text(const ExpectedEntries& expected) {
  return fmt::format("{} entries expected, {:.3g} % of all", count_text(expected.entries), 100 * expected.fill);
}

// In which order entries are made.
std::string how_written(const Schedule& schedule, std::size_t writer, const Network& network) {
  const ScheduledStatement& statement = schedule.statements[writer];
  const Format& format = schedule.tensors[statement.target.tensor].format;
  const AppendOrder order = append_order(statement.target.indices, format, statement.loops);
  if (!statement.drained) return "appended in the order of the loops";
  const std::string key = print_indices(drained_key(statement.target.indices, format, order), network);
  const std::vector<IndexId> outside(statement.loops.begin(), statement.loops.begin() + static_cast<std::ptrdiff_t>(order.direct));
  return fmt::format("{} gathered in {} {}, and drained in order", key, table_of(statement.drained->kind),
                     outside.empty() ? "for the whole result" : fmt::format("for each {}", print_indices(outside, network)));
}

}  // namespace

namespace {

// Those of the operands that a tensor is made from.
void append_not_finite(const Schedule& schedule, std::uint32_t tensor, const std::vector<OperandFacts>& operands,
                       std::vector<std::string>& names, bool& looked_at) {
  const ScheduledTensor& declared = schedule.tensors[tensor];
  if (is_finite(schedule, tensor, operands)) return;
  if (declared.role == TensorRole::operand) {
    looked_at = looked_at && facts_of(operands, declared.tensor).looks != Looks::never;
    if (std::ranges::find(names, declared.name) == names.end()) names.push_back(declared.name);
    return;
  }
  for (const ScheduledAccess& factor : schedule.statements[writer_of(schedule, tensor)].factors) {
    append_not_finite(schedule, factor.tensor, operands, names, looked_at);
  }
}

}  // namespace

std::string absence_reason(const Schedule& schedule, const std::vector<OperandFacts>& operands) {
  const auto annihilated = annihilated_tensors(schedule, finite_tensors(schedule, operands));
  std::vector<std::string> spoiled, kept;
  bool looked_at = true;
  for (std::uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    if (!annihilated[tensor] || makes_entries(schedule, tensor)) continue;
    kept.push_back(schedule.tensors[tensor].name);
    append_not_finite(schedule, *annihilated[tensor], operands, spoiled, looked_at);
  }
  if (kept.empty()) return {};
  const char* const hold = !looked_at ? "may hold" : spoiled.size() == 1 ? "holds" : "hold";
  return fmt::format("{} {} NaN or Inf{}, so that {} {} to tell absent entries from zeros, which takes more time than plain "
                     "dense intermediates",
                     fmt::join(spoiled, ", "), hold, looked_at ? "" : ", for looking in every run would take longer",
                     fmt::join(kept, ", "), kept.size() == 1 ? "has" : "have");
}

std::string result_reason(const Schedule& schedule, std::uint32_t result, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const ScheduledTensor& tensor = schedule.tensors[result];
  const bool requested = options.result_formats.contains(tensor.name);
  if (tensor.like) {
    const std::string& operand = schedule.tensors[*tensor.like].name;
    return fmt::format("{}at the positions of {}, which are shared", options.result_patterns.contains(tensor.name) ? "requested: " : "",
                       operand);
  }
  if (!has_sparse_level(tensor.format)) return requested ? "requested" : "dense: any entry may be written";
  const std::size_t writer = writer_of(schedule, result);
  const ExpectedEntries expected = expected_entries(schedule, writer, problem);
  std::string text = fmt::format("{}: {}; {}", requested ? "requested" : "sparse", expected_text(expected),
                                 how_written(schedule, writer, network));
  if (tensor.delivered) {
    text += fmt::format("; converted to {} after every run, {}", tensor.delivered->text(),
                        time_text(expected.entries * options.machine.convert_entry));
  }
  return text;
}

std::string intermediate_reason(const Schedule& schedule, std::uint32_t intermediate, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const ScheduledTensor& tensor = schedule.tensors[intermediate];
  if (!has_sparse_level(tensor.format)) return {};
  const std::size_t writer = writer_of(schedule, intermediate);
  const ExpectedEntries expected = expected_entries(schedule, writer, problem);
  if (may_be_computed(tensor.format)) {
    return fmt::format("stored with compressed levels: {}; {}", expected_text(expected), how_written(schedule, writer, network));
  }
  std::vector<IndexId> key;
  LevelKind kind = LevelKind::accumulator;
  for (std::size_t level = 0; level < tensor.format.order(); ++level) {
    if (!is_sparse(tensor.format.levels[level].kind)) continue;
    kind = tensor.format.levels[level].kind;
    key.push_back(tensor.modes[tensor.format.mode_order[level]]);
  }
  if (is_mark_array_copy(schedule, writer)) {
    const std::size_t operand = schedule.statements[writer].factors.front().tensor;
    return fmt::format("a fiber of {} over {}, copied to be looked up in {}: {} entries in all", schedule.tensors[operand].name,
                       print_indices(key, network), table_of(kind), count_text(expected.entries));
  }
  return fmt::format("only what was accumulated is read, from {} over {}: {}", table_of(kind), print_indices(key, network),
                     expected_text(expected));
}

}  // namespace weft
