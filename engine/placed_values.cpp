#include "engine/placed_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/plan/estimate/operand_facts.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

// Of values that are fetched ahead. Nanoseconds per entry that were measured, and those of this price, on one thread: gathered 2.4 (2.6)
// from the last cache and 5.4 (6.1) from memory; read by MTTKRP 1.3 (1.7), by SpMV from memory 5.9 (5.2), by SpMM beside a factor that
// fills the cache 6.3 (5.2).
constexpr double share_of_gather = 0.5;

/// Every position of the last level is an entry, whose value a conversion moves.
bool has_places(const Format& format) {
  return !format.layout && format.order() > 0 &&
         (is_compressed(format.levels.back().kind) || is_per_parent(format.levels.back().kind)) &&
         std::ranges::none_of(format.levels, [](const Level& level) { return level.strided || has_gaps(level.kind); });
}

/// How often the innermost of the access's loops runs.
double visits(const Plan& plan, std::size_t statement, const ScheduledAccess& access) {
  const ScheduledStatement& reader = plan.schedule.statements[statement];
  std::size_t depth = 0;
  for (std::size_t loop = 0; loop < reader.loops.size(); ++loop)
    if (std::ranges::find(access.indices, reader.loops[loop]) != access.indices.end()) depth = loop;
  while (statement > 0 && depth < plan.schedule.statements[statement].fused) --statement;
  for (const LoopCost& loop : plan.cost.loops)
    if (loop.statement == statement && loop.depth == depth) return loop.iterations;
  return 0;
}

/// All that the nests touch which read a tensor: operands, and results that are dense.
double bytes_beside(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands, std::uint32_t tensor) {
  const Schedule& schedule = plan.schedule;
  std::set<std::uint32_t> touched;
  for (std::size_t first = 0, last = 0; first < schedule.statements.size(); first = last) {
    std::set<std::uint32_t> of_nest;
    do {
      of_nest.insert(schedule.statements[last].target.tensor);
      for (const ScheduledAccess& factor : schedule.statements[last].factors) of_nest.insert(factor.tensor);
      ++last;
    } while (last < schedule.statements.size() && schedule.statements[last].fused > 0);
    if (of_nest.contains(tensor)) touched.merge(of_nest);
  }
  double bytes = 0;
  for (const std::uint32_t number : touched) {
    const ScheduledTensor& scheduled = schedule.tensors[number];
    if (scheduled.role == TensorRole::operand) {
      bytes += stored_bytes(scheduled.format, facts_of(operands, scheduled.tensor).statistics);
    } else if (scheduled.role == TensorRole::result && scheduled.format.all_dense()) {
      double elements = scalar_bytes(scheduled.format.scalar);
      for (const std::uint64_t extent : network.tensors[scheduled.tensor].extents) elements *= static_cast<double>(extent);
      bytes += elements;
    }
  }
  return bytes;
}

}  // namespace

std::vector<PlacedValues> placed_values(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                        const Machine& machine) {
  std::vector<PlacedValues> found;
  for (std::uint32_t number = 0; number < plan.schedule.tensors.size(); ++number) {
    const ScheduledTensor& scheduled = plan.schedule.tensors[number];
    if (scheduled.role != TensorRole::operand || !has_places(scheduled.format)) continue;
    const auto known = std::ranges::find(operands, scheduled.tensor, &OperandFacts::tensor);
    if (known == operands.end() || !known->changes || known->format.scalar != scheduled.format.scalar) continue;
    if (!scheduled.converted && !known->laid_out) continue;
    const double entries = known->statistics.nnz();
    const double value_bytes = scalar_bytes(scheduled.format.scalar);
    PlacedValues placed{.tensor = number};
    placed.place_bits = static_cast<std::uint8_t>(position_bits(static_cast<std::uint64_t>(known->exact().nnz())));
    const double place_ns = placed.place_bits / 8 / machine.stream[3];
    const auto gather_ns = [&](double bytes) { return share_of_gather * machine.gather[machine.cache_level(bytes)] + place_ns; };
    const double place_bytes = entries * placed.place_bits / 8;
    placed.gathering_ns = entries * (gather_ns(entries * value_bytes + place_bytes) + 2 * value_bytes / machine.stream[3]);
    const double reading_ns = gather_ns(bytes_beside(network, plan, operands, number) + place_bytes);
    for (std::size_t statement = 0; statement < plan.schedule.statements.size(); ++statement) {
      for (const ScheduledAccess& factor : plan.schedule.statements[statement].factors) {
        if (factor.tensor == number) placed.reading_ns += visits(plan, statement, factor) * reading_ns;
      }
    }
    found.push_back(placed);
  }
  return found;
}

std::string explanation(const PlacedValues& placed, const Schedule& schedule) {
  const std::string& name = schedule.tensors[placed.tensor].name;
  const auto us = [](double ns) { return fmt::format("{:.3g} us", ns * 1e-3); };
  if (placed.reads_through())
    return fmt::format("values of {}, which change, are read through their places: {} more a run, instead of {} to gather them before it",
                       name, us(placed.reading_ns), us(placed.gathering_ns));
  return fmt::format("values of {}, which change, are gathered before each run: {}, instead of {} more to read them through their places",
                     name, us(placed.gathering_ns), us(placed.reading_ns));
}

}  // namespace weft
