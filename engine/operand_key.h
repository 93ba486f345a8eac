// What plans and code depend on of an operand, as a few bytes: two operands with the same have the same kernel.
#pragma once

#include <string>

#include "weft/tensor.h"

namespace weft {

/// Scalar, kinds and widths of the levels, mode order: as many bytes for every format of one order.
void append_format_key(std::string& key, const Format& format);

/// Appends it. `by_pattern`: the very pattern matters, because joins of several sparse operands are sampled, because it may be
/// baked into code, or because a memory limit counts exact bytes; else its quantised statistics, full levels and short fibers
/// do, so that a tensor over another pattern of the same kind has the same key. Counted once for all tensors over a pattern.
/// Values count as finite until somebody has found that they are not: a kernel tells of which of its operands it matters.
void append_operand_key(std::string& key, const Tensor& tensor, bool by_pattern, const Resources& resources);

/// The parts in which two keys of one operand differ: "format", "extents", "pattern", "values". For people.
std::string differing_parts(std::string_view one, std::string_view other);

}  // namespace weft
