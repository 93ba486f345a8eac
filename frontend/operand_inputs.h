// What planning and compiling know of operands: tensors, or figures alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
/// Operands as planning sees them whose layouts are pinned: those that come in another format are converted (and the layout
/// is kept with the tensor, where runs find it), or, of figures alone, told in that format. Scalar types stay. `converted`
/// says of which, in words: "M from ds:0,1 to ss:1,0". The tensors are kept in `layouts`. Errors as of convert().
Expected<OperandInputs> in_pinned_formats(OperandInputs operands, const std::map<std::string, Format>& formats,
                                          const Resources& resources, Tensors& layouts, std::vector<std::string>& converted);
/// Bytes are estimated from distinct counts.
OperandInputs operand_inputs(const std::map<std::string, Statistics>& statistics);

}  // namespace weft
