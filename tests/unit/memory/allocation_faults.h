// Faults in allocation: the binary replaces operator new and is linked with --wrap, so every allocation that weft makes can
// fail, and those that it has not given back are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace allocation_faults {

enum class Fails : std::uint8_t {
  none,  ///< allocations are counted and watched
  one,   ///< the one with the number
  rest,  ///< that one and all later ones
};

/// From the next armed call on allocations are numbered 1, 2, …, and the one with this number fails.
void begin(std::uint64_t number, Fails fails);
/// How many there were since begin().
std::uint64_t seen();
/// Whether one has failed.
bool fired();
/// Allocations made in armed calls that are not given back, since the process began.
std::size_t kept();
/// Those of the latest runs and the highest numbers, for people; where they were made if WEFT_TRACE_KEPT is set.
std::string newest_kept(std::size_t count);

/// Allocations count, and fail, while one lives. Those of libraries that cannot survive it (runtime/foreign_code.h) do not.
class Armed {
 public:
  Armed();
  ~Armed();
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};

/// What a call of weft returns, with allocations that may fail. What the host allocates for it is made before.
template <class Call>
auto armed(Call&& call) {
  const Armed now;
  return call();
}

}  // namespace allocation_faults
