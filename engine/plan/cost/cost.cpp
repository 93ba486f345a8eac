#include "engine/plan/cost/cost.h"

#include <algorithm>
#include <set>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/cost/nest.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

// Adds up the model's figures along the loops of a schedule, with the decisions that the schedule made.
class CostSum {
 public:
  CostSum(const Schedule& schedule, const Network& network, const CostModel& model)
      : schedule_(schedule), network_(network), model_(model) {}

  Cost sum() {
    const std::size_t last = schedule_.statements.size() - 1;
    std::size_t root = 0;
    for (std::size_t first = 0; first <= last;) {
      const StatementRange nest{first, last_sharer(schedule_, first, 0)};
      const std::vector<IndexId>& loops = schedule_.statements[first].loops;
      const RootReduction reduction = schedule_.roots[root++];
      const double before = cost_.ns;
      if (loops.empty()) {
        cost_.ns += model_.scalar_body(first);
      } else {
        const LoopPrice work = walk_loop(schedule_, model_, nest, 0, 1, [this](const auto&... of) { return loop(of...); });
        cost_.ns += model_.root(loops.front(), nest, work.iterations, work.ns, &reduction).ns;
      }
      if (nest.last < last) cost_.ns += model_.materialising_ns(0, nest, last);
      cost_.nests_ns.push_back(cost_.ns - before);
      first = nest.last + 1;
    }
    return std::move(cost_);
  }

 private:
  LoopDecision decision(std::size_t statement, std::size_t depth) const {
    const ScheduledStatement& scheduled = schedule_.statements[statement];
    LoopDecision decision;
    decision.vector = scheduled.vector && depth + 1 == scheduled.loops.size();
    for (const Intersection& intersection : scheduled.intersections) {
      if (intersection.index == scheduled.loops[depth]) decision.parts = intersection.parts;
    }
    return decision;
  }

  LoopPrice loop(Outside outside, IndexId index, StatementRange range, std::size_t depth, double entered) {
    const LoopDecision given = decision(range.first, depth);
    const LoopEstimate estimate = model_.loop(outside, index, range, model_.others(schedule_, range), &given);
    const double ns = estimate.ns + model_.drain(outside, index, range).ns;
    cost_.flops += entered * estimate.flops;
    cost_.loops.push_back({network_.indices[index].name, static_cast<std::uint32_t>(depth), static_cast<std::uint32_t>(range.first),
                           entered * estimate.iterations, entered * estimate.steps, entered * estimate.flops,
                           entered * estimate.bytes, entered * ns});
    return {estimate.iterations, ns};
  }

  const Schedule& schedule_;
  const Network& network_;
  const CostModel& model_;
  Cost cost_;
};

// Loops of one assignment, without conversions.
Cost loops_cost(const Schedule& schedule, const Problem& problem) {
  const CostModel model(contractions_of(schedule), problem);
  return CostSum(schedule, problem.network, model).sum();
}

// The assignments that a schedule stores, which run one after the other, each as if it were the whole evaluation: calls with its schedule,
// its problem, and its first statement in the whole. Joins are counted by the accesses of the network that was given; a part numbers its
// own. `scheduled` is the given network without what the schedule does not store.
template <class Visit>
void each_part(const Schedule& schedule, const Network& scheduled, const Problem& given, const std::vector<Occurrence>& counted,
               const Visit& visit) {
  const auto visit_part = [&](const Schedule& part, const Network& network, const std::vector<OperandFacts>& operands, std::size_t first) {
    if (given.options.joins.empty()) return visit(part, Problem{network, operands, given.options}, first);
    PlanOptions own = given.options;
    own.joins = renumbered(given.options.joins, counted, occurrences(network, operands));
    visit(part, Problem{network, operands, own}, first);
  };
  if (scheduled.assignments.size() == 1) return visit_part(schedule, scheduled, given.operands, 0);
  const auto parts = forest_parts(schedule, scheduled, given.operands);
  if (!parts) return;
  for (const ForestPart& part : *parts) visit_part(part.schedule, part.network, part.operands, part.first_statement);
}

Cost with_conversions(Cost cost, const Schedule& schedule, const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.converted) cost.conversion_ns += layout_ns(tensor, facts_of(operands, tensor.tensor), options.machine);
  }
  cost.ns += cost.conversion_ns / std::max(1.0, options.calls);
  return cost;
}

Cost whole_cost(Cost cost, const Schedule& schedule, const Problem& problem) {
  return with_memory(with_conversions(std::move(cost), schedule, problem.operands, problem.options), schedule, problem);
}

// What sparse results and intermediates hold is priced too, and follows from the whole of their products and from what these keep.
void add_uncounted_products(const Schedule& schedule, const Problem& problem, std::vector<JoinSet>& found) {
  const auto& [network, operands, options] = problem;
  const std::vector<Occurrence> all = occurrences(network, operands);
  for (std::size_t writer = 0; writer < schedule.statements.size(); ++writer) {
    if (!has_sparse_level(schedule.tensors[schedule.statements[writer].target.tensor].format)) continue;
    for (const JoinSet whole : {product_join(schedule, writer, all), written_join(schedule, writer, all)}) {
      for (const JoinSet join : joins_in(whole, all)) {
        const bool known = options.joins.contains(join) || std::ranges::find(found, join) != found.end();
        if (!known) found.push_back(join);
      }
    }
  }
}

// Whether the levels of an access say over which coordinates a loop goes, and whether any access of the statements that share it does.
bool drives(const ScheduledTensor& tensor, const ScheduledAccess& access, IndexId index, const Network& network) {
  for (std::size_t level = 0; level < tensor.format.order(); ++level) {
    const std::uint32_t mode = tensor.format.mode_order[level];
    if (access.indices[mode] != index || !is_sparse(tensor.format.levels[level].kind)) continue;
    if (tensor.role != TensorRole::operand || !network.tensors[tensor.tensor].is_located(mode)) return true;
  }
  return false;
}

bool is_driven(const Schedule& schedule, const LoopCost& loop, IndexId index, const Network& network) {
  const std::size_t last = last_sharer(schedule, loop.statement, loop.depth);
  for (std::size_t number = loop.statement; number <= last; ++number) {
    for (const ScheduledAccess& factor : schedule.statements[number].factors)
      if (drives(schedule.tensors[factor.tensor], factor, index, network)) return true;
  }
  return false;
}

}  // namespace

Cost time_cost(const Schedule& schedule, const Problem& problem, const CostModel& model) {
  const auto& [network, operands, options] = problem;
  return with_conversions(CostSum(schedule, network, model).sum(), schedule, operands, options);
}

Cost with_memory(Cost cost, const Schedule& schedule, const Problem& problem) {
  MemoryPlan memory = memory_plan(schedule, problem);
  cost.memory = std::move(memory.demands);
  cost.peak_bytes = memory.peak_bytes;
  cost.announced_bytes = memory.announced_bytes;
  return cost;
}

std::vector<std::uint64_t> uncounted_joins(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const auto missing_of = [](const Schedule& one, const Problem& of) {
    const CostModel model(contractions_of(one), of);
    static_cast<void>(CostSum(one, of.network, model).sum());
    std::vector<JoinSet> found = model.uncounted();
    add_uncounted_products(one, of, found);
    return found;
  };
  if (network.assignments.size() == 1) return missing_of(schedule, problem);
  // Of joins with what the run itself stores nothing is known before but what the operands in them let through.
  std::set<JoinSet> missing;
  const std::vector<Occurrence> counted = occurrences(network, operands);
  each_part(schedule, scheduled_network(schedule, network), problem, counted, [&](const Schedule& one, const Problem& of, std::size_t) {
    const std::vector<Occurrence> numbered = occurrences(of.network, of.operands);
    for (const JoinSet join : missing_of(one, of)) {
      for (const JoinSet part : joins_of_operands(join, numbered, counted)) {
        const auto set = renumbered(part, numbered, counted);
        if (set && !options.joins.contains(*set)) missing.insert(*set);
      }
    }
  });
  return {missing.begin(), missing.end()};
}

Cost cost(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (network.assignments.size() == 1) return whole_cost(loops_cost(schedule, problem), schedule, problem);
  const Network scheduled = scheduled_network(schedule, network);
  const std::vector<Occurrence> counted = options.joins.empty() ? std::vector<Occurrence>{} : occurrences(network, operands);
  Cost sum;
  each_part(schedule, scheduled, problem, counted, [&](const Schedule& part, const Problem& of, std::size_t first) {
    Cost cost = loops_cost(part, of);
    sum.ns += cost.ns;
    sum.flops += cost.flops;
    sum.nests_ns.insert(sum.nests_ns.end(), cost.nests_ns.begin(), cost.nests_ns.end());
    for (LoopCost& loop : cost.loops) {
      loop.statement += static_cast<std::uint32_t>(first);
      sum.loops.push_back(std::move(loop));
    }
  });
  // Inlining renumbers the accesses of what is not stored.
  PlanOptions own = options;
  own.joins = renumbered(options.joins, counted, occurrences(scheduled, operands));
  return whole_cost(std::move(sum), schedule, Problem{scheduled, operands, own});
}

Cost predicted_cost(const Schedule& schedule, const Problem& problem, unsigned threads) {
  const auto& [network, operands, options] = problem;
  PlanOptions these = options;
  these.machine.threads = threads;
  if (threads > 1) return cost(schedule, Problem{network, operands, these});
  Schedule serial = schedule;
  std::ranges::fill(serial.roots, RootReduction::serial);
  return cost(serial, Problem{network, operands, these});
}

double unexpected_ns(const Schedule& schedule, const Cost& cost, const Network& network) {
  constexpr double step_ns = 1;  // of a loop that is not expected to take any
  double ns = 0;
  for (const LoopCost& loop : cost.loops) {
    const auto index = std::ranges::find(network.indices, loop.index, &Index::name);
    if (index == network.indices.end() || loop.statement >= schedule.statements.size()) continue;
    const double missing = static_cast<double>(index->extent) - std::max(loop.steps, loop.iterations);
    if (missing <= 0 || is_driven(schedule, loop, static_cast<IndexId>(index - network.indices.begin()), network)) continue;
    ns += missing * (loop.steps > 0 ? loop.ns / loop.steps : step_ns);
  }
  return ns;
}

}  // namespace weft
