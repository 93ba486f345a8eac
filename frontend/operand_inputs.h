// What planning and compiling know of operands: tensors, or figures alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/engine.h"

namespace weft {

/// What is known of an operand. Joins are sampled where the tensors of all operands are given.
struct OperandInput {
  Statistics statistics;
  std::uint64_t bytes = 0;
  const Tensor* tensor = nullptr;
};
using OperandInputs = std::map<std::string, OperandInput>;

/// Input error for borrowed arrays that are not valid.
Expected<OperandInputs> operand_inputs(const Tensors& tensors, const Resources& resources);
/// Operands in the layouts that they are pinned to, the others as they are; a conversion stays with its tensor, for the runs.
/// The scalar type of an operand stays. Formats of another order are left for whoever resolves them.
Expected<Tensors> in_pinned_layouts(const Tensors& tensors, const std::map<std::string, Format>& formats, const Resources& resources);
/// Bytes are estimated from distinct counts.
OperandInputs operand_inputs(const std::map<std::string, Statistics>& statistics);

}  // namespace weft
