#include "frontend/operand_inputs.h"

#include <fmt/format.h>

#include "engine/plan/expected_bytes.h"
#include "runtime/layouts.h"

namespace weft {
namespace {

constexpr std::size_t most_modes_of_all_sets = 10;

/// The same figures of a tensor that is stored otherwise: distinct counts of all sets of modes, or of those that levels bind.
Statistics told_in(const Statistics& known, Format format) {
  std::map<ModeSet, double> distinct;
  const std::size_t order = format.order();
  if (order <= most_modes_of_all_sets) {
    for (ModeSet set = 1; set < ModeSet{1} << order; ++set) distinct[set] = known.distinct(set);
  } else {
    ModeSet bound = 0;
    for (const std::uint32_t mode : format.mode_order) {
      bound |= ModeSet{1} << mode;
      distinct[bound] = known.distinct(bound);
    }
  }
  format.scalar = known.format().scalar;
  return Statistics(known.extents(), std::move(format), known.nnz(), std::move(distinct), known.finite());
}

}  // namespace

Expected<OperandInputs> in_pinned_formats(OperandInputs operands, const std::map<std::string, Format>& formats,
                                          const Resources& resources, Tensors& layouts, std::vector<std::string>& converted) {
  for (auto& [name, operand] : operands) {
    const auto pinned = formats.find(name);
    if (pinned == formats.end()) continue;
    const Format given = operand.statistics.format();
    Format format = pinned->second;
    format.scalar = given.scalar;
    if (format.text() == given.text() || format.order() != given.order()) continue;
    converted.push_back(fmt::format("{} from {} to {}", name, given.text(), format.text()));
    if (operand.tensor == nullptr) {
      operand.statistics = told_in(operand.statistics, format);
      operand.bytes = static_cast<std::uint64_t>(stored_bytes(format, operand.statistics));
      continue;
    }
    auto layout = laid_out(*operand.tensor, format, false, resources, name);
    if (!layout) return std::unexpected(layout.error());
    const Tensor& stored = layouts[name] = std::move(layout->tensor);
    operand = OperandInput{statistics(stored, resources), stored.bytes(), &stored};
  }
  return operands;
}

Expected<OperandInputs> operand_inputs(const Tensors& tensors, const Resources& resources) {
  OperandInputs inputs;
  for (const auto& [name, tensor] : tensors) {
    if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
    inputs.emplace(name, OperandInput{statistics(tensor, resources), tensor.bytes(), &tensor});
  }
  return inputs;
}

OperandInputs operand_inputs(const std::map<std::string, Statistics>& statistics) {
  OperandInputs inputs;
  for (const auto& [name, known] : statistics) {
    const auto bytes = static_cast<std::uint64_t>(stored_bytes(known.format(), known));
    inputs.emplace(name, OperandInput{known, bytes, nullptr});
  }
  return inputs;
}

}  // namespace weft
