// Every text case as native code: all vector widths, checked, with strict arithmetic, and with the root loop cut.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/share.h"

namespace loop_cases_test {

using namespace weft;

namespace {

/// Nearly all the time is LLVM's, which no sanitizer sees: a sanitized build takes the ten variants in turns, from case to case
/// beginning with another one; so does every run but the long one.
const std::size_t sanitized_turns = test::is_sanitized() ? 3 : 1;
constexpr std::size_t usual_turns = 5;

bool is_in_turn(std::size_t variant) {
  return variant % sanitized_turns == 0 && test::is_drawn(variant / sanitized_turns, usual_turns);
}

/// Loops that read a dense workspace visit all of it; by meaning, only what was accumulated.
bool reads_dense_workspace(const loop::Program& program) {
  return std::ranges::any_of(program.storages, [](const loop::Storage& storage) {
    return storage.role == loop::Role::workspace &&
           std::ranges::any_of(storage.levels, [](const Level& level) { return level.kind == LevelKind::dense; });
  });
}

/// How many entries every compressed level has.
std::map<std::string, std::vector<std::uint64_t>> sizes_of(const loop::Program& program,
                                                           const std::map<std::string, loop::Entries>& outputs) {
  std::map<std::string, std::vector<std::uint64_t>> sizes;
  for (const std::uint32_t id : signature(program).appended) {
    const loop::Storage& storage = program.storages[id];
    std::vector<std::uint64_t>& of_levels = sizes[storage.name];
    for (std::size_t level = 0; level < storage.levels.size(); ++level) {
      std::set<std::vector<std::uint64_t>> prefixes;
      for (const auto& [coordinates, value] : outputs.at(storage.name))
        prefixes.emplace(coordinates.begin(), coordinates.begin() + static_cast<std::ptrdiff_t>(level) + 1);
      of_levels.push_back(storage.levels[level].kind == LevelKind::dense ? 0 : prefixes.size());
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("every text case as native code") {
  Expected<std::vector<test::LoopCase>> cases = test::read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop");
  REQUIRE_MESSAGE(cases.has_value(), cases.error().message);
  Expected<std::vector<test::LoopCase>> sparse =
      test::read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop/sparse_results");
  REQUIRE_MESSAGE(sparse.has_value(), sparse.error().message);
  std::ranges::move(*sparse, std::back_inserter(*cases));
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  std::size_t run = 0;
  std::size_t counted = 0;
  std::size_t symbolic = 0;
  std::size_t variant = 0;
  for (const test::LoopCase& each : *cases) {
    if (each.error) continue;
    CAPTURE(each.name);
    REQUIRE(!each.expected.empty());
    const Target host = test::host_with_bits(512);
    const Expected<ObjectCode> object = compile(each.program, host, {});
    REQUIRE_MESSAGE(object.has_value(), object.error().message);  // what verifies is compiled
    ++run;
    const auto check = [&](const Target& target, const CodeOptions& options, const std::vector<std::uint64_t>& cuts) {
      if (!is_in_turn(variant++)) return;
      CAPTURE(options.text());
      CAPTURE(target.cpu);
      const auto found = test::run_native(*jit, each.program, each.values, target, options, cuts);
      REQUIRE_MESSAGE(found.has_value(), found.error().message);
      CHECK(test::difference(each.program, each.expected, *found) == "");
      const auto wanted = sizes_of(each.program, *found);
      if (wanted.empty()) return;
      ++symbolic;
      const auto sizes = test::symbolic_sizes(*jit, each.program, each.values, target, options, cuts);
      REQUIRE_MESSAGE(sizes.has_value(), sizes.error().message);
      CHECK(*sizes == wanted);
    };
    check(host, {}, {});
    check(host, {}, {1, 2});
    check(host, {.checked = true, .strict_fp = false}, {});
    check(host, {.checked = false, .strict_fp = true}, {2});
    check(test::host_with_bits(256), {}, {1});
    check(test::host_with_bits(128), {}, {});

    const auto expected = loop::iterations(each.program, each.values);
    REQUIRE(expected.has_value());
    const auto count = [&](const Target& target, const CodeOptions& options, const std::vector<std::uint64_t>& cuts) {
      if (!is_in_turn(variant++)) return;
      auto found = test::count_native(*jit, each.program, each.values, target, options, cuts);
      REQUIRE(found.has_value());
      CHECK(std::all_of(found->begin() + static_cast<std::ptrdiff_t>(expected->size()), found->end(),
                        [](std::uint64_t beyond) { return beyond == 0; }));
      found->resize(expected->size());
      if (reads_dense_workspace(each.program)) {
        for (std::size_t loop = 0; loop < expected->size(); ++loop) CHECK((*found)[loop] >= (*expected)[loop]);
      } else {
        ++counted;
        CHECK(*found == *expected);
      }
    };
    count(host, {}, {});
    count(host, {}, {1, 2});
    count(host, {.checked = true, .strict_fp = false}, {});
    count(test::host_with_bits(256), {}, {1});
    ++variant;  // ten of them: the next case has others in turn
  }
  MESSAGE(run, " cases run");
  CHECK(run >= 40);
  const std::size_t left_out = sanitized_turns * (test::is_long_run() ? 1 : usual_turns);
  CHECK(counted >= 100 / left_out);
  CHECK(symbolic >= 60 / left_out);
}

}  // namespace loop_cases_test
