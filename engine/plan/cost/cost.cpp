#include "engine/plan/cost/cost.h"

#include <algorithm>

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
        const NestTime work = walk_loop(schedule_, model_, nest, 0, 1, [this](const auto&... of) { return loop(of...); });
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

// Joins are counted by the accesses of the network that was given; a part numbers its own.
PlanOptions options_of_part(const PlanOptions& options, const std::vector<Occurrence>& counted, const Network& part,
                            const std::vector<OperandFacts>& operands) {
  PlanOptions own = options;
  own.joins = renumbered(options.joins, counted, occurrences(part, operands));
  return own;
}

// Stored assignments run one after the other.
Cost forest_loops_cost(const Schedule& schedule, const Problem& problem, const std::vector<Occurrence>& counted) {
  const auto& [network, operands, options] = problem;
  Cost sum;
  const auto parts = forest_parts(schedule, network, operands);
  if (!parts) return sum;
  for (const ForestPart& part : *parts) {
    const bool joined = !options.joins.empty();
    const PlanOptions own = joined ? options_of_part(options, counted, part.network, part.operands) : PlanOptions();
    Cost cost = loops_cost(part.schedule, Problem{part.network, part.operands, joined ? own : options});
    sum.ns += cost.ns;
    sum.flops += cost.flops;
    sum.nests_ns.insert(sum.nests_ns.end(), cost.nests_ns.begin(), cost.nests_ns.end());
    for (LoopCost& loop : cost.loops) {
      loop.statement += static_cast<std::uint32_t>(part.first_statement);
      sum.loops.push_back(std::move(loop));
    }
  }
  return sum;
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

}  // namespace

Cost::Cost() = default;
Cost::Cost(const Cost&) = default;
Cost::Cost(Cost&&) noexcept = default;
Cost& Cost::operator=(const Cost&) = default;
Cost& Cost::operator=(Cost&&) noexcept = default;
Cost::~Cost() = default;

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

namespace {

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

}  // namespace

std::vector<std::uint64_t> uncounted_joins(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  std::vector<JoinSet> missing;
  const auto missing_of = [&](const Schedule& one, const Network& alone, const std::vector<OperandFacts>& known, const PlanOptions& own) {
    const CostModel model(contractions_of(one), Problem{alone, known, own});
    static_cast<void>(CostSum(one, alone, model).sum());
    std::vector<JoinSet> found = model.uncounted();
    add_uncounted_products(one, Problem{alone, known, own}, found);
    return found;
  };
  if (network.assignments.size() == 1) return missing_of(schedule, network, operands, options);
  // Of joins with what the run itself stores nothing is known before but what the operands in them let through.
  const std::vector<Occurrence> counted = occurrences(network, operands);
  const auto add_part = [&](const Schedule& one, const Network& alone, const std::vector<OperandFacts>& known) {
    const PlanOptions own = options_of_part(options, counted, alone, known);
    const std::vector<Occurrence> numbered = occurrences(alone, known);
    for (const JoinSet join : missing_of(one, alone, known, own)) {
      for (const JoinSet part : joins_of_operands(join, numbered, counted)) {
        const auto set = renumbered(part, numbered, counted);
        if (set && !options.joins.contains(*set)) missing.push_back(*set);
      }
    }
  };
  const Network scheduled = scheduled_network(schedule, network);
  if (scheduled.assignments.size() == 1) {
    add_part(schedule, scheduled, operands);
  } else if (const auto parts = forest_parts(schedule, scheduled, operands)) {
    for (const ForestPart& part : *parts) add_part(part.schedule, part.network, part.operands);
  }
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

Cost cost(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (network.assignments.size() == 1) {
    return whole_cost(loops_cost(schedule, problem), schedule, problem);
  }
  const Network scheduled = scheduled_network(schedule, network);
  const std::vector<Occurrence> counted = options.joins.empty() ? std::vector<Occurrence>{} : occurrences(network, operands);
  Cost loops = scheduled.assignments.size() > 1 ? forest_loops_cost(schedule, Problem{scheduled, operands, options}, counted)
               : options.joins.empty()
                   ? loops_cost(schedule, Problem{scheduled, operands, options})
                   : loops_cost(schedule, Problem{scheduled, operands, options_of_part(options, counted, scheduled, operands)});
  return whole_cost(std::move(loops), schedule, Problem{scheduled, operands, options});
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

namespace {

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
