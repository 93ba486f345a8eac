// What converting a tensor depends on.
#pragma once

#include "weft/format.h"

namespace weft {

/// Whether the values decide what convert() stores: zeros of blocks that are opened are left out.
bool values_decide_pattern(const Format& from, const Format& to);

}  // namespace weft
