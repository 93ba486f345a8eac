// What several threads write to in every call, on lines of the cache of their own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

/// A line of the cache, and the one that processors fetch beside it.
constexpr std::size_t spread_bytes = 128;
constexpr std::size_t spread_places = 16;

/// The place of the calling thread, the same as long as it lives: threads get them in turn. Below spread_places.
unsigned spread_place() noexcept;

/// A counter that threads add to without waiting for each other's lines. Thread safe.
class SpreadCount {
 public:
  void add(std::uint64_t number = 1) noexcept { counts_[spread_place()].number.fetch_add(number, std::memory_order_relaxed); }
  std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const Count& count : counts_) sum += count.number.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(spread_bytes) Count {
    std::atomic<std::uint64_t> number{0};
  };
  std::array<Count, spread_places> counts_;
};

/// Numbers from 1 on, none twice in a process; threads take them from a common counter in blocks. `Of`: what they are numbers
/// of, which has a counter of its own. Thread safe.
template <class Of>
std::uint64_t next_number() noexcept {
  constexpr std::uint64_t block = 1024;
  static constinit std::atomic<std::uint64_t> blocks{0};
  thread_local constinit std::uint64_t last = 0;
  if (last % block == 0) last = blocks.fetch_add(1, std::memory_order_relaxed) * block;
  return ++last;
}

}  // namespace weft
