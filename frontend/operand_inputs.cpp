#include "frontend/operand_inputs.h"

namespace weft {
namespace {

std::uint64_t stored_bytes(const Statistics& statistics) {
  const Format& format = statistics.format();
  double positions = 1, bytes = 0;
  ModeSet bound = 0;
  for (std::size_t level = 0; level < format.order(); ++level) {
    const Level& stored = format.levels[level];
    const std::uint32_t mode = format.mode_order[level];
    bound |= ModeSet{1} << mode;
    if (stored.kind == LevelKind::dense) {
      positions *= static_cast<double>(statistics.extents()[mode]);
      continue;
    }
    if (stored.kind != LevelKind::singleton) bytes += (positions + 1) * stored.pos_bits / 8;
    const bool every_entry = stored.kind == LevelKind::compressed_nonunique || stored.kind == LevelKind::singleton;
    positions = every_entry ? statistics.nnz() : statistics.distinct(bound);
    bytes += positions * stored.crd_bits / 8;
  }
  return static_cast<std::uint64_t>(bytes + positions * scalar_bytes(format.scalar));
}

}  // namespace

OperandInputs operand_inputs(const Tensors& tensors, const Threads& threads) {
  OperandInputs inputs;
  for (const auto& [name, tensor] : tensors) inputs.emplace(name, OperandInput{statistics(tensor, threads), tensor.bytes(), &tensor});
  return inputs;
}

OperandInputs operand_inputs(const std::map<std::string, Statistics>& statistics) {
  OperandInputs inputs;
  for (const auto& [name, known] : statistics) inputs.emplace(name, OperandInput{known, stored_bytes(known), nullptr});
  return inputs;
}

}  // namespace weft
