#include "frontend/slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/text/error_at.h"
#include "engine/text/scanner.h"

namespace weft {
namespace {

constexpr std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

class SliceParser {
 public:
  explicit SliceParser(std::string_view text) : scanner_(text, " \t\n") {}

  Expected<Slice> parse() {
    Slice slice;
    while (true) {
      auto part = parse_part();
      if (!part) return std::unexpected(part.error());
      if (std::holds_alternative<SliceEllipsis>(*part) && std::ranges::count(slice, *part) > 0) {
        return wrong("'...' stands twice in a slice");
      }
      slice.push_back(*part);
      scanner_.skip_blanks();
      if (scanner_.at_end()) return slice;
      if (scanner_.at(".") && !scanner_.at("...")) return wrong("a slice is made of whole numbers");
      if (!scanner_.take(",")) return wrong("expected ',' between the parts of a slice");
    }
  }

 private:
  std::unexpected<Error> wrong(std::string message) const {
    return error_at(ErrorKind::input, scanner_.text(), std::move(message), {scanner_.next_character()});
  }

  Expected<std::optional<std::int64_t>> parse_number() {
    scanner_.skip_blanks();
    const Scanner before = scanner_;
    scanner_.take("+");
    const bool digits = is_digit(scanner_.next()) || (scanner_.at("-") && scanner_.rest().size() > 1 && is_digit(scanner_.rest()[1]));
    const auto value = scanner_.take_number<std::int64_t>();
    if (!value && digits) return wrong("a number of a slice is outside the range of 64 bits");
    if (!value) scanner_ = before;
    if (value) scanner_.skip_blanks();
    return value;
  }

  Expected<SlicePart> parse_part() {
    scanner_.skip_blanks();
    if (scanner_.take("...")) return SliceEllipsis{};
    const auto start = parse_number();
    if (!start) return std::unexpected(start.error());
    if (!scanner_.take(":")) {
      if (!*start) return wrong("a slice is made of numbers, start:stop:step and '...'");
      return **start;
    }
    SliceRange range{*start, {}, {}};
    const auto stop = parse_number();
    if (!stop) return std::unexpected(stop.error());
    range.stop = *stop;
    if (!scanner_.take(":")) return range;
    const auto step = parse_number();
    if (!step) return std::unexpected(step.error());
    if (*step == 0) return wrong("the step of a slice is 0");
    range.step = *step;
    return range;
  }

  Scanner scanner_;
};

/// numpy's rule for start and stop: from the end below 0, then cut to the extent. `before_first` is what lies before
/// coordinate 0: nothing for a range that ascends, a place of its own, 0, for one that descends from 1-based coordinates.
std::uint64_t bound(std::int64_t given, std::uint64_t extent, std::uint64_t before_first) {
  const std::uint64_t distance = magnitude(given);
  if (given < 0) return distance > extent ? 0 : extent - distance + before_first;
  return std::min(distance + before_first, extent);
}

Selected select_range(const SliceRange& range, std::uint64_t extent) {
  const std::int64_t step = range.step.value_or(1);
  const bool descends = step < 0;
  const std::uint64_t first = descends ? 1 : 0;
  const std::uint64_t start = range.start ? bound(*range.start, extent, first) : descends ? extent : 0;
  const std::uint64_t stop = range.stop ? bound(*range.stop, extent, first) : descends ? 0 : extent;
  const std::uint64_t length = descends ? (start > stop ? start - stop : 0) : (stop > start ? stop - start : 0);
  const std::uint64_t count = length == 0 ? 0 : (length - 1) / magnitude(step) + 1;
  return {count == 0 ? 0 : start - first, step, count, false};
}

}  // namespace

std::optional<std::uint64_t> Selected::place(std::uint64_t coordinate) const {
  if (count == 0 || coordinate < lowest() || coordinate > highest()) return std::nullopt;
  const std::uint64_t distance = step < 0 ? start - coordinate : coordinate - start;
  if (distance % magnitude(step) != 0) return std::nullopt;
  return distance / magnitude(step);
}

bool Selected::within(std::uint64_t extent) const {
  if (dropped && count != 1) return false;
  if (count == 0) return true;
  if (start >= extent) return false;
  const std::uint64_t room = step < 0 ? start : extent - 1 - start;
  return count == 1 || (step != 0 && (count - 1) <= room / magnitude(step));
}

std::uint64_t Selected::lowest() const { return step < 0 ? coordinate(count - 1) : start; }
std::uint64_t Selected::highest() const { return step < 0 ? start : coordinate(count - 1); }

Expected<Slice> parse_slice(std::string_view text) { return SliceParser(text).parse(); }

Expected<std::vector<Selected>> select(const Slice& slice, const std::vector<std::uint64_t>& extents,
                                       std::string_view name) {
  const std::size_t ellipses = static_cast<std::size_t>(std::ranges::count(slice, SlicePart(SliceEllipsis{})));
  const std::size_t given = slice.size() - ellipses;
  if (given > extents.size()) {
    return input_error(fmt::format("{} has {} mode{}, but the slice has {} parts", name, extents.size(),
                                   extents.size() == 1 ? "" : "s", given));
  }
  std::vector<Selected> selected;
  for (const SlicePart& part : slice) {
    const std::size_t mode = selected.size();
    if (std::holds_alternative<SliceEllipsis>(part)) {
      for (std::size_t missing = given; missing < extents.size(); ++missing) {
        selected.push_back({0, 1, extents[selected.size()], false});
      }
    } else if (const auto* range = std::get_if<SliceRange>(&part)) {
      selected.push_back(select_range(*range, extents[mode]));
    } else {
      const std::int64_t number = std::get<std::int64_t>(part);
      const std::uint64_t distance = magnitude(number);
      if (number < 0 ? distance > extents[mode] : distance >= extents[mode]) {
        return input_error(fmt::format("{} is out of range: mode {} of {} has extent {}", number, mode, name, extents[mode]));
      }
      selected.push_back({number < 0 ? extents[mode] - distance : distance, 1, 1, true});
    }
  }
  while (selected.size() < extents.size()) selected.push_back({0, 1, extents[selected.size()], false});
  return selected;
}

std::vector<Selected> select_all(const std::vector<std::uint64_t>& extents) {
  std::vector<Selected> selected;
  for (const std::uint64_t extent : extents) selected.push_back({0, 1, extent, false});
  return selected;
}

}  // namespace weft
