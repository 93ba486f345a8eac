// Intermediates on the way to a sparse result: which of them know their entries.
#pragma once

#include <vector>

#include "engine/plan/schedule/contractions.h"

namespace weft {

/// Contractions like these that differ in how intermediates are stored (schedule/contractions.h) which sparse factors restrict, so that
/// only their stored entries are read: keyed, or stored in one of the orders of their modes. Every choice of up
/// to two intermediates of up to two modes, or three if `every_order` is wanted: there are many. Else those of
/// with_keyed_intermediates(). The first is what is given. A result that is dense, or shares the positions of an operand, leaves
/// them dense, but `for_dense_results`: where absent entries annihilate NaN or Inf, or every statement is to be a nest of its own and
/// dense ones would be stored whole.
std::vector<Contractions> with_sparse_intermediates(Contractions plain, bool every_order, bool for_dense_results = false);

/// The same with storage of_loops for no, one or both of two intermediates, or all of more, whatever the result is. On the way to a
/// dense one they come last: the search of all trees prices dense intermediates alone there.
std::vector<Contractions> with_keyed_intermediates(Contractions plain);

}  // namespace weft
