#include "engine/plan/cost/expected_bytes.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/cost/sparse_target.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {


using Joins = std::map<JoinSet, double>;

// Calls with the assignment that has the statement; nothing where the schedule is no forest, which check() refuses.
template <class Ask>
auto of_part(const Schedule& schedule, std::size_t writer, const Network& network,
             const std::vector<OperandFacts>& operands, const Joins& joins, const Ask& ask)
    -> decltype(ask(schedule, writer, network, operands, joins)) {
  if (network.assignments.size() == 1) return ask(schedule, writer, network, operands, joins);
  const auto parts = forest_parts(schedule, network, operands);
  if (!parts) return {};
  for (const ForestPart& part : *parts) {
    const std::size_t number = writer - part.first_statement;
    if (writer < part.first_statement || number >= part.schedule.statements.size()) continue;
    const Joins own = joins.empty() ? joins
                                    : renumbered(joins, occurrences(network, operands), occurrences(part.network, part.operands));
    return ask(part.schedule, number, part.network, part.operands, own);
  }
  return {};
}

}  // namespace

double expected_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  return of_part(schedule, writer, network, operands, options.joins, [](const auto& one, std::size_t number, const auto& alone,
                                                                        const auto& known, const Joins& joins) {
    const ScheduledAccess& target = one.statements[number].target;
    const ScheduledTensor& tensor = one.tensors[target.tensor];
    if (tensor.like) {
      const ScheduledTensor& pattern = one.tensors[*tensor.like];
      return stored_arrays(pattern.format, facts_of(known, pattern.tensor).exact()).positions * scalar_bytes(tensor.format.scalar);
    }
    const ProductEstimate product = estimate_of(one, number, alone, known, joins);
    const auto bytes = [&](const Format& format) {
      return stored_bytes(format, estimated_statistics(product, alone, target.indices, format, true));
    };
    return bytes(tensor.format) + (tensor.delivered ? bytes(*tensor.delivered) : 0);
  });
}

double drained_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  return of_part(schedule, writer, network, operands, options.joins, [&](const auto& one, std::size_t number, const auto& alone,
                                                                         const auto& known, const Joins& joins) {
    const ScheduledStatement& statement = one.statements[number];
    if (!statement.drained) return 0.0;
    const Format& format = one.tensors[statement.target.tensor].format;
    const AppendOrder order = append_order(statement.target.indices, format, statement.loops);
    IndexSet direct = 0;
    for (std::size_t level = 0; level < order.direct; ++level) {
      direct |= one_index(statement.target.indices[format.mode_order[level]]);
    }
    const SparseTarget target(contracted(one.tensors[statement.target.tensor]), statement.target.indices,
                              estimate_of(one, number, alone, known, joins));
    return keyed_price(options.machine, target.workspace(direct, 0), statement.drained->kind).bytes;
  });
}

double keyed_bytes(const Schedule& schedule, std::size_t writer, IndexSet shared, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  return of_part(schedule, writer, network, operands, options.joins, [&](const auto& one, std::size_t number, const auto& alone,
                                                                         const auto& known, const Joins& joins) {
    const ScheduledAccess& target = one.statements[number].target;
    const Format& format = one.tensors[target.tensor].format;
    KeyedWorkspace workspace;
    workspace.scalar_bytes = scalar_bytes(format.scalar);
    LevelKind kind = LevelKind::dense;
    IndexSet key = 0;
    for (std::size_t level = 0; level < format.order(); ++level) {
      const IndexId index = target.indices[format.mode_order[level]];
      if (contains(shared, index)) continue;
      const bool in_key = is_sparse(format.levels[level].kind);
      (in_key ? workspace.keys : workspace.block) *= static_cast<double>(alone.indices[index].extent);
      if (!in_key) continue;
      kind = format.levels[level].kind;
      key |= one_index(index);
    }
    if (is_dense(kind)) return workspace.block * workspace.scalar_bytes;
    const ProductEstimate product = estimate_of(one, number, alone, known, joins);
    workspace.entries = product.distinct(shared | key) / std::max(1.0, product.distinct(shared));
    return keyed_price(options.machine, workspace, kind).bytes;
  });
}

ExpectedEntries expected_entries(const Schedule& schedule, std::size_t writer, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  return of_part(schedule, writer, network, operands, options.joins, [](const auto& one, std::size_t number, const auto& alone,
                                                                        const auto& known, const Joins& joins) {
    const IndexSet modes = index_set(one.statements[number].target.indices);
    const ProductEstimate product = estimate_of(one, number, alone, known, joins);
    return ExpectedEntries{product.distinct(modes), product.fill(modes)};
  });
}

}  // namespace weft
