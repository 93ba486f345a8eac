#include "engine/plan/estimate/join_walk.h"

#include <algorithm>
#include <bit>
#include <numeric>

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
    crd.push_back(column(all, mode));
    bits.push_back(static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(all.extents[mode], 1) - 1)));
  }
  const unsigned whole = std::accumulate(bits.begin(), bits.end(), 0U);
  part.columns = whole < 64 ? sorted_as_numbers(crd, bits, whole, entries) : sorted_as_tuples(crd, entries);
  return part;
}

std::uint64_t hash_of(std::uint64_t coordinate) {
  std::uint64_t z = coordinate + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::optional<double> JoinWalk::count() {
  std::vector<Range> ranges;
  for (const JoinPart& part : parts_) ranges.push_back({0, part.size()});
  const double found = below(0, ranges);
  if (left_ < 0) return std::nullopt;
  return found;
}

std::optional<double> JoinWalk::distinct(const std::vector<bool>& kept) {
  kept_ = &kept;
  if (!count()) return std::nullopt;
  std::ranges::sort(met_);
  return static_cast<double>(std::unique(met_.begin(), met_.end()) - met_.begin());
}

JoinWalk::Range JoinWalk::equal_range(const std::vector<std::uint64_t>& column, Range range, std::uint64_t value) {
  const auto begin = column.begin() + static_cast<std::ptrdiff_t>(range.begin);
  const auto end = column.begin() + static_cast<std::ptrdiff_t>(range.end);
  const auto found = std::equal_range(begin, end, value);
  return {static_cast<std::size_t>(found.first - column.begin()), static_cast<std::size_t>(found.second - column.begin())};
}

// The part that has this index with the fewest tuples left.
std::size_t JoinWalk::driver(std::size_t index, const std::vector<Range>& ranges) const {
  std::size_t fewest = parts_.size();
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].column_of[index] == parts_[part].columns.size()) continue;
    if (fewest == parts_.size() || ranges[part].size() < ranges[fewest].size()) fewest = part;
  }
  return fewest;
}

double JoinWalk::below(std::size_t index, const std::vector<Range>& ranges) {
  if (left_ < 0) return 0;
  if (kept_ != nullptr && !is_new(index, ranges)) return 0;
  if (index == shared_) {
    if (kept_ != nullptr) meet(0, bound_, ranges);
    double product = 1;
    for (const Range& range : ranges) product *= static_cast<double>(range.size());
    return product;
  }
  const std::size_t driving_part = driver(index, ranges);
  const std::vector<std::uint64_t>& driving = parts_[driving_part].columns[parts_[driving_part].column_of[index]];
  const Range driven = ranges[driving_part];
  double total = 0;
  std::vector<Range> inner = ranges;
  for (std::size_t place = driven.begin; place < driven.end && left_ >= 0;) {
    const std::uint64_t value = driving[place];
    bool met = true;
    for (std::size_t part = 0; part < parts_.size() && met; ++part) {
      const std::size_t column = parts_[part].column_of[index];
      if (column == parts_[part].columns.size()) continue;
      left_ -= 1;
      inner[part] = equal_range(parts_[part].columns[column], ranges[part], value);
      met = inner[part].size() > 0;
    }
    place = equal_range(driving, {place, driven.end}, value).end;
    if (!met) continue;
    const std::uint64_t outer = bound_;
    if (kept_ != nullptr && (*kept_)[index]) bound_ = hash_of(bound_ ^ value);
    total += below(index + 1, inner);
    bound_ = outer;
  }
  return total;
}

// The rest depends on the ranges of parts that have more columns, and on what was kept: A(i,j) * B(j,k) * C(k,l) goes on from
// (i, k) once, however many j lead there.
bool JoinWalk::is_new(std::size_t index, const std::vector<Range>& ranges) {
  std::uint64_t state = hash_of(bound_ ^ hash_of(index));
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    bool more = parts_[part].own < parts_[part].columns.size();
    for (std::size_t later = index; later < shared_; ++later) more = more || parts_[part].column_of[later] < parts_[part].columns.size();
    state = hash_of(state ^ (more ? hash_of(ranges[part].begin) + ranges[part].end : 0));
  }
  return seen_.insert(state).second;
}

// The combinations of the own columns of the parts from this one on.
void JoinWalk::meet(std::size_t part, std::uint64_t bound, const std::vector<Range>& ranges) {
  if (left_ < 0) return;
  if (part == parts_.size()) {
    left_ -= 1;
    met_.push_back(bound);
    return;
  }
  const auto& columns = parts_[part].columns;
  for (std::size_t place = ranges[part].begin; place < ranges[part].end; ++place) {
    std::uint64_t with = bound;
    for (std::size_t column = parts_[part].own; column < columns.size(); ++column) with = hash_of(with ^ columns[column][place]);
    meet(part + 1, with, ranges);
  }
}

}  // namespace weft
