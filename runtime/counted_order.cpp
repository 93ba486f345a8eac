#include "runtime/counted_order.h"

#include <algorithm>
#include <atomic>

#include "runtime/blocks.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

/// A coordinate of the first mode in one part of the entries.
struct Bin {
  std::uint32_t count = 0;  ///< then where the next of these entries goes
  std::uint32_t first = 0;  ///< coordinates of the second mode
  std::uint32_t last = 0;
};

/// One part for each thread.
Blocks parts_of(std::uint64_t count, const Threads& threads) {
  return {count, threads, std::max<std::uint64_t>(1 << 14, count / std::max(1U, threads.count()) + 1)};
}

/// Counts keys, part by part, in bins that are empty; false: some entry has a lesser other coordinate than one before it with the same key.
bool count_keys(std::span<const std::uint32_t> keys, std::span<const std::uint32_t> others, const Blocks& parts, std::span<Bin> bins,
                std::uint64_t extent, const Threads& threads) {
  constexpr std::uint64_t tile = 4096;
  std::atomic<bool> ordered{true};
  for_blocks(threads, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    const std::span<Bin> own = bins.subspan(part * extent, extent);
    for (std::uint64_t from = begin; from < end && ordered.load(std::memory_order_relaxed); from += tile) {
      bool rises = true;
      const std::uint64_t to = std::min(end, from + tile);
      if (others.empty()) {
        for (std::uint64_t e = from; e < to; ++e) ++own[keys[e]].count;
        continue;
      }
      for (std::uint64_t e = from; e < to; ++e) {
        Bin& bin = own[keys[e]];
        rises &= others[e] >= bin.last;
        if (bin.count++ == 0) bin.first = others[e];
        bin.last = others[e];
      }
      if (!rises) ordered.store(false, std::memory_order_relaxed);
    }
  });
  return ordered.load();
}

/// Counts to where the entries of each key and part begin; false: parts meet out of order.
bool begins_in_order(std::span<Bin> bins, std::uint64_t extent) {
  std::uint32_t begin = 0;
  for (std::uint64_t key = 0; key < extent; ++key) {
    std::uint32_t last = 0;
    for (std::uint64_t at = key; at < bins.size(); at += extent) {
      Bin& bin = bins[at];
      const std::uint32_t count = std::exchange(bin.count, begin);
      if (count == 0) continue;
      if (bin.first < last) return false;
      last = bin.last;
      begin += count;
    }
  }
  return true;
}

}  // namespace

Expected<std::optional<SortedEntries>> in_counted_order(Coordinates& coordinates, std::span<const std::uint32_t> modes,
                                                        bool others_in_order, const Resources& resources, std::string_view name) {
  constexpr std::uint64_t most_entries = std::uint64_t{1} << 31;
  const std::uint64_t count = coordinates.count;
  if (modes.size() < 2 || (modes.size() > 2 && !others_in_order) || count >= most_entries) return std::nullopt;
  for (const std::uint32_t mode : modes.first(2))
    if (coordinate_bits(coordinates.extents[mode]) != 32) return std::nullopt;
  const std::uint64_t extent = coordinates.extents[modes[0]];
  const Blocks parts = parts_of(count, resources.threads);
  if (extent > count / std::max<std::uint64_t>(1, parts.number)) return std::nullopt;  // more bins than words that sorting takes

  const auto keys = std::as_const(coordinates.crd[modes[0]]).as<std::uint32_t>().first(count);
  const auto others = std::as_const(coordinates.crd[modes[1]]).as<std::uint32_t>().first(others_in_order ? 0 : count);
  auto counts = Buffer::allocate(extent * parts.number * sizeof(Bin), resources.memory, name);
  if (!counts) return std::unexpected(counts.error());
  const auto bins = counts->as<Bin>();
  if (!count_keys(keys, others, parts, bins, extent, resources.threads) || !begins_in_order(bins, extent)) return std::nullopt;
  const auto allocate = [&](unsigned bits) { return Buffer::allocate(count * (bits / 8), resources.memory, name); };
  auto key_column = allocate(32);
  if (!key_column) return std::unexpected(key_column.error());
  for_blocks(resources.threads, Blocks(extent, resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    const auto to = key_column->as<std::uint32_t>();
    for (std::uint64_t key = begin; key < end; ++key) {
      const std::uint64_t behind = key + 1 < extent ? bins[key + 1].count : count;
      std::fill(to.begin() + bins[key].count, to.begin() + static_cast<std::ptrdiff_t>(behind), static_cast<std::uint32_t>(key));
    }
  });
  auto places = allocate(32);
  if (!places) return std::unexpected(places.error());
  const auto place_of = places->as<std::uint32_t>();
  for_blocks(resources.threads, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    const auto own = bins.subspan(part * extent, extent);
    for (std::uint64_t e = begin; e < end; ++e) place_of[e] = own[keys[e]].count++;
  });
  const auto moved = [&](const Buffer& from, unsigned bits) {
    auto to = allocate(bits);
    if (!to) return to;
    with_width(bits, [&]<class T>(T) {
      const auto given = from.as<T>();
      const auto sorted = to->as<T>();
      for_blocks(resources.threads, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        for (std::uint64_t e = begin; e < end; ++e) sorted[place_of[e]] = given[e];
      });
    });
    return to;
  };

  SortedEntries sorted;
  sorted.count = count;
  sorted.scalar = coordinates.scalar;
  for (const std::uint32_t mode : modes) {
    sorted.extents.push_back(coordinates.extents[mode]);
    auto column = mode == modes[0] ? std::move(key_column) : moved(coordinates.crd[mode], coordinate_bits(coordinates.extents[mode]));
    if (!column) return std::unexpected(column.error());
    coordinates.crd[mode] = {};
    sorted.crd.push_back(std::move(*column));
  }
  auto values = moved(coordinates.values, scalar_bytes(sorted.scalar) * 8);
  if (!values) return std::unexpected(values.error());
  coordinates.values = {};
  sorted.values = std::move(*values);
  return sorted;
}

}  // namespace weft
