#include "engine/plan/search/plan_counted.h"

#include <algorithm>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/estimate/quantise.h"
#include "engine/plan/schedule/result_format.h"

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

}  // namespace weft
