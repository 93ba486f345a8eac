#include "bench/unfolding.h"

#include <algorithm>

namespace weft::bench {
namespace {

using Names = std::vector<std::string>;

std::size_t mode_of(const ParsedAccess& access, const std::string& index) {
  std::size_t mode = 0;
  while (access.indices[mode].name != index) ++mode;
  return mode;
}

bool has(const ParsedAccess& access, const std::string& index) {
  return std::ranges::any_of(access.indices, [&](const ParsedIndex& own) { return own.name == index; });
}

// The linear tuple of some indices for every entry.
Expected<std::vector<std::uint64_t>> linear(const Coordinates& entries, const ParsedAccess& access, const Names& indices) {
  std::vector<std::uint64_t> made(entries.count, 0);
  std::uint64_t size = 1;
  for (const std::string& index : indices) {
    const std::size_t mode = mode_of(access, index);
    const std::uint64_t extent = entries.extents[mode];
    if (extent > std::uint64_t{1} << 32 || __builtin_mul_overflow(size, extent, &size))
      return input_error("the hand-written products have 64-bit tuples of 32-bit coordinates");
    const auto crd = entries.crd[mode].as<const std::uint32_t>();
    for (std::uint64_t n = 0; n < entries.count; ++n) made[n] = made[n] * extent + crd[n];
  }
  return made;
}

Numbering numbering(const Tensor& tensor, const ParsedAccess& access, const Names& indices,
                    const std::vector<std::uint64_t>& tuples) {
  Numbering made;
  for (const std::string& index : indices) made.extents.push_back(tensor.extents()[mode_of(access, index)]);
  if (indices.size() == 1) return made;
  made.tuples = tuples;
  std::ranges::sort(made.tuples);
  made.tuples.erase(std::unique(made.tuples.begin(), made.tuples.end()), made.tuples.end());
  return made;
}

// Tuples without a number get that of the end.
std::vector<std::uint32_t> numbered(const Numbering& numbering, const std::vector<std::uint64_t>& tuples) {
  std::vector<std::uint32_t> made(tuples.size());
  for (std::size_t n = 0; n < tuples.size(); ++n) {
    if (numbering.extents.size() == 1) {
      made[n] = static_cast<std::uint32_t>(tuples[n]);
      continue;
    }
    const auto place = std::ranges::lower_bound(numbering.tuples, tuples[n]);
    const bool known = place != numbering.tuples.end() && *place == tuples[n];
    made[n] = static_cast<std::uint32_t>(known ? place - numbering.tuples.begin() : std::ssize(numbering.tuples));
  }
  return made;
}

Rows compressed(const std::vector<std::uint32_t>& rows, const std::vector<std::uint32_t>& columns,
                std::span<const double> values, std::uint64_t row_count, std::uint64_t column_count) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t n = 0; n < rows.size(); ++n)
    if (rows[n] < row_count && columns[n] < column_count) order.push_back(n);
  std::ranges::sort(order, {}, [&](std::uint32_t n) { return std::pair(rows[n], columns[n]); });
  Rows made;
  made.columns = column_count;
  made.pos.assign(row_count + 1, 0);
  for (const std::uint32_t n : order) {
    ++made.pos[rows[n] + 1];
    made.crd.push_back(columns[n]);
    made.values.push_back(values[n]);
  }
  for (std::uint64_t row = 0; row < row_count; ++row) made.pos[row + 1] += made.pos[row];
  return made;
}

}  // namespace

Expected<Unfolding> unfold(const ParsedAssignment& assignment, std::size_t first,
                           const std::map<std::string, Tensor>& operands, const Resources& resources) {
  const std::vector<ParsedAccess>& factors = assignment.terms.front().factors;
  Unfolding made;
  Numbering above;
  for (std::size_t number = first; number < factors.size(); ++number) {
    const ParsedAccess& factor = factors[number];
    Names up;    // shared with the factor before, or of the result
    Names down;  // shared with the factor after, or of the result
    for (const ParsedIndex& index : factor.indices) {
      const bool before = number > first && has(factors[number - 1], index.name);
      const bool after = number + 1 < factors.size() && has(factors[number + 1], index.name);
      if (before || (number == first && !after))
        up.push_back(index.name);
      else
        down.push_back(index.name);
    }
    // Both factors must list a group in one order.
    if (number > first) std::ranges::sort(up, {}, [&](const std::string& index) { return mode_of(factors[number - 1], index); });
    const Tensor& tensor = operands.at(factor.name);
    const auto listed = entries(tensor, false, resources);
    if (!listed) return std::unexpected(listed.error());
    if (listed->count >= std::uint64_t{1} << 32) return input_error("the hand-written products have 32-bit positions");
    const auto row_tuples = linear(*listed, factor, up);
    if (!row_tuples) return std::unexpected(row_tuples.error());
    const auto column_tuples = linear(*listed, factor, down);
    if (!column_tuples) return std::unexpected(column_tuples.error());
    if (number == first) {
      above = numbering(tensor, factor, up, *row_tuples);
      made.rows = above;
      for (const std::string& index : up) made.row_modes.push_back(static_cast<std::uint32_t>(mode_of(assignment.result, index)));
    }
    const Numbering below = numbering(tensor, factor, down, *column_tuples);
    made.factors.push_back(compressed(numbered(above, *row_tuples), numbered(below, *column_tuples),
                                      listed->values.as<const double>(), above.count(), below.count()));
    above = below;
    if (number + 1 == factors.size()) {
      made.columns = below;
      for (const std::string& index : down)
        made.column_modes.push_back(static_cast<std::uint32_t>(mode_of(assignment.result, index)));
    }
  }
  return made;
}

}  // namespace weft::bench
