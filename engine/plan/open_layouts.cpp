#include "engine/plan/open_layouts.h"

#include "engine/plan/binding.h"
#include "engine/plan/complete.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/statements.h"
#include "runtime/dense_levels.h"
#include "runtime/open_levels.h"

namespace weft {
namespace {

// A position of the dense levels, or an entry above them, beside an entry that is sorted and rebuilt.
constexpr double share_of_conversion = 1.0 / 16;
constexpr double most_positions_per_entry = 16;

double positions(const Format& format, std::size_t levels, const Statistics& statistics) {
  double product = 1;
  for (std::size_t level = 0; level < levels; ++level) {
    product *= static_cast<double>(statistics.extents()[format.mode_order[level]]);
  }
  return product;
}

double entries(const Format& format, std::size_t levels, const Statistics& statistics) {
  ModeSet modes = 0;
  for (std::size_t level = 0; level < levels; ++level) modes |= ModeSet{1} << format.mode_order[level];
  return statistics.distinct(modes);
}

/// The layouts that an operand can be opened to, one more level dense each.
std::vector<Format> openings(const OperandFacts& operand) {
  std::vector<Format> found;
  if (!may_be_converted(operand)) return found;
  Format format = operand.format;
  for (std::size_t level = 0; level + 1 < format.order(); ++level) {
    const LevelKind kind = format.levels[level].kind;
    if (kind != LevelKind::dense && kind != LevelKind::compressed) break;
    format.levels[level] = Level{};
    const double room = positions(format, level + 1, operand.statistics);
    if (room > most_positions_per_entry * entries(format, level + 1, operand.statistics)) break;
    if (opens_levels(operand.format, format)) found.push_back(format);
  }
  return found;
}

}  // namespace

double layout_ns(const ScheduledTensor& tensor, const OperandFacts& operand, const Machine& machine) {
  if (!tensor.converted) return 0;
  if (!tensor.opened) return conversion_ns(operand, machine);
  const std::size_t levels = leading_dense_levels(tensor.format.levels);
  return (positions(tensor.format, levels, operand.statistics) + entries(tensor.format, levels, operand.statistics)) *
         machine.convert_entry * share_of_conversion;
}

Schedule with_open_layouts(Schedule schedule, const Network& network, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options) {
  double best = cost(schedule, network, operands, options).ns;
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    if (schedule.tensors[number].role != TensorRole::operand || schedule.tensors[number].converted) continue;
    for (const Format& format : openings(facts_of(operands, schedule.tensors[number].tensor))) {
      Schedule opened = schedule;
      opened.tensors[number].format = format;
      opened.tensors[number].converted = true;
      opened.tensors[number].opened = true;
      const CostModel model(opened, network, operands, options, std::vector<bool>(opened.tensors.size(), false));
      opened = with_decided_loops(std::move(opened), model);
      if (!check(opened, network, operands, options)) continue;
      const double ns = cost(opened, network, operands, options).ns;
      if (ns >= best) continue;
      best = ns;
      schedule = std::move(opened);
    }
  }
  return schedule;
}

}  // namespace weft
