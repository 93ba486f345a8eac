#include <algorithm>
#include <limits>

#include "engine/plan/cost_model.h"
#include "engine/plan/forest.h"
#include "engine/plan/memory_demand.h"
#include "engine/plan/open_layouts.h"

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
      const StatementRange nest{first, last_sharer(first, last, 0)};
      const std::vector<IndexId>& loops = schedule_.statements[first].loops;
      const RootReduction reduction = schedule_.roots[root++];
      if (loops.empty()) {
        cost_.ns += model_.scalar_body(first);
      } else {
        const Nest work = loop(nest, nest.last, 0, 1);
        cost_.ns += model_.root(loops.front(), nest, work.iterations, work.ns, &reduction).ns;
      }
      if (nest.last < last) cost_.ns += model_.crossing(0, nest, last);
      first = nest.last + 1;
    }
    return std::move(cost_);
  }

 private:
  struct Nest {
    double iterations = 0;  // per entry, as the time
    double ns = 0;
  };

  std::size_t last_sharer(std::size_t first, std::size_t last, std::size_t loop) const {
    while (first < last && schedule_.statements[first + 1].fused > loop) ++first;
    return first;
  }

  IndexSet bound_at(StatementRange range, std::size_t depth) const {
    return model_.bound_by(schedule_.statements[range.first].loops, depth, range);
  }

  LoopDecision decision(std::size_t statement, std::size_t depth) const {
    const ScheduledStatement& scheduled = schedule_.statements[statement];
    LoopDecision decision;
    decision.vector = scheduled.vector && depth + 1 == scheduled.loops.size();
    for (const Intersection& meeting : scheduled.intersections) {
      if (meeting.index == scheduled.loops[depth]) decision.parts = meeting.parts;
    }
    return decision;
  }

  // The loop at `depth` that a range of statements shares, beside others in the loops around it; entered so many times
  // during the run.
  Nest loop(StatementRange range, std::size_t beside, std::size_t depth, double entered) {
    const IndexId index = schedule_.statements[range.first].loops[depth];
    const LoopDecision given = decision(range.first, depth);
    const IndexSet bound = bound_at(range, depth);
    const LoopEstimate estimate = model_.loop(bound, index, range, beside, &given);
    const double drained = model_.drain(bound, index, range).ns;
    cost_.flops += entered * estimate.flops;
    cost_.loops.push_back({network_.indices[index].name, static_cast<std::uint32_t>(depth),
                           static_cast<std::uint32_t>(range.first), entered * estimate.iterations,
                           entered * estimate.steps, entered * estimate.flops, entered * estimate.bytes,
                           entered * (estimate.ns + drained)});
    const double below = inside(range, depth + 1, entered * estimate.iterations);
    return {estimate.iterations, estimate.ns + drained + estimate.iterations * below};
  }

  // Everything below the first `depth` loops, which the range shares, per entry.
  double inside(StatementRange range, std::size_t depth, double entered) {
    double ns = 0;
    for (std::size_t first = range.first; first <= range.last;) {
      std::size_t last = first;
      if (schedule_.statements[first].loops.size() > depth) {
        last = last_sharer(first, range.last, depth);
        ns += loop({first, last}, range.last, depth, entered).ns;
      }
      if (last < range.last) ns += model_.crossing(bound_at({first, last}, depth), {first, last}, range.last);
      first = last + 1;
    }
    return ns;
  }

  const Schedule& schedule_;
  const Network& network_;
  const CostModel& model_;
  Cost cost_;
};

// Loops of one assignment, without conversions.
Cost loops_cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                const PlanOptions& options) {
  const CostModel model(schedule, network, operands, options, std::vector<bool>(schedule.tensors.size(), false));
  return CostSum(schedule, network, model).sum();
}

// Stored assignments run one after the other.
Cost forest_loops_cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                       const PlanOptions& options) {
  Cost sum;
  const auto parts = forest_parts(schedule, network, operands);
  if (!parts) {
    sum.ns = std::numeric_limits<double>::infinity();  // check() says why
    return sum;
  }
  for (const ForestPart& part : *parts) {
    Cost cost = loops_cost(part.schedule, part.network, part.operands, options);
    sum.ns += cost.ns;
    sum.flops += cost.flops;
    for (LoopCost& loop : cost.loops) {
      loop.statement += static_cast<std::uint32_t>(part.first_statement);
      sum.loops.push_back(std::move(loop));
    }
  }
  return sum;
}

// With conversions and memory.
Cost whole_cost(Cost cost, const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                const PlanOptions& options) {
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.converted) cost.conversion_ns += layout_ns(tensor, facts_of(operands, tensor.tensor), options.machine);
  }
  cost.ns += cost.conversion_ns / std::max(1.0, options.calls);
  MemoryPlan memory = memory_plan(schedule, network, operands, options);
  cost.memory = std::move(memory.demands);
  cost.peak_bytes = memory.peak_bytes;
  cost.announced_bytes = memory.announced_bytes;
  return cost;
}

Cost scheduled_cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                    const PlanOptions& options) {
  Cost loops = network.assignments.size() == 1 ? loops_cost(schedule, network, operands, options)
                                               : forest_loops_cost(schedule, network, operands, options);
  return whole_cost(std::move(loops), schedule, network, operands, options);
}

}  // namespace

Cost cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
          const CostModel& model) {
  return whole_cost(CostSum(schedule, network, model).sum(), schedule, network, operands, options);
}

std::vector<std::uint64_t> uncounted_joins(const Schedule& schedule, const Network& network,
                                           const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  if (network.assignments.size() != 1) return {};
  const CostModel model(schedule, network, operands, options, std::vector<bool>(schedule.tensors.size(), false));
  static_cast<void>(CostSum(schedule, network, model).sum());
  return model.uncounted();
}

Cost cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
          const PlanOptions& options) {
  if (network.assignments.size() == 1) return scheduled_cost(schedule, network, operands, options);
  return scheduled_cost(schedule, scheduled_network(schedule, network), operands, options);
}

}  // namespace weft
