// The share of what a test may draw that this run draws: all of it in the long run (tests/run.sh --long sets WEFT_LONG),
// else a part that the commit chooses (WEFT_DRAW, which tests/run.sh sets), so that another commit draws another part.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/unit/sanitized.h"

namespace weft::test {

inline bool is_long_run() { return std::getenv("WEFT_LONG") != nullptr; }

/// The number that chooses the part; 0 for a test that is run by hand.
inline std::uint64_t draw() {
  const char* text = std::getenv("WEFT_DRAW");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

/// Whether the `number`-th of many cases is in this run's share, one in `parts`: (number + draw()) mod parts = 0.
inline bool is_drawn(std::uint64_t number, std::uint64_t parts) {
  return is_long_run() || (number + draw()) % parts == 0;
}

/// The same of cases that a build with sanitizers repeats, at three times the time: only there one in `parts`.
inline bool is_drawn_sanitized(std::uint64_t number, std::uint64_t parts = 3) {
  return !is_sanitized() || is_drawn(number, parts);
}

}  // namespace weft::test
