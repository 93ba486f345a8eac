// Intermediates on the way to a sparse result: which of them know their entries.
#pragma once

#include <vector>

#include "engine/plan/statements.h"

namespace weft {

/// Schedules like this one, which has no loops yet, that differ in which intermediates have a key, of kind a: only their
/// stored entries are read then, inside a nest from a table, between nests from compressed levels. Every choice of up to
/// two intermediates that sparse factors restrict, else none or all. The first is the schedule itself. A result that is
/// dense, or shares the positions of an operand, leaves them dense.
std::vector<Schedule> with_sparse_intermediates(Schedule statements);

/// The same whatever the result is: on the way to a dense one they are a second thought, for the search of all trees prices
/// dense intermediates alone there.
std::vector<Schedule> with_keyed_intermediates(Schedule statements);

}  // namespace weft
