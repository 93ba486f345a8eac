#include "runtime/company.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/ancestors.h"
#include "runtime/blocks.h"
#include "runtime/chosen_positions.h"
#include "runtime/dense_levels.h"
#include "runtime/entries.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/sketch.h"

namespace weft {
namespace {

constexpr std::uint64_t tuples_wanted = 1 << 12;
constexpr std::uint64_t fewest_coordinates = 64;  ///< drawn of a level: slices are unlike each other

/// Tuples of which some have company.
struct Counted {
  std::uint64_t tuples = 0;
  std::uint64_t with_company = 0;
  double share() const { return tuples > 0 ? static_cast<double>(with_company) / static_cast<double>(tuples) : 1; }
};

/// Fibers of the last level above the dense ones, at even distances.
Counted counted_fibers(const Tensor& tensor, std::size_t last) {
  const Tensor cut = cut_below(tensor, last);
  const Leaves entries(cut);
  const std::uint64_t fibers = tensor.positions(last - 1);
  const std::uint64_t draws = std::min(tuples_wanted, fibers);
  Counted counted;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const std::uint64_t width = fibers / draws;
    const std::uint64_t fiber = width * draw + std::min(draw, fibers % draws) + mixed(draw) % width;
    const std::uint64_t length = entries.begin(last - 1, fiber + 1) - entries.begin(last - 1, fiber);
    counted.tuples += length > 0 ? 1 : 0;
    counted.with_company += length > 1 ? 1 : 0;
  }
  return counted;
}

/// The level of the set with the largest extent: most slices are left out by a look at its coordinates.
std::size_t longest_level(const Tensor& tensor, ModeSet levels) {
  std::size_t longest = static_cast<std::size_t>(std::countr_zero(levels));
  for (std::size_t level = longest; levels >> level != 0; ++level)
    if ((levels >> level & 1) != 0 && tensor.extent_of_level(level) > tensor.extent_of_level(longest)) longest = level;
  return longest;
}

/// Tuples by their hashes.
class DrawnTuples {
 public:
  DrawnTuples(const Tensor& tensor, ModeSet levels, std::size_t last)
      : levels_(levels), last_(last), drawn_(longest_level(tensor, levels)), tensor_(tensor), cut_(cut_below(tensor, last)), leaves_(cut_) {
    const auto halvings = static_cast<unsigned>(std::bit_width(tensor.positions(last) / tuples_wanted));
    const auto possible = static_cast<unsigned>(std::bit_width(tensor.extent_of_level(drawn_) / fewest_coordinates));
    coordinate_bits_ = std::min(halvings, possible);
    most_ = std::numeric_limits<std::uint64_t>::max() >> (halvings - coordinate_bits_);
  }
  std::uint64_t positions() const { return tensor_.positions(drawn_); }

  /// The hashes of the tuples drawn from these positions of that level, once for each of their entries, but two of many in a row.
  std::vector<std::uint64_t> hashes(std::uint64_t begin, std::uint64_t end) const {
    std::vector<std::uint64_t> found;
    Ancestors entry(cut_);
    const auto drawn = [&](std::uint64_t coordinate) { return is_drawn(coordinate); };
    for_chosen_positions(tensor_, drawn_, begin, end, drawn, [&](std::uint64_t position, std::uint64_t) {
      const std::uint64_t behind = leaves_.begin(drawn_, position + 1);
      for (std::uint64_t leaf = leaves_.begin(drawn_, position); leaf < behind; ++leaf) {
        entry.move_to(leaf);
        std::uint64_t hash = 0;
        for (std::size_t level = 0; level <= last_; ++level)
          if (levels_ >> level & 1) hash = mixed(hash + entry.coordinate(level) + 1);
        const bool has_two = found.size() > 1 && found.back() == hash && found[found.size() - 2] == hash;
        if (hash <= most_ && !has_two) found.push_back(hash);
      }
    });
    return found;
  }

 private:
  bool is_drawn(std::uint64_t coordinate) const {
    return coordinate_bits_ == 0 || coordinate * 0xD6E8FEB86659FD93 >> (64 - coordinate_bits_) == 0;
  }

  ModeSet levels_;
  std::size_t last_;   // above the dense ones
  std::size_t drawn_;  // whose coordinates are looked at first
  unsigned coordinate_bits_ = 0;
  std::uint64_t most_ = 0;
  const Tensor& tensor_;
  Tensor cut_;
  Leaves leaves_;
};

Counted counted_tuples(const DrawnTuples& tuples, const Threads& threads) {
  const Blocks blocks(tuples.positions(), threads);
  std::vector<std::vector<std::uint64_t>> found(blocks.number);
  for_blocks(threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    found[block] = tuples.hashes(begin, end);
  });
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& part : found) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  Counted counted;
  for (std::size_t n = 0; n < all.size();) {
    const std::size_t first = n;
    while (n < all.size() && all[n] == all[first]) ++n;
    ++counted.tuples;
    counted.with_company += n - first > 1 ? 1 : 0;
  }
  return counted;
}

}  // namespace

double share_with_company(const Tensor& tensor, ModeSet levels, const Threads& threads) {
  const std::size_t last = appended_levels(tensor.format().levels) - 1;
  const bool of_fibers = levels + 1 == ModeSet{1} << last && is_compressed(tensor.format().levels[last].kind);
  return (of_fibers ? counted_fibers(tensor, last) : counted_tuples(DrawnTuples(tensor, levels, last), threads)).share();
}

}  // namespace weft
