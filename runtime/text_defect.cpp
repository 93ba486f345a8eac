#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/text_entries.h"
#include "runtime/text_number.h"

namespace weft {

std::string quoted(std::string_view text) {
  std::string quote = "'";
  for (const char c : text.substr(0, 40)) quote += c < 32 || c > 126 ? '?' : c;
  return quote + (text.size() > 40 ? "...'" : "'");
}

std::uint64_t line_of_entry(std::string_view text, std::uint64_t entry, char comment) {
  std::uint64_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t length = text.find('\n') + 1;
    const char* const first = skip_blanks(text.data());
    if (!is_line_end(first) && *first != comment && entry-- == 0) return line;
    text.remove_prefix(length);
  }
  return 0;
}

std::string range_defect(std::uint64_t coordinate, std::size_t mode, const EntryRules& rules) {
  if (coordinate == std::numeric_limits<std::uint64_t>::max()) {
    return fmt::format(
        "coordinate 0 in mode {}: coordinates count from 1; where a file counts from 0, "
        "awk '{{ for (f = 1; f < NF; ++f) ++$f }} 1' adds it",
        mode);
  }
  if (rules.extents.empty()) {
    return fmt::format("coordinate {} in mode {} is above 2^63 - 1, the largest extent", coordinate + 1, mode);
  }
  return fmt::format("coordinate {} in mode {} exceeds {}, whose extent there is {}", coordinate + 1, mode,
                     rules.extents_origin, rules.extents[mode]);
}

std::string triangle_defect(std::uint64_t row, std::uint64_t column, const EntryRules& rules) {
  if (row == column) {
    return fmt::format("entry ({}, {}) on the diagonal of a skew-symmetric matrix, which is zero by definition",
                       row + 1, column + 1);
  }
  const bool skew = rules.symmetry == EntryRules::Symmetry::skew_symmetric;
  return fmt::format("entry ({}, {}) above the diagonal: a {} file holds the lower triangle only", row + 1, column + 1,
                     skew ? "skew-symmetric" : "symmetric");
}

std::string entry_defect(std::string_view line, const EntryRules& rules) {
  std::vector<std::string_view> fields;
  const auto blank = [](char c) { return is_blank(c) || c == '\n'; };
  if (line.ends_with("\r\n")) line.remove_suffix(2);
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && blank(line[at])) ++at;
    const std::size_t begin = at;
    while (at < line.size() && !blank(line[at])) ++at;
    if (at > begin) fields.push_back(line.substr(begin, at - begin));
  }
  for (const std::string_view field : fields) {
    if (field.find(',') == std::string_view::npos) continue;
    return fmt::format("{} has a comma: fields are separated by blanks; tr , ' ' makes them so", quoted(field));
  }
  const bool with_value = rules.values != EntryRules::Values::none;
  const std::size_t expected = rules.order + (with_value ? 1 : 0);
  for (std::size_t n = 0; n < std::min(fields.size(), expected); ++n) {
    const std::string text = std::string(fields[n]) + '\n';
    const char* at = text.data();
    if (n < rules.order) {
      std::uint64_t coordinate = 0;
      const bool digits = std::all_of(fields[n].begin(), fields[n].end(), is_digit);
      if (scan_unsigned(at, coordinate) && *at == '\n') continue;
      if (digits) return fmt::format("coordinate {} in mode {} exceeds 64 bits", quoted(fields[n]), n);
      const std::string_view magnitude = fields[n].substr(fields[n].starts_with('-') ? 1 : 0);
      if (!magnitude.empty() && std::all_of(magnitude.begin(), magnitude.end(), is_digit)) {
        return fmt::format("coordinate {} in mode {} is negative: coordinates count from 1", fields[n], n);
      }
      if (fields.size() != expected) break;
      return fmt::format("{} in mode {} is not a coordinate (a whole number from 1 on)", quoted(fields[n]), n);
    }
    double real = 0;
    float single = 0;
    const char* const end = at + text.size();
    const NumberDefect defect = rules.scalar == Scalar::f64 ? scan_real(at, end, real) : scan_real(at, end, single);
    if (fields.size() != expected) break;
    if (defect == NumberDefect::overflow && *at == '\n') {
      return fmt::format("the value {} overflows {}", quoted(fields[n]), name(rules.scalar));
    }
    if (defect != NumberDefect::none || *at != '\n') return fmt::format("{} is not a number", quoted(fields[n]));
    const std::string_view digits = fields[n].substr(fields[n].starts_with('-') || fields[n].starts_with('+') ? 1 : 0);
    if (rules.values == EntryRules::Values::integer && !std::all_of(digits.begin(), digits.end(), is_digit)) {
      return fmt::format("{} is not an integer, which the header promises", quoted(fields[n]));
    }
    const bool exact = rules.scalar == Scalar::f64 ? is_exact(digits, real) : is_exact(digits, single);
    if (rules.values == EntryRules::Values::integer && !exact) {
      return fmt::format("{} is an integer that {} cannot hold exactly; with 'real' in the header it is rounded", quoted(fields[n]),
                         name(rules.scalar));
    }
  }
  return fmt::format("{} {}, expected {} ({} {}{})", fields.size(), fields.size() == 1 ? "field" : "fields", expected,
                     rules.order, rules.order == 1 ? "coordinate" : "coordinates", with_value ? " and a value" : "");
}

}  // namespace weft
