// Networks that a test draws in its own way, from the seeds of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiled_runs.h"
#include "runs.h"

namespace weft::test {

struct DrawnNetwork {
  std::uint64_t seed = 0;
  const BuiltNetwork& built;
  const CoordinateMap& expected;  ///< of the result R, by brute force
  const Judge& judge;             ///< of its values alone
};

/// The network of "R(i,r) = -2 * T(i,j) * A(j,r)": its operands, a name that stands twice being one, as `operand` makes them of their
/// names and indices.
RandomNetwork network_of(const std::string& expression,
                         const std::function<RandomOperand(const std::string& name, const std::vector<std::string>& indices)>& operand);

RandomOperand empty_operand(const std::string& name, const std::vector<std::string>& indices,
                            const std::map<std::string, std::uint64_t>& extents, const Format& format);

/// Builds what `draw` makes of each seed and gives it to `check`. A failure there names seed and network, and a network that does not
/// end within a minute is named too.
void for_each_drawn(const Runs& drawn, const std::function<RandomNetwork(Dice&)>& draw,
                    const std::function<void(const DrawnNetwork&)>& check);

}  // namespace weft::test
