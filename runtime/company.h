// Fibers with company: how many of them hold more than one entry, which a mean length does not tell.
#pragma once

#include "weft/statistics.h"

namespace weft {

/// Of the distinct tuples over a set of LEVELS above the trailing dense ones, the share with two stored entries or more: of the fibers
/// with 1, 1, 1 and 97 entries 0.25, where their mean length is 25. From some 4096 tuples, where there are as many, each with all of its
/// entries: fibers of the last level here and there, of other sets those of one in 2^n coordinates of a level, of which again one in 2^m.
double share_with_company(const Tensor& tensor, ModeSet levels, const Threads& threads);

}  // namespace weft
