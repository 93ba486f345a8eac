// Schedules whose nests are run by several threads wherever that is legal.
#pragma once

#include "oracle/built_network.h"

namespace weft::test {

/// The schedule with private copies for every root, else owned rows, else as it was: the first that check() allows.
Schedule with_cut_roots(Schedule schedule, const BuiltNetwork& built, const PlanOptions& options);

/// The schedule with every root counted first that may be.
Schedule with_counted_roots(Schedule schedule, const BuiltNetwork& built, const PlanOptions& options);

}  // namespace weft::test
