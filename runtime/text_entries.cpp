#include "runtime/text_entries.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/block.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "runtime/text_number.h"

namespace weft {

namespace {

/// Where a thread parses a block before the coordinates' width is known: one column of 64-bit coordinates per mode.
struct Scratch {
  Buffer memory;
  std::size_t capacity = 0;  ///< entries
};

/// Grows the scratch to what text of this size can hold at most: every field takes a character and a separator.
Expected<void> make_room(Scratch& scratch, std::size_t text_bytes, const EntryRules& rules, const Memory& memory) {
  const std::size_t fields = rules.order + (rules.values == EntryRules::Values::none ? 0 : 1);
  const std::size_t capacity = text_bytes / (2 * std::max<std::size_t>(fields, 1)) + 1;
  if (capacity <= scratch.capacity) return {};
  scratch = Scratch();
  Expected<Buffer> columns = mapped_buffer(capacity * (rules.order + 1) * 8, memory, "coordinates being parsed");
  if (!columns) return std::unexpected(columns.error());
  scratch.memory = std::move(*columns);
  scratch.capacity = capacity;
  return {};
}

template <class T>
struct ParsedLines {
  std::size_t entries = 0;
  std::uint64_t lines = 0;
  const char* bad_line = nullptr;  ///< where parsing stopped, if it did
};

/// The inner loop of reading: only detects defects, which entry_defect explains.
template <class T>
ParsedLines<T> parse_lines(std::string_view text, const EntryRules& rules, std::uint64_t* columns,
                           std::size_t capacity) {
  const std::size_t order = rules.order;
  T* const values = reinterpret_cast<T*>(columns + order * capacity);
  const bool with_values = rules.values != EntryRules::Values::none;
  const bool integers = rules.values == EntryRules::Values::integer;
  const char* at = text.data();
  const char* const end = at + text.size();
  ParsedLines<T> parsed;
  while (at != end) {
    const char* const line = at;
    ++parsed.lines;
    at = skip_blanks(at);
    if (is_line_end(at)) {
      at += *at == '\r' ? 2 : 1;
      continue;
    }
    if (*at == rules.comment) {
      at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))) + 1;
      continue;
    }
    parsed.bad_line = line;
    std::uint64_t* column = columns + parsed.entries;
    for (std::size_t mode = 0; mode != order; ++mode, column += capacity) {
      std::uint64_t coordinate = 0;
      if (!scan_unsigned(at, coordinate) || !ends_field(at)) return parsed;
      // Coordinate 0 becomes the largest number and fails the range check with those that are too large.
      *column = coordinate - 1;
      at = skip_blanks(at);
    }
    if (with_values) {
      const char* const begin = at;
      if (scan_real(at, end, values[parsed.entries]) != NumberDefect::none || !ends_field(at)) return parsed;
      if (integers) {
        const char* const digits = begin + (*begin == '-' || *begin == '+');
        if (!std::all_of(digits, at, is_digit) || !is_exact({digits, at}, values[parsed.entries])) return parsed;
      }
      at = skip_blanks(at);
    }
    if (!is_line_end(at)) return parsed;
    at += *at == '\r' ? 2 : 1;
    ++parsed.entries;
  }
  parsed.bad_line = nullptr;
  return parsed;
}

struct FirstDefect {
  std::size_t entry = std::numeric_limits<std::size_t>::max();
  std::string reason;
  ErrorCode code = ErrorCode::out_of_range;
};

/// The first entry whose coordinates break the extents or the triangle.
FirstDefect check_coordinates(const std::uint64_t* columns, std::size_t capacity, std::size_t entries,
                              std::span<const std::uint64_t> maxima, const EntryRules& rules) {
  FirstDefect first;
  for (std::size_t mode = 0; mode != rules.order; ++mode) {
    const std::uint64_t extent =
        rules.extents.empty() ? largest_extent : rules.extents[mode];
    if (entries == 0 || maxima[mode] < extent) continue;
    const std::uint64_t* const column = columns + mode * capacity;
    const auto entry = static_cast<std::size_t>(
        std::find_if(column, column + entries, [&](std::uint64_t c) { return c >= extent; }) - column);
    if (entry < first.entry) first = {entry, range_defect(column[entry], mode, rules)};
  }
  if (rules.symmetry == EntryRules::Symmetry::general) return first;
  const bool skew = rules.symmetry == EntryRules::Symmetry::skew_symmetric;
  for (std::size_t n = 0; n != std::min(entries, first.entry); ++n) {
    const std::uint64_t row = columns[n];
    const std::uint64_t column = columns[capacity + n];
    if (row > column || (row == column && !skew)) continue;
    return {n, triangle_defect(row, column, rules), ErrorCode::syntax};
  }
  return first;
}

template <class C>
void narrow_columns(const std::uint64_t* columns, std::size_t capacity, std::size_t entries, std::size_t order, C* to,
                    std::uint64_t stride) {
  for (std::size_t mode = 0; mode != order; ++mode) {
    const std::uint64_t* const from = columns + mode * capacity;
    C* const target = to + mode * stride;
    for (std::size_t n = 0; n != entries; ++n) target[n] = static_cast<C>(from[n]);
  }
}

/// Appends (column, row) for every entry (row, column) off the diagonal.
template <class T, class C>
void mirror(T* values, C* coordinates, std::uint64_t stride, std::size_t entries, bool negate) {
  C* const rows = coordinates;
  C* const columns = coordinates + stride;
  std::size_t next = entries;
  for (std::size_t n = 0; n != entries; ++n) {
    if (rows[n] == columns[n]) continue;
    rows[next] = columns[n];
    columns[next] = rows[n];
    values[next++] = negate ? -values[n] : values[n];
  }
}

template <class T>
Expected<ParsedEntries::Block> store_block(const std::uint64_t* columns, std::size_t capacity, std::size_t entries,
                                           std::span<const std::uint64_t> maxima, const EntryRules& rules,
                                           const Memory& memory) {
  ParsedEntries::Block block;
  std::size_t mirrored = 0;
  if (rules.symmetry != EntryRules::Symmetry::general) {
    for (std::size_t n = 0; n != entries; ++n) mirrored += columns[n] != columns[capacity + n];
  }
  block.count = entries + mirrored;
  block.wide = std::any_of(maxima.begin(), maxima.end(), [](std::uint64_t m) { return m >= narrow_numbers; });
  const std::uint64_t bytes = block.count * (sizeof(T) + rules.order * (block.wide ? 8u : 4u));
  // The coordinates of 64 bits stand behind the values, at a multiple of their size.
  const std::uint64_t value_bytes = (block.count * sizeof(T) + 7) / 8 * 8;
  Expected<Buffer> memory_block =
      mapped_buffer(bytes + value_bytes - block.count * sizeof(T), memory, "parsed entries", Pages::at_once);
  if (!memory_block) return std::unexpected(memory_block.error());
  block.columns = std::move(*memory_block);
  char* const base = static_cast<char*>(block.columns.data());
  T* const values = reinterpret_cast<T*>(base);
  if (rules.values == EntryRules::Values::none) {
    std::fill_n(values, entries, T{1});
  } else if (entries > 0) {
    std::memcpy(values, columns + rules.order * capacity, entries * sizeof(T));
  }
  const bool negate = rules.symmetry == EntryRules::Symmetry::skew_symmetric;
  const auto store = [&]<class C>(C* coordinates) {
    narrow_columns(columns, capacity, entries, rules.order, coordinates, block.count);
    if (mirrored > 0) mirror(values, coordinates, block.count, entries, negate);
  };
  if (block.wide) {
    store(reinterpret_cast<std::uint64_t*>(base + value_bytes));
  } else {
    store(reinterpret_cast<std::uint32_t*>(base + value_bytes));
  }
  return block;
}

std::string_view line_at(std::string_view text, const char* begin) {
  const std::string_view rest = text.substr(static_cast<std::size_t>(begin - text.data()));
  return rest.substr(0, rest.find('\n') + 1);
}

/// What one thread found in one block.
struct BlockResult {
  BlockOutcome outcome;
  ParsedEntries::Block block;
  std::uint64_t entries = 0;
  std::vector<std::uint64_t> maxima;
};

template <class T>
BlockResult parse_block(std::string_view text, const EntryRules& rules, Scratch& scratch, const Memory& memory) {
  BlockResult result;
  if (const Expected<void> room = make_room(scratch, text.size(), rules, memory); !room) {
    result.outcome.defect = LineError{1, room.error()};
    return result;
  }
  std::uint64_t* const columns = static_cast<std::uint64_t*>(scratch.memory.data());
  const ParsedLines<T> parsed = parse_lines<T>(text, rules, columns, scratch.capacity);
  result.outcome.lines = parsed.lines;
  result.entries = parsed.entries;
  for (std::size_t mode = 0; mode != rules.order && parsed.entries > 0; ++mode) {
    const std::uint64_t* const column = columns + mode * scratch.capacity;
    result.maxima.push_back(*std::max_element(column, column + parsed.entries));
  }
  FirstDefect first = check_coordinates(columns, scratch.capacity, parsed.entries, result.maxima, rules);
  if (!first.reason.empty()) {
    const std::uint64_t line = line_of_entry(text, first.entry, rules.comment);
    result.outcome.defect = LineError{line, Error{ErrorKind::input, std::move(first.reason), first.code}};
    return result;
  }
  if (parsed.bad_line != nullptr) {
    std::string reason = entry_defect(line_at(text, parsed.bad_line), rules);
    result.outcome.defect = LineError{parsed.lines, Error{ErrorKind::input, std::move(reason)}};
    return result;
  }
  Expected<ParsedEntries::Block> block =
      store_block<T>(columns, scratch.capacity, parsed.entries, result.maxima, rules, memory);
  if (block) {
    result.block = std::move(*block);
  } else {
    result.outcome.defect = LineError{1, block.error()};
  }
  return result;
}

template <class To, class From>
void copy_column(To* to, const From* from, std::uint64_t count) {
  for (std::uint64_t n = 0; n != count; ++n) to[n] = static_cast<To>(from[n]);
}

}  // namespace

std::uint64_t ParsedEntries::count() const {
  std::uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.count;
  return sum;
}

Expected<ParsedEntries> parse_entries(TextReader& reader, const EntryRules& rules, const Resources& resources) {
  ParsedEntries entries;
  entries.extents.assign(rules.order, 0);
  std::vector<Scratch> scratch(resources.threads.count());
  std::mutex mutex;  // guards entries
  const BlockParser parser = [&](std::size_t number, std::string_view text, unsigned slot) {
    BlockResult result = with_element(
        rules.scalar, [&]<class T>(T) { return parse_block<T>(text, rules, scratch[slot], resources.memory); });
    const std::lock_guard lock(mutex);
    if (entries.blocks.size() <= number) entries.blocks.resize(number + 1);
    entries.blocks[number] = std::move(result.block);
    entries.lines += result.entries;
    for (std::size_t mode = 0; mode != result.maxima.size(); ++mode) {
      // A defect may have left the largest number here; then the extents are not used.
      entries.extents[mode] = std::max(entries.extents[mode], result.maxima[mode] + 1);
    }
    return std::move(result.outcome);
  };
  if (Expected<void> parsed = reader.for_each_block(parser); !parsed) return std::unexpected(parsed.error());
  if (rules.symmetry != EntryRules::Symmetry::general) {
    entries.extents[0] = entries.extents[1] = std::max(entries.extents[0], entries.extents[1]);
  }
  return entries;
}

Expected<Coordinates> join_entries(ParsedEntries entries, std::vector<std::uint64_t> extents, Scalar scalar,
                                   const Resources& resources, const std::string& path) {
  const std::size_t order = extents.size();
  Coordinates joined;
  joined.extents = std::move(extents);
  joined.scalar = scalar;
  joined.count = entries.count();
  const std::string what = "entries of " + path;
  for (std::size_t mode = 0; mode != order; ++mode) {
    const std::uint64_t width = coordinate_bits(joined.extents[mode]) / 8;
    Expected<Buffer> column = Buffer::allocate(joined.count * width, resources.memory, what);
    if (!column) return std::unexpected(column.error());
    joined.crd.push_back(std::move(*column));
  }
  Expected<Buffer> values = Buffer::allocate(joined.count * scalar_bytes(scalar), resources.memory, what);
  if (!values) return std::unexpected(values.error());
  joined.values = std::move(*values);

  std::vector<std::uint64_t> offsets;
  std::uint64_t offset = 0;
  for (const ParsedEntries::Block& block : entries.blocks) {
    offsets.push_back(offset);
    offset += block.count;
  }
  const unsigned scalar_size = scalar_bytes(scalar);
  resources.threads.for_each(entries.blocks.size(), [&](std::size_t number, unsigned) {
    ParsedEntries::Block block = std::exchange(entries.blocks[number], {});
    if (block.count == 0 || resources.cancellation.cancelled()) return;
    const char* from = static_cast<const char*>(block.columns.data());
    char* const target = static_cast<char*>(joined.values.data()) + offsets[number] * scalar_size;
    std::memcpy(target, from, block.count * scalar_size);
    from += (block.count * scalar_size + 7) / 8 * 8;
    for (std::size_t mode = 0; mode != order; ++mode, from += block.count * (block.wide ? 8u : 4u)) {
      const auto* const narrow = reinterpret_cast<const std::uint32_t*>(from);
      const auto* const wide = reinterpret_cast<const std::uint64_t*>(from);
      if (coordinate_bits(joined.extents[mode]) == 32) {
        std::uint32_t* const to = joined.crd[mode].as<std::uint32_t>().data() + offsets[number];
        block.wide ? copy_column(to, wide, block.count) : copy_column(to, narrow, block.count);
      } else {
        std::uint64_t* const to = joined.crd[mode].as<std::uint64_t>().data() + offsets[number];
        block.wide ? copy_column(to, wide, block.count) : copy_column(to, narrow, block.count);
      }
    }
  });
  if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while reading " + path);
  return joined;
}

}  // namespace weft
