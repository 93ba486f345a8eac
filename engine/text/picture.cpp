#include "engine/text/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace weft {
namespace {

// What a terminal shows without wrapping; longer lines are cut around their places.
constexpr std::size_t widest_line = 160;
constexpr std::size_t before_place = 40;
constexpr std::size_t most_pictures = 4;

struct Character {
  std::size_t bytes = 1;
  std::uint32_t code = 0;
  bool valid = true;
};

Character decode(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t offset) { return static_cast<unsigned char>(text[position + offset]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, first, true};
  const std::size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xc2 && first < 0xe0 ? 2 : 0;
  if (length == 0 || position + length > text.size()) return {1, first, false};
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t offset = 1; offset < length; ++offset) {
    if ((byte(offset) & 0xc0U) != 0x80) return {1, first, false};
    code = (code << 6) | (byte(offset) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {1, first, false};
  return {length, code, true};
}

// Control characters, and marks that change the direction or the width of what follows, must not reach a terminal.
bool prints_as_one_column(const Character& character) {
  const std::uint32_t code = character.code;
  if (!character.valid || code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  if (code >= 0x300 && code < 0x370) return false;
  return !((code >= 0x200b && code < 0x2010) || (code >= 0x2028 && code < 0x2030) || (code >= 0x2060 && code < 0x2070) ||
           code == 0xfeff);
}

struct Line {
  std::vector<std::string> columns;
  std::vector<std::size_t> begins;  // byte of each column, and of the end
};

Line columns_of(std::string_view text, std::size_t begin, std::size_t end) {
  Line line;
  for (std::size_t position = begin; position < end;) {
    const Character character = decode(text.substr(0, end), position);
    line.begins.push_back(position);
    if (character.code == '\t') {
      line.columns.emplace_back(" ");
    } else if (prints_as_one_column(character)) {
      line.columns.emplace_back(text.substr(position, character.bytes));
    } else {
      line.columns.emplace_back("?");
    }
    position += character.bytes;
  }
  line.begins.push_back(end);
  return line;
}

// One window of a line: the text between two columns, and carets.
std::string window(const Line& line, std::size_t from, std::size_t to, const std::vector<std::size_t>& carets) {
  const bool cut_before = from > 0;
  std::string shown = cut_before ? "  ..." : "  ";
  for (std::size_t column = from; column < to; ++column) shown += line.columns[column];
  if (to < line.columns.size()) shown += "...";
  std::string marks;
  for (const std::size_t column : carets) {
    marks.resize(column - from + (cut_before ? 5 : 2), ' ');
    marks += '^';
  }
  return shown + '\n' + marks;
}

}  // namespace

std::string picture(std::string_view text, const std::vector<Span>& places) {
  std::vector<std::size_t> begins;
  for (const Span& place : places) begins.push_back(std::min(place.begin, text.size()));
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());

  std::string all;
  std::size_t pictures = 0;
  for (std::size_t next = 0; next < begins.size() && pictures < most_pictures;) {
    const std::size_t before = begins[next] == 0 ? std::string_view::npos : text.rfind('\n', begins[next] - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', begins[next]), text.size());
    const bool ends_in_return = end > begin && text[end - 1] == '\r';
    const Line line = columns_of(text, begin, ends_in_return ? end - 1 : end);
    std::vector<std::size_t> carets;
    for (; next < begins.size() && begins[next] <= end; ++next) {
      const auto after = std::upper_bound(line.begins.begin(), line.begins.end(), begins[next]);
      carets.push_back(static_cast<std::size_t>(after - line.begins.begin()) - 1);
    }
    for (std::size_t caret = 0; caret < carets.size() && pictures < most_pictures; ++pictures) {
      std::size_t from = 0;
      std::size_t to = line.columns.size();
      if (to > widest_line) {
        from = carets[caret] < widest_line ? 0 : carets[caret] - before_place;
        to = std::min(to, from + widest_line);
      }
      std::vector<std::size_t> inside;
      for (; caret < carets.size() && carets[caret] <= to; ++caret) inside.push_back(carets[caret]);
      if (!all.empty()) all += '\n';
      all += window(line, from, to, inside);
    }
  }
  return all;
}

std::string name_character(std::string_view text, std::size_t position) {
  const Character character = decode(text, position);
  if (!character.valid) return fmt::format("byte 0x{:02x}", character.code);
  if (!prints_as_one_column(character)) return fmt::format("U+{:04X}", character.code);
  const std::string_view shown = text.substr(position, character.bytes);
  return character.code < 0x80 ? fmt::format("'{}'", shown) : fmt::format("'{}' (U+{:04X})", shown, character.code);
}

}  // namespace weft
