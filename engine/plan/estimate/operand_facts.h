// Facts of an operand before anything is planned, of a tensor or of figures alone.
#pragma once

#include "engine/plan/problem.h"

namespace weft {

/// Of a tensor; nothing is counted before it is asked for.
OperandFacts operand_facts(const Tensor& tensor, const Resources& resources);
/// Of figures alone: bytes are estimated from distinct counts.
OperandFacts operand_facts(const Statistics& statistics);

/// What the arrays of a format take that hold entries of these statistics.
struct StoredArrays {
  double bytes = 0;      ///< of positions and coordinates
  double positions = 1;  ///< of the last level: values
};
StoredArrays stored_arrays(const Format& format, const Statistics& statistics);
/// The bytes of all arrays, values included.
double stored_bytes(const Format& format, const Statistics& statistics);

}  // namespace weft
