#include "fuzz/mutate_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft::fuzz {
namespace {

/// Words, blanks and single signs; joined they are the line again.
using Line = std::vector<std::string>;

Line taken_apart(std::string_view text) {
  const auto kind = [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return std::isalnum(byte) != 0 || letter == '_' || letter == '.' ? 1 : letter == ' ' ? 2 : 0;
  };
  Line words;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && kind(text[at]) != 0 && kind(text[at]) == kind(text[at - 1])) {
      words.back() += text[at];
    } else {
      words.emplace_back(1, text[at]);
    }
  }
  return words;
}

void change(std::vector<Line>& lines, std::mt19937_64& random) {
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  const auto place = [](auto& values, std::size_t at) { return values.begin() + static_cast<std::ptrdiff_t>(at); };
  Line& line = lines[below(lines.size())];
  const std::size_t what = below(8);
  if (what < 4 && line.empty()) return;
  if (what == 0) {
    line.erase(place(line, below(line.size())));
  } else if (what == 1) {
    std::swap(line[below(line.size())], line[below(line.size())]);
  } else if (what <= 3) {
    const Line& other = lines[below(lines.size())];
    if (other.empty()) return;
    const std::string word = other[below(other.size())];
    if (what == 2) line[below(line.size())] = word;
    if (what == 3) line.insert(place(line, below(line.size() + 1)), word);
  } else if (what == 4) {
    const bool indented = !line.empty() && line.front().front() == ' ';
    if (indented && below(2) == 0)
      line.erase(line.begin());
    else
      line.insert(line.begin(), "  ");
  } else if (what == 5) {
    std::swap(line, lines[below(lines.size())]);
  } else if (what == 6) {
    if (lines.size() > 1) lines.erase(place(lines, below(lines.size())));
  } else {
    const Line copy = line;
    lines.insert(place(lines, below(lines.size() + 1)), copy);
  }
}

}  // namespace

std::string mutated_text(std::string_view text, std::mt19937_64& random) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(taken_apart(text.substr(at, end - at)));
    at = end + 1;
  }
  for (std::size_t count = 1 + random() % 3; count > 0; --count) change(lines, random);
  std::string joined;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    if (n > 0) joined += '\n';
    for (const std::string& word : lines[n]) joined += word;
  }
  return joined;
}

}  // namespace weft::fuzz
