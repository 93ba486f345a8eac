// Leading compressed levels made dense in place: a search becomes a table lookup for the price of one array of ends.
#pragma once

#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft {

/// Whether `to` is `from` with leading compressed levels dense, above a level with ends of its own that stays: DCSR to
/// CSR, CSF to dss or dds. Positions below the opened levels then stay what they are.
bool opens_levels(const Format& from, const Format& to);

/// `tensor` in such a format. All arrays below the opened levels are shared with `tensor`; only the ends of the first of
/// them are new, one per coordinate tuple of the dense levels. Resource errors name `name`.
Expected<Tensor> with_open_levels(const Tensor& tensor, const Format& format, const Resources& resources,
                                  std::string_view name);

}  // namespace weft
