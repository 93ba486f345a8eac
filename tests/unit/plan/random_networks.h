// Tiny random networks that can be enumerated.
#pragma once

#include "unit/plan/networks.h"

namespace weft::plan_test {

/// Two or three factors over at most three indices of extents 0 … 60, every fifth up to 2^62 (stretched.h), sparse and
/// dense, layouts pinned or free; of
/// `shared` ones the first two factors are the same sparse tensor, whose conversion may pay. The
/// result is as sparse as its fill says, or `dense`.
OwnedProblem random_network(unsigned seed, bool shared = false, bool dense = false);

}  // namespace weft::plan_test
