// Machines that no one has: constants of the cost model drawn, so that what only large tensors or rare machines bring into plans is
// met over small tensors too.
#pragma once

#include <cstdint>

#include "engine/plan/machine.h"

namespace weft::test {

/// The machine that everything was measured on, of half of the seeds; else one with caches from 16 bytes on and every other constant up to
/// e^5 times, or a part, of that. Results are the same on every machine.
Machine random_machine(std::uint64_t seed);

}  // namespace weft::test
