// Which levels filter, and which formats have such levels.
#pragma once

#include "weft/format.h"

namespace weft {

/// Only dense levels hold every coordinate; all others filter.
inline bool is_sparse(LevelKind kind) { return kind != LevelKind::dense; }
bool has_sparse_level(const Format& format);

/// Kinds and mode order are equal; widths and strides may differ.
bool same_layout(const Format& left, const Format& right);

}  // namespace weft
