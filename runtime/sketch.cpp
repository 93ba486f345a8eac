#include "runtime/sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/sketch_wide.h"

namespace weft {
namespace {

/// sigma(x) = x + sum over k >= 1 of x^(2^k) 2^(k-1): the weight of registers never touched.
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double factor = 1;
  double sum = x;
  for (double before = -1; before != sum;) {
    x *= x;
    before = sum;
    sum += x * factor;
    factor += factor;
  }
  return sum;
}

/// tau(x) = (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 2^-k) / 3: the weight of saturated registers.
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double factor = 1;
  double rest = 1 - x;
  for (double before = -1; before != rest;) {
    x = std::sqrt(x);
    before = rest;
    factor *= 0.5;
    rest -= (1 - x) * (1 - x) * factor;
  }
  return rest / 3;
}

}  // namespace

bool has_wide_hashes() {
  static const bool has =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("popcnt");
  return has;
}

void mix(std::span<const std::uint64_t> words, std::uint64_t added, std::uint64_t* hashes) {
  if (has_wide_hashes()) return wide_mixed(words.data(), added, words.size(), hashes);
  for (std::size_t n = 0; n < words.size(); ++n) hashes[n] = mixed(words[n] + added);
}

void Sketch::add_mixed_sums(std::span<const std::uint64_t* const> columns, std::size_t length, unsigned least) {
  // A rank above `least` has as many leading zeros.
  const std::uint64_t most = ~std::uint64_t{0} >> least;
  std::array<std::uint64_t, most_words + wide_hashes> hashes;
  if (has_wide_hashes()) {
    const std::size_t passed = wide_mixed_sums(columns.data(), columns.size(), length, precision, most, hashes.data());
    for (std::size_t n = 0; n < passed; ++n) add(hashes[n]);
    return;
  }
  std::copy_n(columns[0], length, hashes.begin());
  for (const std::uint64_t* const column : columns.subspan(1))
    for (std::size_t n = 0; n < length; ++n) hashes[n] += column[n];
  // Without a branch on what passes: that is guessed wrong too often.
  std::size_t found = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const std::uint64_t hash = mixed(hashes[n]);
    hashes[found] = hash;
    found += (hash << precision) <= most ? 1 : 0;
  }
  for (std::size_t n = 0; n < found; ++n) add(hashes[n]);
}

// A register that others raise meanwhile may be read as it was.
unsigned Sketch::least() {
  std::uint8_t found = ranks + 1;
  for (std::uint8_t& rank : registers_) found = std::min(found, std::atomic_ref(rank).load(std::memory_order_relaxed));
  return found;
}

double Sketch::estimate() const {
  std::array<double, ranks + 2> count{};
  for (std::uint8_t rank : registers_) ++count[rank];
  const auto size = static_cast<double>(registers_.size());
  double z = size * tau(1 - count[ranks + 1] / size);
  for (unsigned k = ranks; k >= 1; --k) z = 0.5 * (z + count[k]);
  z += size * sigma(count[0] / size);
  return size * size / (2 * std::log(2.0) * z);
}

}  // namespace weft
