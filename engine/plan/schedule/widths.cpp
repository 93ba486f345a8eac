#include "engine/plan/schedule/widths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/dense_levels.h"
#include "runtime/extents.h"
#include "runtime/widths.h"

namespace weft {
namespace {

// Statistics are rounded, by less than this.
constexpr double most_rounding = 2;

std::uint64_t most_entries(const OperandFacts& operand) {
  const double entries = most_rounding * operand.exact().nnz();
  return entries < 0x1p63 ? static_cast<std::uint64_t>(std::ceil(entries)) : saturated;
}

void take_widths(Format& format, const Format& from, std::size_t levels) {
  for (std::size_t level = 0; level < std::min({format.order(), from.order(), levels}); ++level) {
    format.levels[level].pos_bits = from.levels[level].pos_bits;
    format.levels[level].crd_bits = from.levels[level].crd_bits;
  }
}

}  // namespace

std::vector<std::uint64_t> extents_of(const ScheduledTensor& tensor, const Network& network) {
  if (tensor.role != TensorRole::intermediate) return network.tensors[tensor.tensor].extents;
  std::vector<std::uint64_t> extents;
  for (const IndexId index : tensor.modes) extents.push_back(network.indices[index].extent);
  return extents;
}

Format with_widths(Format format, const std::vector<std::uint64_t>& extents, const OperandFacts& operand) {
  return weft::with_widths(std::move(format), extents, most_entries(operand));
}

Schedule with_widths(Schedule schedule, const Network& network, const std::vector<OperandFacts>& operands) {
  for (ScheduledTensor& tensor : schedule.tensors) {
    const auto facts = std::ranges::find(operands, tensor.tensor, &OperandFacts::tensor);
    const bool operand = tensor.role == TensorRole::operand && facts != operands.end();
    if (operand && !tensor.converted) {
      if (same_layout(tensor.format, facts->format)) take_widths(tensor.format, facts->format, tensor.format.order());
      continue;
    }
    if (tensor.role != TensorRole::intermediate && tensor.tensor >= network.tensors.size()) continue;  // check() says so
    const std::vector<std::uint64_t> extents = extents_of(tensor, network);
    if (extents.size() != tensor.format.order()) continue;  // likewise
    tensor.format = operand ? with_widths(std::move(tensor.format), extents, *facts) : weft::with_widths(std::move(tensor.format), extents);
    if (tensor.delivered && tensor.delivered->order() == extents.size()) {
      tensor.delivered = weft::with_widths(std::move(*tensor.delivered), extents);
    }
  }
  for (ScheduledTensor& tensor : schedule.tensors) {
    if (!tensor.like || *tensor.like >= schedule.tensors.size()) continue;
    const ScheduledTensor& lender = schedule.tensors[*tensor.like];
    take_widths(tensor.format, lender.format, appended_levels(tensor.format.levels));
    const auto facts = std::ranges::find(operands, lender.tensor, &OperandFacts::tensor);
    if (tensor.delivered && facts != operands.end()) take_widths(*tensor.delivered, facts->format, facts->format.order());
  }
  return schedule;
}

Expected<void> check_widths(const ScheduledTensor& tensor, const Network& network) {
  const std::vector<std::uint64_t> extents = extents_of(tensor, network);
  for (std::size_t level = 0; level < tensor.format.order(); ++level) {
    const Level& stored = tensor.format.levels[level];
    const std::uint64_t extent = extents[tensor.format.mode_order[level]];
    const unsigned needed = needed_coordinate_bits(stored.kind, extent);
    if (stored.crd_bits >= needed) continue;
    return illegal(fmt::format("level {} of {} has coordinates of {} bits, its extent {} needs {}: add 'bits {}/{}'", level,
                               tensor.name, stored.crd_bits, extent, needed, stored.pos_bits, needed));
  }
  return {};
}

}  // namespace weft
