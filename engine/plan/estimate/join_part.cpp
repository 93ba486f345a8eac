#include "engine/plan/estimate/join_part.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "runtime/indices.h"
#include "runtime/sort_keys.h"

namespace weft {
namespace {

using Columns = std::vector<std::vector<std::uint64_t>>;

// Distinct tuples of these entries in order, by way of one number for each, of so many bits.
Columns sorted_as_numbers(const std::vector<Indices>& crd, const std::vector<unsigned>& bits, unsigned whole,
                          const std::vector<std::uint64_t>& entries) {
  std::vector<std::uint64_t> numbers(entries.size(), 0), scratch(entries.size());
  for (std::size_t column = 0; column < crd.size(); ++column) {
    for (std::size_t n = 0; n < entries.size(); ++n) numbers[n] = numbers[n] << bits[column] | crd[column][entries[n]];
  }
  if (!std::ranges::is_sorted(numbers)) sort_keys(numbers.data(), scratch.data(), numbers.size(), std::uint64_t{1} << whole, nullptr);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  Columns columns(crd.size());
  for (std::size_t column = crd.size(); column-- > 0;) {
    columns[column].reserve(numbers.size());
    for (std::uint64_t& number : numbers) {
      columns[column].push_back(number & ((std::uint64_t{1} << bits[column]) - 1));
      number >>= bits[column];
    }
  }
  return columns;
}

// The same where a tuple has more than 63 bits.
Columns sorted_as_tuples(const std::vector<Indices>& crd, const std::vector<std::uint64_t>& entries) {
  Columns values(crd.size());
  for (std::size_t column = 0; column < crd.size(); ++column) {
    values[column].reserve(entries.size());
    for (const std::uint64_t n : entries) values[column].push_back(crd[column][n]);
  }
  std::vector<std::uint32_t> place(entries.size());
  std::iota(place.begin(), place.end(), 0U);
  const auto compare = [&](std::uint32_t left, std::uint32_t right) {
    for (const auto& column : values) {
      if (column[left] != column[right]) return column[left] < column[right] ? -1 : 1;
    }
    return 0;
  };
  std::ranges::sort(place, [&](std::uint32_t left, std::uint32_t right) { return compare(left, right) < 0; });
  const auto again = std::ranges::unique(place, [&](std::uint32_t left, std::uint32_t right) { return compare(left, right) == 0; });
  place.erase(again.begin(), again.end());
  Columns columns(crd.size());
  for (std::size_t column = 0; column < crd.size(); ++column) {
    columns[column].reserve(place.size());
    for (const std::uint32_t n : place) columns[column].push_back(values[column][n]);
  }
  return columns;
}

}  // namespace

JoinPart projected(const Coordinates& all, const std::vector<std::uint64_t>& entries, const std::vector<std::size_t>& modes,
                   const std::vector<std::optional<std::size_t>>& shared) {
  JoinPart part;
  std::vector<std::size_t> order;  // modes by column
  for (const std::optional<std::size_t>& mode : shared) {
    part.column_of.push_back(mode ? order.size() : modes.size());
    if (mode) order.push_back(*mode);
  }
  part.own = order.size();
  for (const std::size_t mode : modes) {
    if (std::ranges::find(shared, std::optional(mode)) == shared.end()) order.push_back(mode);
  }
  std::vector<Indices> crd;
  std::vector<unsigned> bits;  // of a coordinate
  for (const std::size_t mode : order) {
    crd.emplace_back(all.crd[mode], coordinate_bits(all.extents[mode]));
    bits.push_back(static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(all.extents[mode], 1) - 1)));
  }
  const unsigned whole = std::accumulate(bits.begin(), bits.end(), 0U);
  part.columns = whole < 64 ? sorted_as_numbers(crd, bits, whole, entries) : sorted_as_tuples(crd, entries);
  return part;
}

}  // namespace weft
