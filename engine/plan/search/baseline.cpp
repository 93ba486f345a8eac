#include "engine/plan/search/baseline.h"

#include <algorithm>
#include <set>
#include <string>

#include "engine/network/inlining.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/schedule/widths.h"
#include "runtime/dense_levels.h"

namespace weft {
namespace {

void append_new(std::vector<IndexId>& order, const std::vector<IndexId>& indices) {
  for (const IndexId index : indices) {
    if (std::ranges::find(order, index) == order.end()) order.push_back(index);
  }
}

// Sparse factors in their stored order, those first that cannot be converted and then the largest; what only dense
// factors have comes last, innermost the index in which most of them are contiguous.
std::vector<IndexId> loop_order(const Term& term, const std::vector<OperandFacts>& operands) {
  std::vector<const TensorAccess*> sparse;
  std::vector<IndexId> contiguous;
  for (const TensorAccess& factor : term.factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (has_sparse_level(facts.format)) sparse.push_back(&factor);
    if (facts.format.all_dense() && !factor.indices.empty()) {
      contiguous.push_back(factor.indices[facts.format.mode_order.back()]);
    }
  }
  std::ranges::stable_sort(sparse, {}, [&](const TensorAccess* factor) {
    const OperandFacts& facts = facts_of(operands, factor->tensor);
    return std::pair{may_be_converted(facts), -facts.statistics.nnz()};
  });
  std::vector<IndexId> order;
  for (const TensorAccess* factor : sparse) append_new(order, by_level(factor->indices, facts_of(operands, factor->tensor).format));
  std::vector<IndexId> rest;
  for (const TensorAccess& factor : term.factors) append_new(rest, by_level(factor.indices, facts_of(operands, factor.tensor).format));
  std::erase_if(rest, [&](IndexId index) { return std::ranges::find(order, index) != order.end(); });
  std::ranges::stable_sort(rest, {}, [&](IndexId index) { return std::ranges::count(contiguous, index); });
  append_new(order, rest);
  return order;
}

// Compressed levels in the order of the loops.
Format concordant_format(const std::vector<IndexId>& indices, const std::vector<IndexId>& loops, Scalar scalar) {
  Format format = sparse_format(indices.size(), scalar);
  format.mode_order.clear();
  for (const IndexId index : loops) {
    for (std::uint32_t mode = 0; mode < indices.size(); ++mode) {
      if (indices[mode] == index) format.mode_order.push_back(mode);
    }
  }
  return format;
}

// Converts an operand whose levels the loops would bind late.
void make_concordant(ContractedTensor& tensor, const ScheduledAccess& access, const std::vector<IndexId>& loops,
                     const std::vector<OperandFacts>& operands) {
  if (!may_be_converted(facts_of(operands, tensor.tensor))) return;
  const std::vector<BoundLevel> bound = bind_levels(access.indices, tensor.layout, loops, tensor.located);
  for (std::size_t level = 0; level < bound.size(); ++level) {
    if (loops[bound[level].loop] == access.indices[tensor.layout.mode_order[level]]) continue;
    tensor.layout = concordant_format(access.indices, loops, tensor.scalar);
    tensor.converted = true;
    return;
  }
}

// Hashed levels are not merged: where one meets other sparse factors the first of these drives, and the rest is looked up.
void look_up_tables(Schedule& schedule, std::size_t number) {
  ScheduledStatement& statement = schedule.statements[number];
  for (std::size_t loop = 0; loop < statement.loops.size(); ++loop) {
    std::vector<SparseLevel> met = sparse_levels(schedule, statement, loop);
    std::erase_if(met, [](const SparseLevel& level) { return !level.direct; });
    const auto hashed = [](const SparseLevel& level) { return level.kind == LevelKind::hashed; };
    if (met.size() < 2 || std::ranges::none_of(met, hashed)) continue;
    const auto ordered = std::ranges::find_if_not(met, hashed);
    const SparseLevel& driver = ordered == met.end() ? met.front() : *ordered;
    Intersection& intersection = statement.intersections.emplace_back(Intersection{statement.loops[loop], {}});
    for (const SparseLevel& level : met)
      intersection.parts.push_back({static_cast<std::uint32_t>(number), level.factor, &level == &driver, false});
  }
}

// Whether the operand whose positions the result shares, if any, is a factor of the step that writes it.
bool stands_beside_pattern(const Contractions& contractions) {
  const std::optional<std::uint32_t> pattern = contractions.tensors.back().like;
  const std::vector<ScheduledAccess>& factors = contractions.steps.back().factors;
  return !pattern || std::ranges::find(factors, *pattern, &ScheduledAccess::tensor) != factors.end();
}

// Intermediates named in `kept` have compressed levels, as those on the way to a sparse result have.
Schedule plain_schedule(const Problem& problem, const std::set<std::string>& kept) {
  const auto& [network, operands, options] = problem;
  const Assignment& assignment = network.assignments[0];
  const Term& term = assignment.terms[0];
  const ContractionTree tree = options.tree ? *options.tree : term.pinned;
  Contractions contractions = contractions_of(network, tree, step_orders(tree, 1).front(), operands, options);
  if (!stands_beside_pattern(contractions)) {
    // Nothing is fused here, so a later statement has no position of the operand at hand.
    const Format pattern = contractions.tensors.back().layout;
    const Format format = computed_format(pattern);
    set_result_format(contractions, network, {format, same_layout(format, pattern) ? std::nullopt : std::optional(pattern)});
  }
  const std::size_t steps = contractions.steps.size();
  LoopNests nests{std::vector<std::vector<IndexId>>(steps), std::vector<std::uint32_t>(steps)};
  const std::vector<IndexId> order = loop_order(term, operands);
  const ContractedTensor& result = contractions.tensors.back();
  const bool sparse = result.sparse() && !result.like;
  // Readers first, so that a sparse intermediate has the order of theirs.
  for (std::size_t number = steps; number-- > 0;) {
    const Contraction& step = contractions.steps[number];
    std::vector<IndexId>& loops = nests.loops[number];
    const ContractedTensor& target = contractions.tensors[step.target.tensor];
    // The first loops bind the levels that are appended, in order: no workspace is needed.
    if (target.sparse() && !target.like) loops = by_level(step.target.indices, target.layout, 0, appended_levels(target.layout.levels));
    for (const IndexId index : order) {
      if (contains(indices_of(step), index)) append_new(loops, {index});
    }
    for (const ScheduledAccess& factor : step.factors) {
      ContractedTensor& tensor = contractions.tensors[factor.tensor];
      const bool lends_pattern = result.like && contractions.tensors[*result.like].tensor == tensor.tensor;
      if (tensor.role == TensorRole::operand) {
        if (!lends_pattern) make_concordant(tensor, factor, loops, operands);
      } else if (sparse || kept.contains(tensor.name)) {
        tensor.storage = Storage::stored;
        tensor.layout = concordant_format(factor.indices, loops, tensor.scalar);
      }
    }
  }
  Schedule schedule = with_loops(contractions, nests);
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    look_up_tables(schedule, number);
    ScheduledStatement& statement = schedule.statements[number];
    if (may_be_vector(schedule, number, options)) statement.vector = statement.loops.back();
    const bool owned =
        !statement.loops.empty() && contains(index_set(statement.target.indices), statement.loops.front());
    schedule.roots.push_back(owned ? RootReduction::owner : RootReduction::serial);
  }
  return merge_layouts(with_widths(std::move(schedule), network, operands));
}

// Intermediates that cannot tell absent from zero beside NaN or Inf.
std::set<std::string> without_entries(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands) {
  std::set<std::string> found;
  if (std::ranges::all_of(operands, [](const OperandFacts& facts) { return facts.statistics.finite(); })) return found;
  const auto annihilated = annihilated_tensors(schedule, finite_tensors(schedule, operands));
  for (std::uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    if (annihilated[tensor] && !knows_its_entries(schedule, network, tensor)) found.insert(schedule.tensors[tensor].name);
  }
  return found;
}

// Intermediates are dense, but for those that could not tell absent from zero beside NaN or Inf: loops change with their levels, so
// that others may come after them.
Schedule assignment_baseline(const Problem& problem) {
  std::set<std::string> kept;
  for (;;) {
    Schedule schedule = plain_schedule(problem, kept);
    const std::size_t before = kept.size();
    kept.merge(without_entries(schedule, problem.network, problem.operands));
    if (kept.size() == before) return schedule;
  }
}

}  // namespace

Schedule baseline_with_known_entries(const Problem& problem) {
  std::set<std::string> kept;
  for (const ScheduledTensor& tensor : plain_schedule(problem, kept).tensors) {
    if (tensor.role == TensorRole::intermediate) kept.insert(tensor.name);
  }
  return plain_schedule(problem, kept);
}

Schedule baseline(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (network.assignments.size() == 1) return assignment_baseline(problem);
  // An assignment that is no result is inlined into its readers, unless parentheses there sum it first: y = S(i); z = (y * U(j)).
  std::vector<TensorId> dropped = unwanted(network, options);
  for (std::vector<TensorId> kept; !(kept = summed_in_parentheses(network, dropped)).empty();) {
    std::erase_if(dropped, [&](TensorId tensor) { return std::ranges::find(kept, tensor) != kept.end(); });
  }
  const Network stored = inlined(network, dropped);
  const auto joined_with = [&](const auto& baseline_of) {
    std::vector<Schedule> parts;
    std::vector<OperandFacts> known = operands;
    for (std::size_t assignment = 0; assignment < stored.assignments.size(); ++assignment) {
      // A result for later assignments alone tells absent entries from zeros, whatever the values are.
      PlanOptions own = options;
      const TensorDeclaration& declared = stored.tensors[stored.assignments[assignment].result.tensor];
      const Network part = part_network(stored, assignment);
      if (!is_wanted(declared.name, network, options) && !declared.extents.empty()) {
        const Scalar scalar = plainest_result_format(Problem{part, known, own}).format.scalar;
        own.result_formats[declared.name] = sparse_format(declared.extents.size(), scalar);
      }
      parts.push_back(baseline_of(Problem{part, known, own}));
      known.push_back(stored_facts(stored, stored.assignments[assignment], result_of(parts.back()).format, known));
    }
    return joined(parts, stored, options);
  };
  // A number that an earlier assignment leaves absent makes absent what later ones multiply with it, as s does x in
  // s = T(m,m); y(j) = ((s * U(k,j)) * v(k)), where the parts by themselves do not show it.
  Schedule schedule = joined_with(assignment_baseline);
  return without_entries(schedule, stored, operands).empty() ? schedule : joined_with(baseline_with_known_entries);
}

}  // namespace weft
