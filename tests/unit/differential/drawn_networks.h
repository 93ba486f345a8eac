// Networks that a test draws in its own way, from the seeds of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiled_runs.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace weft::test {

struct DrawnNetwork {
  std::uint64_t seed = 0;
  const BuiltNetwork& built;
  const CoordinateMap& expected;  ///< of the result R, by brute force
  const Judge& judge;             ///< of its values alone
  const PlanOptions options;      ///< with a memory limit over long extents
};

/// Builds what `draw` makes of each seed, stretched for some, and gives it to `check`. A failure there names seed and network, and a
/// network that does not end within a minute is named too.
void for_each_drawn(const Runs& drawn, const std::function<RandomNetwork(Dice&)>& draw,
                    const std::function<void(const DrawnNetwork&)>& check, Extents extents = Extents::some_long);

}  // namespace weft::test
