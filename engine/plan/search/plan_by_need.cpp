#include "engine/plan/search/plan_by_need.h"

#include <algorithm>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

Expected<void> count_joins_of(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                              PlanOptions& options, JoinCounter& counter) {
  // With some counted, a cost may ask for more.
  for (;;) {
    const std::vector<JoinSet> missing = uncounted_joins(schedule, Problem{network, operands, options});
    if (missing.empty()) return {};
    for (const JoinSet join : missing) {
      const auto ratio = counter.ratio(join);
      if (!ratio) return std::unexpected(ratio.error());
      options.joins[join] = quantised(*ratio);
    }
  }
}

namespace {

constexpr double few_elements = 4096;  // of a result: stored one way or the other, it takes no time
constexpr double certainly_sparse = sparse_fill / 10;

// Whether independence can be wrong about which format a result without a format should have: on diagonals, and where several
// sparse accesses are joined and none of them is a mask. It may expect too many entries, of meshes, and too few of results
// no longer than the operands: every vertex of a mesh has triangles.
bool may_be_wrong(const Assignment& assignment, const std::vector<Occurrence>& sparse, const std::vector<OperandFacts>& operands,
                  const ProductEstimate& estimate) {
  const IndexSet restricted = index_set(assignment.result.indices) & estimate.restricted();
  double elements = 1;
  for (const IndexId index : assignment.result.indices) elements *= estimate.extent(index);
  if (restricted == 0 || elements <= few_elements) return false;
  const auto is_diagonal = [](const Occurrence& one) { return one.indices.size() > members(index_set(one.indices)).size(); };
  if (std::ranges::any_of(sparse, is_diagonal)) return true;
  const bool masked = std::ranges::any_of(sparse, [&](const Occurrence& one) { return index_set(one.indices) == restricted; });
  if (sparse.size() < 2 || masked) return false;
  const bool is_short = std::ranges::any_of(sparse, [&](const Occurrence& one) {
    return elements <= facts_of(operands, one.tensor).statistics.nnz();
  });
  return is_short || estimate.fill(restricted) > certainly_sparse;
}

// Entries of the results that no format is asked for and whose factors are all there, where their formats depend on them.
Expected<void> count_entries(const Network& network, const std::vector<OperandFacts>& operands, PlanOptions& options,
                             JoinCounter& counter) {
  // Many assignments, which are planned in parts, have more together.
  if (network.indices.size() > most_planned_indices) return {};
  const std::vector<Occurrence> all = occurrences(network, operands);
  for (const Assignment& assignment : network.assignments) {
    const std::string& name = network.tensors[assignment.result.tensor].name;
    if (options.result_formats.contains(name) || options.result_patterns.contains(name)) continue;
    const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
    if (!std::ranges::all_of(factors, [&](const TensorAccess& factor) { return has_facts(operands, factor.tensor); })) continue;
    const JoinSet join = join_of(factors, all);
    std::vector<Occurrence> sparse = all;
    std::erase_if(sparse, [&](const Occurrence& one) { return (join & one.all()) == 0; });
    if (!may_be_wrong(assignment, sparse, operands, ProductEstimate(network, operands, factors))) continue;
    const auto counted = counter.entries(join, index_set(assignment.result.indices));
    if (!counted) return std::unexpected(counted.error());
    if (*counted) options.entries[name] = quantised(**counted);
  }
  return {};
}

// A plan with uncounted joins looks cheap for that alone: the last choice need not be better than one before it.
Plan cheapest_of(std::vector<Plan> plans, const Problem& problem, const std::string& why_not) {
  for (Plan& plan : plans) {
    plan.cost = cost(plan.schedule, problem);
    plan.optimal = Optimal::none;
    plan.proof = proof_of(Optimal::none, false, why_not);
    plan.runner_up.reset();
    plan.runner_up_cost.reset();
    plan.why.clear();
  }
  return std::move(*std::ranges::min_element(plans, {}, [](const Plan& plan) { return plan.cost.ns; }));
}

// What earlier plans depend on is counted now: one with mark arrays, which are not all tried, may be cheaper than the last.
Plan cheapest_seen(Plan last, std::vector<Plan> seen, const Problem& problem) {
  if (seen.empty() || problem.options.objective == Objective::workspace_order) return last;
  Plan earlier = cheapest_of(std::move(seen), problem, "it was found before all joins were counted");
  if (earlier.cost.ns >= last.cost.ns || earlier.cost.announced_bytes > usable_memory(problem.options)) return last;
  earlier.runner_up = std::move(last.schedule);
  earlier.runner_up_cost = std::move(last.cost);
  earlier.why = why_it_lost(earlier, problem.network);
  return earlier;
}

}  // namespace

Expected<Plan> plan_counted(const Network& network, const std::vector<OperandFacts>& operands, PlanOptions& options,
                            JoinCounter& counter, const std::function<Expected<Plan>(const PlanOptions&)>& planner) {
  if (auto counted = count_entries(network, operands, options, counter); !counted) return std::unexpected(counted.error());
  constexpr int most_rounds = 16;
  std::vector<Plan> seen;  // that depend on nothing uncounted
  // The joins to count are found without a proof, which would be one of other prices.
  bool settled = !options.prove;
  for (int round = 0;; ++round) {
    PlanOptions with = options;
    with.prove = options.prove && settled;
    auto planned = planner(with);
    if (!planned) return planned;
    const std::size_t known = options.joins.size();
    if (auto counted = count_joins_of(planned->schedule, network, operands, options, counter); !counted) {
      return std::unexpected(counted.error());
    }
    if (options.joins.size() == known) {
      if (settled) return cheapest_seen(std::move(*planned), std::move(seen), Problem{network, operands, options});
      settled = true;
      continue;
    }
    seen.push_back(std::move(*planned));
    if (round >= most_rounds) {
      return cheapest_of(std::move(seen), Problem{network, operands, options},
                         "a plan that looks cheaper depends on joins that were not counted");
    }
    if (!seen.back().runner_up) continue;
    if (auto counted = count_joins_of(*seen.back().runner_up, network, operands, options, counter); !counted) {
      return std::unexpected(counted.error());
    }
  }
}

std::vector<OperandFacts> assumed_finite(std::vector<OperandFacts> operands) {
  for (OperandFacts& operand : operands) {
    if (!operand.counted) operand.counted = OperandFacts::Counted{operand.statistics, operand.bytes};
    operand.statistics = operand.statistics.with_finite(operand.looks != Looks::never);
  }
  return operands;
}

std::vector<OperandFacts> as_they_are(std::vector<OperandFacts> operands) {
  for (OperandFacts& operand : operands)
    operand.statistics = operand.statistics.with_finite(operand.looks != Looks::never && operand.exact().finite());
  return operands;
}

std::set<TensorId> finite_operands_needed(const Schedule& schedule, const Network& given, const std::vector<OperandFacts>& operands) {
  const Network network = scheduled_network(schedule, given);
  // Absent entries annihilate only where these operands are read.
  std::vector<std::uint32_t> cannot_tell;
  for (std::uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    const ScheduledTensor& declared = schedule.tensors[tensor];
    if (declared.role != TensorRole::intermediate) continue;
    if (declared.format.order() == 0 || !knows_its_entries(schedule, network, tensor)) cannot_tell.push_back(tensor);
  }
  std::set<TensorId> needed;
  if (cannot_tell.empty()) return needed;
  std::vector<OperandFacts> known = operands;
  const auto annihilated = [&] {
    for (OperandFacts& operand : known) operand.statistics = operand.statistics.with_finite(needed.contains(operand.tensor));
    const auto others = annihilated_tensors(schedule, finite_tensors(schedule, known));
    std::vector<bool> told;
    for (const std::uint32_t tensor : cannot_tell) told.push_back(others[tensor].has_value());
    return told;
  };
  for (const OperandFacts& operand : operands) {
    if (operand.statistics.finite()) needed.insert(operand.tensor);
  }
  const std::vector<bool> expected = annihilated();
  for (const OperandFacts& operand : operands) {
    if (needed.erase(operand.tensor) > 0 && annihilated() != expected) needed.insert(operand.tensor);
  }
  return needed;
}

std::vector<OperandFacts> vouched_for(std::vector<OperandFacts> operands, const Network& network, const std::set<std::string>& names) {
  for (OperandFacts& operand : operands) {
    if (!names.contains(network.tensors[operand.tensor].name)) continue;
    operand.looks = Looks::once;
    operand.statistics = operand.statistics.with_finite(true);
    if (operand.counted) operand.counted->statistics = operand.counted->statistics.with_finite(true);
  }
  return operands;
}

namespace {

constexpr double dear_share = 0.02;  // of a run

// Nanoseconds that a run takes to look through an operand that changes; through those of several that do.
double looking_ns(const OperandFacts& operand, const Machine& machine) {
  if (operand.looks != Looks::always) return 0;
  const double values = operand.statistics.nnz() * static_cast<double>(scalar_bytes(operand.format.scalar));
  const double bytes = std::min(values, static_cast<double>(operand.exact_bytes()));
  return bytes / machine.stream[machine.cache_level(bytes)];
}

double looking_ns(const std::set<TensorId>& needed, const std::vector<OperandFacts>& operands, const Machine& machine) {
  double ns = 0;
  for (const OperandFacts& operand : operands) {
    if (needed.contains(operand.tensor)) ns += looking_ns(operand, machine);
  }
  return ns;
}

}  // namespace

std::set<TensorId> dear_looks(const std::set<TensorId>& needed, const std::vector<OperandFacts>& operands, double ns,
                              const Machine& machine) {
  std::set<TensorId> dear;
  for (const OperandFacts& operand : operands) {
    if (needed.contains(operand.tensor) && looking_ns(operand, machine) > dear_share * ns) dear.insert(operand.tensor);
  }
  return dear;
}

std::vector<OperandFacts> without_looks(std::vector<OperandFacts> operands, const std::set<TensorId>& at) {
  for (OperandFacts& operand : operands) {
    if (!at.contains(operand.tensor)) continue;
    operand.looks = Looks::never;
    operand.statistics = operand.statistics.with_finite(false);
  }
  return operands;
}

std::set<TensorId> operands_of(const Schedule& schedule, std::uint32_t tensor) {
  if (schedule.tensors[tensor].role == TensorRole::operand) return {schedule.tensors[tensor].tensor};
  std::set<TensorId> found;
  for (const ScheduledAccess& factor : schedule.statements[writer_of(schedule, tensor)].factors)
    found.merge(operands_of(schedule, factor.tensor));
  return found;
}

bool are_finite(const std::set<TensorId>& needed, std::vector<OperandFacts>& operands) {
  bool finite = true;
  for (OperandFacts& operand : operands) {
    if (!needed.contains(operand.tensor)) continue;
    Statistics& exact = operand.counted ? operand.counted->statistics : operand.statistics;
    exact = exact.with_finite(exact.finite());
    finite = finite && exact.finite();
  }
  return finite;
}

Expected<Plan> plan_by_need(std::vector<OperandFacts>& operands, const Network& network, const Machine& machine,
                            const std::function<Expected<Plan>()>& planner) {
  operands = assumed_finite(std::move(operands));
  Expected<Plan> plan = planner();
  if (!plan) return plan;
  std::set<TensorId> needed = finite_operands_needed(plan->schedule, network, operands);
  std::set<TensorId> dear = dear_looks(needed, operands, plan->cost.ns, machine);
  double least_ns = plan->cost.ns + looking_ns(needed, operands, machine);
  std::vector<OperandFacts> chosen = operands;
  while (!dear.empty()) {
    operands = without_looks(std::move(operands), dear);
    Expected<Plan> other = planner();
    if (!other) break;
    std::set<TensorId> rests_on = finite_operands_needed(other->schedule, network, operands);
    dear = dear_looks(rests_on, operands, other->cost.ns, machine);
    const double ns = other->cost.ns + looking_ns(rests_on, operands, machine);
    if (ns >= least_ns) continue;
    least_ns = ns;
    plan = std::move(other);
    needed = std::move(rests_on);
    chosen = operands;
  }
  operands = std::move(chosen);
  if (are_finite(needed, operands)) return plan;
  operands = as_they_are(std::move(operands));
  return planner();
}

}  // namespace weft
