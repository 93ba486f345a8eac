#include "engine/lowering.h"

#include "engine/plan/schedule/check.h"
#include "engine/plan/search/plan_by_need.h"

namespace weft {
namespace {

Expected<Lowering> lowered_for(const Network& network, const Schedule& schedule, const std::vector<OperandFacts>& operands,
                               const LoweringFacts& more) {
  // What one nest leaves to the next is as finite there as within one nest.
  auto nests = weft::lower(schedule, network, finite_tensors(schedule, operands), more);
  if (!nests) return std::unexpected(nests.error());
  std::set<TensorId> finite = finite_operands_needed(schedule, network, operands);
  for (const LoweredNest& nest : *nests) {
    for (const loop::Fact& fact : nest.program.facts) {
      if (const auto* stated = std::get_if<loop::FiniteFact>(&fact)) finite.merge(operands_of(schedule, nest.tensors[stated->storage]));
    }
  }
  return Lowering{std::move(*nests), std::move(finite)};
}

}  // namespace

Expected<Lowering> lowering(const Network& network, const Plan& plan, std::vector<OperandFacts> operands, const LoweringFacts& more,
                            const Machine& machine) {
  const Schedule& schedule = plan.schedule;
  operands = assumed_finite(std::move(operands));
  auto made = lowered_for(network, schedule, operands, more);
  if (!made) return made;
  // Facts that the schedule does not rest on only spare a number its flag.
  std::set<TensorId> dear = dear_looks(made->finite, operands, plan.cost.ns, machine);
  for (const TensorId needed : finite_operands_needed(schedule, network, operands)) dear.erase(needed);
  if (!dear.empty()) {
    operands = without_looks(std::move(operands), dear);
    made = lowered_for(network, schedule, operands, more);
    if (!made) return made;
  }
  if (are_finite(made->finite, operands)) return made;
  operands = as_they_are(std::move(operands));
  return lowered_for(network, schedule, operands, more);
}

}  // namespace weft
