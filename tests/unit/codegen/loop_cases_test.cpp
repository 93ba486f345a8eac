// Every text case as native code: all vector widths, checked, with strict arithmetic, and with the root loop cut.
#include <doctest/doctest.h>

#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"

using namespace weft;

TEST_CASE("every text case as native code") {
  const Expected<std::vector<test::LoopCase>> cases = test::read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop");
  REQUIRE_MESSAGE(cases.has_value(), cases.error().message);
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  std::size_t run = 0;
  std::size_t refused = 0;
  for (const test::LoopCase& each : *cases) {
    if (each.error) continue;
    CAPTURE(each.name);
    REQUIRE(!each.expected.empty());
    const Target host = test::host_with_bits(512);
    const Expected<ObjectCode> object = compile(each.program, host, {});
    if (!object && object.error().message.starts_with("no code is written yet")) {
      ++refused;
      continue;
    }
    ++run;
    const auto check = [&](const Target& target, const CodeOptions& options, const std::vector<std::uint64_t>& cuts) {
      CAPTURE(options.text());
      CAPTURE(target.cpu);
      const auto found = test::run_native(*jit, each.program, each.values, target, options, cuts);
      REQUIRE_MESSAGE(found.has_value(), found.error().message);
      CHECK(test::difference(each.program, each.expected, *found) == "");
    };
    check(host, {}, {});
    check(host, {}, {1, 2});
    check(host, {.checked = true, .strict_fp = false}, {});
    check(host, {.checked = false, .strict_fp = true}, {2});
    check(test::host_with_bits(256), {}, {1});
    check(test::host_with_bits(128), {}, {});
  }
  MESSAGE(run, " cases run, ", refused, " not yet");
  CHECK(run >= 40);
}
