// The interpreter: the meaning of a Program over std::map. Slow, and shares nothing with code generation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// Coordinates in storage (level) order to value. A dense level of an input holds every entry: the caller lists them.
using Entries = std::map<std::vector<std::uint64_t>, double>;

struct Interpretation {
  std::map<std::string, std::uint64_t> extents;  ///< by index name
  std::map<std::string, Entries> inputs;         ///< by storage name
  std::vector<double> coefficients;              ///< words c0, c1, …
};

/// The outputs by storage name: the coordinates accumulated into. Input errors where a storage or extent is missing.
Expected<std::map<std::string, Entries>> interpret(const Program& program, const Interpretation& values);

/// How often the body of every loop ran, loops in the order of the text: the coordinates for which every drive and
/// locate step has an entry. Errors as above.
Expected<std::vector<std::uint64_t>> iterations(const Program& program, const Interpretation& values);

}  // namespace weft::loop
