// Random draws from a seed, or from the bytes that a fuzzer makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace weft::test {

/// Draws that are the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// One to eight bytes a draw, as many as the bound needs, so that a byte that changes is one draw that changes; then
  /// as from seed 0, so that a few bytes are a whole network. The bytes have to last as long.
  explicit Dice(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t below(std::uint64_t bound) {
    if (bytes_.empty()) return engine_() % bound;
    std::uint64_t drawn = 0;
    for (std::uint64_t most = bound - 1; ; most >>= 8) {
      if (!bytes_.empty()) {
        drawn = drawn << 8 | bytes_.front();
        bytes_ = bytes_.subspan(1);
      }
      if (most < 256) break;
    }
    return drawn % bound;
  }
  bool percent(std::uint64_t share) { return below(100) < share; }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t n = values.size(); n > 1; --n) std::swap(values[n - 1], values[below(n)]);
  }

 private:
  std::mt19937_64 engine_{0};
  std::span<const std::uint8_t> bytes_;
};

}  // namespace weft::test
