#include "frontend/named_operands.h"

#include <fmt/format.h>

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

Expected<void> known_without_tensors(const Format& format, std::string_view name) {
  if (!format.layout) return {};
  return fail(ErrorKind::unsupported, ErrorCode::option, name,
              fmt::format("{} in the layout {}: figures alone do not tell how its levels are filled; give the tensor, or a plain format "
                          "such as ds",
                          name, format.text()));
}

Expected<NamedFacts> named_facts(const Tensors& tensors, const Resources& resources) {
  NamedFacts facts;
  for (const auto& [name, tensor] : tensors) {
    if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
    facts.emplace(name, operand_facts(tensor, resources));
  }
  return facts;
}

Expected<NamedFacts> in_pinned_formats(NamedFacts operands, const std::map<std::string, Format>& formats,
                                       const Resources& resources, Tensors& layouts, std::vector<std::string>& converted) {
  for (auto& [name, operand] : operands) {
    const auto pinned = formats.find(name);
    if (pinned == formats.end()) continue;
    const Format given = operand.statistics.format();
    Format format = pinned->second;
    format.scalar = given.scalar;
    if (format.text() == given.text() || format.modes() != given.modes()) continue;
    converted.push_back(fmt::format("{} from {} to {}", name, given.text(), format.text()));
    if (operand.stored == nullptr) {
      if (auto known = known_without_tensors(format, name); !known) return std::unexpected(known.error());
      operand = operand_facts(told_in(operand.statistics, format));
      continue;
    }
    auto layout = laid_out(*operand.stored, format, false, resources, name);
    if (!layout) return std::unexpected(layout.error());
    const Tensor& stored = layouts[name] = std::move(layout->tensor);
    operand = operand_facts(stored, resources);
    operand.laid_out = true;
  }
  return operands;
}

NamedFacts named_facts(const std::map<std::string, Statistics>& statistics) {
  NamedFacts facts;
  for (const auto& [name, known] : statistics) facts.emplace(name, operand_facts(known));
  return facts;
}

}  // namespace weft
