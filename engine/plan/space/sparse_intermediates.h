// Intermediates on the way to a sparse result: which of them know their entries.
#pragma once

#include <vector>

#include "engine/plan/schedule/statements.h"

namespace weft {

/// Schedules like this one, which has no loops yet, that differ in how intermediates are stored which sparse factors
/// restrict, so that only their stored entries are read. All levels of kind h: a workspace with a key inside a nest.
/// Compressed levels above a dense block, or none: between nests, written by loops in this order. Every choice of up to two
/// intermediates of up to two modes, or three if `every_order` is wanted: there are many. Else what with_keyed_intermediates()
/// says. The first is the schedule itself. A result that is dense, or shares the positions of an operand, leaves them dense, but
/// `for_dense_results`: where absent entries annihilate NaN or Inf, or every statement is to be a nest of its own and dense
/// ones would be stored whole.
std::vector<Schedule> with_sparse_intermediates(Schedule statements, bool every_order, bool for_dense_results = false);

/// Whether the cost of what such a schedule becomes is known once its loops are: no levels of kind a.
bool stores_as_priced(const Schedule& statements);

/// The same with all levels of kind a, for no, one or both of two intermediates, or all of more: a workspace or between nests in the order of the loops, as
/// the loops will have it, and priced before that is known. Whatever the result is: on the way to a dense one they are a
/// second thought, for the search of all trees prices dense intermediates alone there.
std::vector<Schedule> with_keyed_intermediates(Schedule statements);

}  // namespace weft
