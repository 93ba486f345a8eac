// Texts of real programs, damaged at random: whatever comes of them, every stage answers with a value or an error.
#include <doctest/doctest.h>

#include <random>

#include "engine/loop/equivalence.h"
#include "engine/loop/program.h"
#include "tests/files/loop_case.h"
#include "tests/unit/loop/damage.h"
#include "tests/unit/share.h"

namespace damaged_text_test {

using namespace weft;
using namespace weft::loop;

TEST_CASE("damaged texts are refused or understood, never more") {
  const auto cases = test::read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop");
  REQUIRE(cases.has_value());
  std::mt19937_64 random(20250117);
  std::size_t parsed = 0;
  std::size_t verified = 0;
  std::uint64_t number = 0;
  for (int round = 0; round < 60; ++round)
    for (const test::LoopCase& each : *cases) {
      const std::string text = test::damaged(each.program_text, random);
      if (!test::is_drawn_sanitized(number++)) continue;
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

}  // namespace damaged_text_test
