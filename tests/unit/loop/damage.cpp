#include "tests/unit/loop/damage.h"

#include <utility>
#include <vector>

#include "engine/loop/lexer.h"

namespace weft::test {
namespace {

using Texts = std::vector<std::vector<std::string>>;  // per line: the indentation and the tokens

Texts taken_apart(const std::string& text) {
  Texts lines;
  const auto lexed = loop::lex(text);
  if (!lexed) return lines;
  for (const loop::Line& line : *lexed) {
    lines.push_back({std::string(line.indent, ' ')});
    for (const loop::Token& token : line.tokens) lines.back().emplace_back(token.text);
  }
  return lines;
}

std::string joined(const Texts& lines) {
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t n = 0; n < line.size(); ++n) text += (n > 1 ? " " : "") + line[n];
    text += "\n";
  }
  return text;
}

void damage(Texts& lines, std::mt19937_64& random) {
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  auto& line = lines[below(lines.size())];
  switch (below(7)) {
    case 0:
      line.erase(line.begin() + static_cast<std::ptrdiff_t>(below(line.size())));
      if (line.empty()) line.push_back("");
      break;
    case 1:
      std::swap(line[below(line.size())], line[below(line.size())]);
      break;
    case 2: {
      const auto& other = lines[below(lines.size())];
      line[below(line.size())] = other[below(other.size())];
      break;
    }
    case 3:
      line.front() += "  ";
      break;
    case 4:
      line.front() = line.front().substr(0, line.front().size() / 2);
      break;
    case 5:
      std::swap(line, lines[below(lines.size())]);
      break;
    default: {
      const auto copy = lines[below(lines.size())];
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())), copy);
    }
  }
}

}  // namespace

std::string damaged(const std::string& text, std::mt19937_64& random) {
  Texts lines = taken_apart(text);
  for (std::size_t count = 1 + random() % 3; count > 0 && !lines.empty(); --count) damage(lines, random);
  return joined(lines);
}

}  // namespace weft::test
