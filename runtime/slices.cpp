#include "runtime/slices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/chosen_positions.h"
#include "runtime/dense_levels.h"
#include "runtime/entries.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/sketch.h"

namespace weft {
namespace {

constexpr unsigned draw_bits = 8;
constexpr std::uint64_t most_draws = std::uint64_t{1} << draw_bits;

/// Of the coordinates that are counted one in 32 is.
constexpr unsigned counted_bits = 5;
constexpr auto is_in_sample = [](std::uint64_t coordinate) { return coordinate * 0xD6E8FEB86659FD93 >> (64 - counted_bits) == 0; };

/// Coordinates by position of a level.
class LevelCoordinates {
 public:
  LevelCoordinates(const Tensor& tensor, std::size_t level)
      : dense_(is_dense(tensor.format().levels[level].kind)),
        extent_(tensor.extent_of_level(level)),
        crd_(tensor.levels()[level].crd, tensor.format().levels[level].crd_bits) {}
  std::uint64_t operator[](std::uint64_t position) const { return dense_ ? position % extent_ : crd_[position]; }

 private:
  bool dense_;
  std::uint64_t extent_;
  Indices crd_;
};

/// The slices of drawn entries, and the coordinates found in each.
class DrawnSlices {
 public:
  static constexpr std::uint16_t none = 0xFFFF;

  DrawnSlices(const Tensor& tensor, std::size_t level) : numbers_(std::size_t{1} << place_bits, none), coordinates_(numbers_.size()) {
    const std::size_t last = appended_levels(tensor.format().levels) - 1;
    const std::uint64_t entries = tensor.positions(last);
    const std::uint64_t draws = std::min(most_draws, entries);
    const Tensor cut = cut_below(tensor, last);
    const Leaves leaves(cut);
    const LevelCoordinates coordinates(tensor, level);
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      const std::uint64_t width = entries / draws;
      const std::uint64_t entry = width * draw + std::min(draw, entries % draws) + mixed(draw) % width;
      ++drawn_[numbered(coordinates[leaves.position_of(level, tensor.positions(level), entry)])];
    }
    draws_ = draws;
  }

  /// Never false for one that was drawn, and hardly ever true for another.
  bool may_have(std::uint64_t coordinate) const { return numbers_[hashed_place(coordinate)] != none; }
  std::uint16_t number_of(std::uint64_t coordinate) const { return numbers_[place_of(coordinate)]; }
  /// May be called by several threads at once.
  void add(std::uint16_t number, std::uint64_t coordinate) {
    const std::uint64_t hash = mixed(mixed(coordinate) + number);
    for (std::uint64_t bits = drawn_[number]; bits != 0; bits &= bits - 1) {
      found_[static_cast<std::size_t>(std::countr_zero(bits))].add(hash);
    }
  }
  /// In the slice of an entry. A sketch of all slices for each binary digit of how often they were drawn: the sum over draws is exact.
  double mean() const {
    double sum = 0;
    for (unsigned bit = 0; bit < found_.size(); ++bit) sum += static_cast<double>(std::uint64_t{1} << bit) * found_[bit].estimate();
    return draws_ > 0 ? std::ldexp(sum, counted_bits) / static_cast<double>(draws_) : 0;
  }

 private:
  static constexpr unsigned place_bits = draw_bits + 4;  // so that most coordinates meet an empty place at once

  static std::size_t hashed_place(std::uint64_t coordinate) { return (coordinate * 0x9E3779B97F4A7C15) >> (64 - place_bits); }
  std::size_t place_of(std::uint64_t coordinate) const {
    std::size_t place = hashed_place(coordinate);
    while (numbers_[place] != none && coordinates_[place] != coordinate) place = (place + 1) % numbers_.size();
    return place;
  }
  std::size_t numbered(std::uint64_t coordinate) {
    const std::size_t place = place_of(coordinate);
    if (numbers_[place] == none) {
      numbers_[place] = slices_++;
      coordinates_[place] = coordinate;
    }
    return numbers_[place];
  }

  std::vector<std::uint16_t> numbers_;  // by hash
  std::vector<std::uint64_t> coordinates_;
  std::array<std::uint64_t, most_draws> drawn_{};  // how often, by number
  std::vector<Sketch> found_ = std::vector<Sketch>(draw_bits + 1);
  std::uint16_t slices_ = 0;
  std::uint64_t draws_ = 0;
};

}  // namespace

double distinct_in_slices(const Tensor& tensor, std::size_t of_slices, std::size_t counted, const Threads& threads) {
  DrawnSlices slices(tensor, of_slices);
  const std::size_t upper = std::min(of_slices, counted);
  const std::size_t lower = std::max(of_slices, counted);
  const Tensor cut = cut_below(tensor, lower);
  const Leaves below(cut);
  const Leaves entries(tensor);
  // Positions of a dense level may have no entries.
  const bool gaps = is_dense(tensor.format().levels[lower].kind);
  const auto is_empty = [&](std::uint64_t position) {
    return gaps && entries.begin(lower, position) == entries.begin(lower, position + 1);
  };
  // Of the upper level most positions are left out, and with them all that lies below.
  for_blocks(threads, Blocks(tensor.positions(upper), threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    if (upper == of_slices) {
      for_chosen_positions(tensor, upper, begin, end, [&](std::uint64_t outer) { return slices.may_have(outer); },
                           [&](std::uint64_t above, std::uint64_t outer) {
                             const std::uint16_t slice = slices.number_of(outer);
                             if (slice == DrawnSlices::none) return;
                             for_chosen_positions(tensor, lower, below.begin(upper, above), below.begin(upper, above + 1), is_in_sample,
                                                  [&](std::uint64_t position, std::uint64_t inner) {
                                                    if (!is_empty(position)) slices.add(slice, inner);
                                                  });
                           });
      return;
    }
    for_chosen_positions(tensor, upper, begin, end, is_in_sample, [&](std::uint64_t above, std::uint64_t outer) {
      for_chosen_positions(tensor, lower, below.begin(upper, above), below.begin(upper, above + 1),
                           [&](std::uint64_t inner) { return slices.may_have(inner); },
                           [&](std::uint64_t position, std::uint64_t inner) {
                             const std::uint16_t slice = slices.number_of(inner);
                             if (slice != DrawnSlices::none && !is_empty(position)) slices.add(slice, outer);
                           });
    });
  });
  return slices.mean();
}

}  // namespace weft
