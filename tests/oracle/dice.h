// Random draws from a seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace weft::test {

/// Draws that are the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
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
  std::mt19937_64 engine_;
};

}  // namespace weft::test
