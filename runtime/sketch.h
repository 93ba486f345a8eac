// HyperLogLog: counting distinct hashes in a few kilobytes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

namespace weft {

/// A mixed 64-bit word, every bit depending on every bit of the input (constants of MurmurHash3's finalizer).
constexpr std::uint64_t mixed(std::uint64_t word) {
  word ^= word >> 33;
  word *= 0xFF51AFD7ED558CCD;
  word ^= word >> 33;
  word *= 0xC4CEB9FE1A85EC53;
  return word ^ (word >> 33);
}

/// hashes[n] = mixed(words[n] + added).
void mix(std::span<const std::uint64_t> words, std::uint64_t added, std::uint64_t* hashes);

/// A sketch of a set of 64-bit hashes (Flajolet et al. 2007) with 2^14 registers: relative standard error 0.8 %. The
/// registers depend on the set alone, not on the order or the threads in which it is added.
class Sketch {
 public:
  /// May be called by several threads at once.
  void add(std::uint64_t hash) {
    std::atomic_ref<std::uint8_t> cell(registers_[hash >> (64 - precision)]);
    // The bit below the shifted tail bounds the rank of a zero tail.
    const auto rank = static_cast<std::uint8_t>(
        std::countl_zero(hash << precision | std::uint64_t{1} << (precision - 1)) + 1);
    std::uint8_t held = cell.load(std::memory_order_relaxed);
    while (held < rank && !cell.compare_exchange_weak(held, rank, std::memory_order_relaxed)) {
    }
  }
  /// Adds mixed(columns[0][n] + columns[1][n] + …) for every n below `length`, at most `most_words`. `least`: what least() was at
  /// some time, so that words are left out which can change nothing.
  void add_mixed_sums(std::span<const std::uint64_t* const> columns, std::size_t length, unsigned least);
  static constexpr std::size_t most_words = 512;
  /// What every register has reached.
  unsigned least();
  /// Estimated number of distinct hashes: the improved raw estimator of Ertl ("New cardinality estimation algorithms
  /// for HyperLogLog sketches", 2017, Algorithm 6), which needs no correction tables for small or large sets.
  double estimate() const;

 private:
  static constexpr unsigned precision = 14;
  static constexpr unsigned ranks = 64 - precision;
  std::array<std::uint8_t, std::size_t{1} << precision> registers_{};
};

}  // namespace weft
