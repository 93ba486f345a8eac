// Texts of real programs, damaged at random: whatever comes of them, every stage answers with a value or an error.
#include <doctest/doctest.h>

#include <random>

#include "engine/loop/equivalence.h"
#include "engine/loop/lexer.h"
#include "engine/loop/program.h"
#include "tests/files/loop_case.h"

using namespace weft;
using namespace weft::loop;

namespace {

using Texts = std::vector<std::vector<std::string>>;  // per line: the indentation and the tokens

Texts taken_apart(const std::string& text) {
  Texts lines;
  const auto lexed = lex(text);
  REQUIRE(lexed.has_value());
  for (const Line& line : *lexed) {
    lines.push_back({std::string(line.indent, ' ')});
    for (const Token& token : line.tokens) lines.back().emplace_back(token.text);
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

TEST_CASE("damaged texts are refused or understood, never more") {
  const auto cases = test::read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop");
  REQUIRE(cases.has_value());
  std::mt19937_64 random(20250117);
  std::size_t parsed = 0;
  std::size_t verified = 0;
  for (int round = 0; round < 60; ++round)
    for (const test::LoopCase& each : *cases) {
      Texts lines = taken_apart(each.program_text);
      for (std::size_t count = 1 + random() % 3; count > 0; --count) damage(lines, random);
      const std::string text = joined(lines);
      CAPTURE(each.name);
      CAPTURE(text);
      const Expected<Program> program = parse(text);
      if (!program) {
        CHECK(program.error().kind != ErrorKind::internal);
        continue;
      }
      ++parsed;
      const Expected<Program> again = parse(print(*program));
      REQUIRE_MESSAGE(again.has_value(), again.error().message);
      CHECK(*again == *program);
      if (const Expected<void> checked = verify(*program); !checked) {
        CHECK(checked.error().kind != ErrorKind::internal);
        continue;
      }
      ++verified;
      const Program small = canonical(*program).program;
      CHECK(verify(small).has_value());
      CHECK(canonical(small).program == small);
      CHECK(definitions(*program).has_value());
    }
  CHECK(parsed > 100);
  CHECK(verified > 20);
  MESSAGE("parsed ", parsed, ", verified ", verified);
}
