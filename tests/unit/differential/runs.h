// How many random networks a run draws, and what is said when one fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "oracle/random_network.h"
#include "unit/sanitized.h"
#include "unit/share.h"

namespace weft::test {

/// Environment: WEFT_COUNT networks (default: `count` in the long run, else an eighth) of the seeds WEFT_SEED, WEFT_SEED + 1, …
/// (default: what the commit chooses, see unit/share.h; 1 by hand).
struct Runs {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
};
Runs runs(std::uint64_t count);

/// Ends the process, naming the network, if the process computes for `seconds` (all threads) before it is destroyed, or nothing
/// comes for nine times as long: a kernel that hangs fails the test.
class Watchdog {
 public:
  Watchdog(std::string_view network, unsigned seconds);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();
};

/// "R(1,2) is 3 instead of 4, …": the first few differences; empty if the values are equal.
std::string differences(const CoordinateMap& result, const CoordinateMap& expected);

/// What is wrong with a result R: an invariant that does not hold, or values; empty if nothing is. No entry is 0.
std::string wrong_result(const Tensor& result, const CoordinateMap& expected);

}  // namespace weft::test
