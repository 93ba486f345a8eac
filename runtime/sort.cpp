#include "runtime/sort.h"

#include <algorithm>
#include <array>

#include "runtime/blocks.h"
#include "runtime/extents.h"
#include "runtime/indices.h"

namespace weft {
namespace {

/// Some bits of the coordinates of one mode, at their place in the key.
struct Field {
  std::uint32_t mode = 0;
  unsigned shift = 0;  ///< of the coordinate
  unsigned bits = 0;
  unsigned at = 0;  ///< lowest bit in the word
};

struct Group {
  std::vector<Field> fields;
  unsigned bits = 0;
};

/// The keys cut into groups that fit above the entry's number in a word, least significant group first.
std::vector<Group> group_keys(const Coordinates& coordinates, std::span<const std::uint32_t> keys,
                              unsigned number_bits) {
  const unsigned capacity = 64 - number_bits;
  std::vector<Group> groups;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    unsigned left = bits_for(coordinates.extents[*key]);
    for (unsigned shift = 0; left > 0;) {
      // Splitting a mode is right but costs a gather of its own; whole modes go together where they fit.
      if (groups.empty() || groups.back().bits + std::min(left, capacity) > capacity) groups.emplace_back();
      Group& group = groups.back();
      unsigned bits = std::min(left, capacity - group.bits);
      group.fields.push_back({*key, shift, bits, number_bits + group.bits});
      group.bits += bits;
      shift += bits;
      left -= bits;
    }
  }
  return groups;
}

/// Keeps the entry's number of every word and puts the group's key above it.
void fill_keys(std::span<std::uint64_t> words, const Coordinates& coordinates, const Group& group,
               unsigned number_bits, bool first, const Resources& resources) {
  const std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
  for_blocks(resources.threads, Blocks(words.size(), resources.threads),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               constexpr std::uint64_t tile = 2048;  // all fields of a tile while its words are in the first cache
               for (std::uint64_t from = begin; from < end; from += tile) {
                 std::uint64_t to = std::min(end, from + tile);
                 for (std::uint64_t i = from; i < to; ++i) words[i] = first ? i : words[i] & number_mask;
                 for (const Field& field : group.fields)
                   with_width(coordinate_bits(coordinates.extents[field.mode]), [&]<class T>(T) {
                     auto crd = coordinates.crd[field.mode].as<T>();
                     std::uint64_t mask = (std::uint64_t{1} << field.bits) - 1;
                     for (std::uint64_t i = from; i < to; ++i)
                       words[i] |= ((std::uint64_t{crd[words[i] & number_mask]} >> field.shift) & mask) << field.at;
                   });
               }
             });
}

constexpr unsigned digit_bits_limit = 11;
using Histogram = std::array<std::uint64_t, std::size_t{1} << digit_bits_limit>;

/// One stable pass over the digit of `bits` bits at `at`; false if all words have the same digit and nothing moved.
bool radix_pass(std::span<const std::uint64_t> from, std::span<std::uint64_t> to, unsigned at, unsigned bits,
                std::vector<Histogram>& histograms, const Resources& resources) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const Blocks blocks(from.size(), resources.threads);
  histograms.assign(blocks.number, Histogram{});
  for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    Histogram& count = histograms[block];
    for (std::uint64_t i = begin; i < end; ++i) ++count[(from[i] >> at) & mask];
  });
  std::uint64_t start = 0;
  for (std::uint64_t digit = 0; digit <= mask; ++digit) {
    std::uint64_t before = start;
    for (Histogram& count : histograms) start += std::exchange(count[digit], start);
    if (start - before == from.size()) return false;
  }
  for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    Histogram& next = histograms[block];
    for (std::uint64_t i = begin; i < end; ++i) to[next[(from[i] >> at) & mask]++] = from[i];
  });
  return true;
}

}  // namespace

bool ordered_by(const Coordinates& coordinates, std::span<const std::uint32_t> modes, const Resources& resources) {
  std::atomic<bool> ordered{true};
  for_blocks(resources.threads, Blocks(coordinates.count, resources.threads),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               // Tile by tile and mode by mode: -1 less, 0 equal so far, 1 greater than the entry before.
               constexpr std::uint64_t tile = 2048;
               std::array<signed char, tile> relation;
               for (std::uint64_t from = std::max<std::uint64_t>(begin, 1);
                    from < end && ordered.load(std::memory_order_relaxed); from += tile) {
                 std::uint64_t length = std::min(tile, end - from);
                 relation.fill(0);
                 for (std::uint32_t mode : modes)
                   with_width(coordinate_bits(coordinates.extents[mode]), [&]<class T>(T) {
                     const T* crd = coordinates.crd[mode].as<T>().data() + from;
                     const T* before = crd - 1;
                     for (std::uint64_t i = 0; i < length; ++i) {
                       auto here = static_cast<signed char>((before[i] > crd[i]) - (before[i] < crd[i]));
                       relation[i] = relation[i] ? relation[i] : here;
                     }
                   });
                 for (std::uint64_t i = 0; i < length; ++i)
                   if (relation[i] > 0) {
                     ordered.store(false, std::memory_order_relaxed);
                     return;
                   }
               }
             });
  return ordered.load();
}

std::span<const std::uint32_t> needed_keys(std::span<const std::uint32_t> modes,
                                           std::span<const std::uint32_t> already) {
  for (std::size_t k = 0; k < modes.size(); ++k) {
    auto keys = modes.first(k);
    auto rest = modes.begin() + static_cast<std::ptrdiff_t>(k);
    for (std::uint32_t mode : already) {
      if (std::find(keys.begin(), keys.end(), mode) != keys.end()) continue;
      if (rest == modes.end() || *rest != mode) break;
      ++rest;
    }
    if (rest == modes.end()) return keys;
  }
  return modes;
}

Expected<Buffer> sorted_permutation(const Coordinates& coordinates, std::span<const std::uint32_t> modes,
                                    std::span<const std::uint32_t> already, const Resources& resources,
                                    const std::function<void(double share)>& told) {
  const std::uint64_t count = coordinates.count;
  const unsigned number_bits = bits_for(count);
  auto current = Buffer::allocate(count * 8, resources.memory, "sorting coordinates");
  if (!current) return current;
  auto other = Buffer::allocate(count * 8, resources.memory, "sorting coordinates");
  if (!other) return other;

  std::vector<Group> groups;
  if (count > 1) groups = group_keys(coordinates, needed_keys(modes, already), number_bits);
  if (groups.empty()) groups.emplace_back();  // nothing to sort by: the words are the entries' numbers
  std::vector<Histogram> histograms;
  const auto passes_of = [](const Group& group) { return (group.bits + digit_bits_limit - 1) / digit_bits_limit; };
  unsigned all_passes = 0, passed = 0;
  for (const Group& group : groups) all_passes += passes_of(group);
  for (const Group& group : groups) {
    fill_keys(current->as<std::uint64_t>(), coordinates, group, number_bits, &group == &groups.front(), resources);
    const unsigned passes = passes_of(group);
    for (unsigned done = 0, pass = 0; pass < passes; ++pass) {
      if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while sorting");
      unsigned bits = (group.bits - done + passes - pass - 1) / (passes - pass);
      if (radix_pass(current->as<std::uint64_t>(), other->as<std::uint64_t>(), number_bits + done, bits, histograms,
                     resources))
        std::swap(*current, *other);
      done += bits;
      if (told) told(static_cast<double>(++passed) / all_passes);
    }
  }

  const std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
  const unsigned width = coordinate_bits(count);
  auto permutation = width == 32 ? Buffer::allocate(count * 4, resources.memory, "sorting coordinates") : std::move(other);
  if (!permutation) return permutation;
  with_width(width, [&]<class T>(T) {
    auto numbers = permutation->as<T>();
    auto words = current->as<std::uint64_t>();
    for_blocks(resources.threads, Blocks(count, resources.threads),
               [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                 for (std::uint64_t i = begin; i < end; ++i) numbers[i] = static_cast<T>(words[i] & number_mask);
               });
  });
  return permutation;
}

}  // namespace weft
