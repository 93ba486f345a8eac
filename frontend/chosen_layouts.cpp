#include "frontend/chosen_layouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/block_fill.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr double least_fill = 0.75;
constexpr double least_strip_fill = 0.2;  ///< a vector of a strip is read as a whole, where entries of rows are read one by one
constexpr double least_gain = 0.95;       ///< of the predicted time
constexpr std::uint64_t least_entries = 4096;

/// Whether a place without an entry adds nothing to any result: they are dense, and zeros meet finite values alone.
bool may_have_places(const Prepared& plain, const NamedFacts& operands, const std::string& name, const Threads& threads) {
  for (const ScheduledTensor& scheduled : plain.plan.schedule.tensors) {
    if (scheduled.role == TensorRole::operand) continue;
    if (scheduled.like || scheduled.delivered || !scheduled.format.all_dense()) return false;
  }
  return std::ranges::all_of(operands, [&](const auto& operand) {
    return operand.first == name || (operand.second.stored != nullptr && finite_values(*operand.second.stored, threads));
  });
}

/// What it takes to store the matrix in blocks, as conversions are priced.
double conversion_ns(const OperandFacts& operand, const Machine& machine) {
  return machine.convert_entry * static_cast<double>(operand.stored->nnz());
}

bool is_worth_a_look(const OperandFacts& operand, const Prepared& plain, double calls, const Machine& machine) {
  if (operand.stored == nullptr || operand.format.layout || operand.format.all_dense() || operand.stored->order() != 2) return false;
  return operand.stored->nnz() >= least_entries && calls * plain.plan.cost.ns > conversion_ns(operand, machine);
}

/// The fullest groups of rows or columns, and the largest full blocks: the former gather least, the latter store least. And the strips
/// of diagonals of the fewest vectors, a coordinate counted as one.
std::vector<BlockFill> candidates(std::vector<BlockFill> fills) {
  constexpr double lanes = 8;
  std::vector<BlockFill> strips;
  std::ranges::copy_if(fills, std::back_inserter(strips), [](const BlockFill& each) { return each.diagonal && each.fill >= least_strip_fill; });
  const auto vectors = [](const BlockFill& each) { return (1 + lanes / static_cast<double>(each.rows)) / each.fill; };
  std::erase_if(fills, [](const BlockFill& each) { return each.diagonal || each.fill < least_fill; });
  const auto places = [](const BlockFill& each) { return each.fill * each.fill * static_cast<double>(each.rows * each.columns); };
  std::ranges::sort(fills, std::greater<>(), places);
  std::vector<BlockFill> chosen;
  const auto take = [&](bool groups) {
    const auto found = std::ranges::find_if(fills, [&](const BlockFill& each) { return (each.rows > 1 && each.columns == 1) == groups; });
    if (found != fills.end()) chosen.push_back(*found);
  };
  take(true);
  take(false);
  if (const auto least = std::ranges::min_element(strips, {}, vectors); least != strips.end()) chosen.push_back(*least);
  return chosen;
}

}  // namespace

Expected<ChosenLayouts> chosen_layouts(const PlannedRequest& request,
                                       const std::function<Expected<PricedPlan>(const EvaluateOptions&)>& plan_with) {
  const auto& [engine, machine, operands, options, plain] = request;
  ChosenLayouts best{options, {}, {}};
  const bool free = options.schedule.empty() && options.objective.empty() && !options.unfused && !options.prove;
  if (!free || options.calls <= 1 || engine.strict_fp || plain.exposure) return best;
  double ns = plain.plan.cost.ns;
  for (const auto& [name, operand] : operands) {
    const bool used = plain.report.operands.contains(name);
    if (!used || !is_worth_a_look(operand, plain, options.calls, machine)) continue;
    const bool changes = std::ranges::find(options.changing, name) != options.changing.end() ||
                         std::ranges::find(options.changing_patterns, name) != options.changing_patterns.end();
    if (changes || options.formats.contains(name) || !may_have_places(plain, operands, name, engine.resources.threads)) continue;
    const auto fills = block_fills(*operand.stored, engine.resources);
    if (!fills) return std::unexpected(fills.error());
    std::string others;
    std::string winner;
    for (const BlockFill& block : candidates(*fills)) {
      EvaluateOptions tried = best.options;
      tried.why = false;
      auto format = parse_format(block.layout());
      if (!format) return std::unexpected(format.error());
      format->scalar = operand.format.scalar;
      tried.formats[name] = *format;
      const auto planned = plan_with(tried);
      // Blocks that memory has no room for are none.
      if (!planned && planned.error().kind == ErrorKind::resource) continue;
      if (!planned) return std::unexpected(planned.error());
      const double priced = planned->ns + conversion_ns(operand, machine) / options.calls;
      const std::string told = fmt::format("{}, {:.0f} % full, {:.3g} us a call", block.words(), 100 * block.fill, priced * 1e-3);
      if (priced > least_gain * ns) {
        others += "; not " + told;
        continue;
      }
      if (!winner.empty()) others += "; not " + winner;
      ns = priced;
      winner = told;
      best.options.formats[name] = *format;
      best.plan_cache = planned->plan_cache;
    }
    if (winner.empty()) continue;
    best.reason += fmt::format("{}{} is stored in {}, conversion included, instead of {:.3g} us{}", best.reason.empty() ? "" : ". ", name,
                               winner, plain.plan.cost.ns * 1e-3, others);
  }
  return best;
}

}  // namespace weft
