#include "oracle/random_machine.h"

#include <algorithm>
#include <cmath>

#include "oracle/dice.h"

namespace weft::test {

Machine random_machine(std::uint64_t seed) {
  Dice dice(seed ^ 0x6d616368696e6573);  // other draws than those of the network of this seed
  Machine machine;
  if (dice.percent(50)) return machine;
  const auto drawn = [&](double limit) { return (static_cast<double>(dice.below(2001)) / 1000 - 1) * limit; };
  const double limit = dice.percent(50) ? 1 : 5;
  for (const MachineConstant& constant : machine_constants()) constant.of(machine) *= std::exp(drawn(limit));
  for (double& bytes : machine.cache_bytes) bytes = std::exp2(4 + static_cast<double>(dice.below(22)));
  std::ranges::sort(machine.cache_bytes);
  machine.threads = static_cast<double>(1 + dice.below(64));
  return machine;
}

}  // namespace weft::test
