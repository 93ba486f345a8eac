// Which levels filter, and which formats have such levels.
#pragma once

#include "runtime/level_traits.h"
#include "weft/format.h"

namespace weft {

bool has_sparse_level(const Format& format);

/// Kinds and mode order are equal; widths and strides may differ.
bool same_layout(const Format& left, const Format& right);

}  // namespace weft
