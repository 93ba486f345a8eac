// Statements with one factor, wherever they are possible: random products with copies for lookups and with operands that are
// summed first mean what they mean without, as programs that are interpreted and as native code on several threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "compiled_runs.h"
#include "engine/plan/schedule/statements.h"
#include "long_ranges.h"
#include "oracle/mark_array_schedules.h"
#include "tests/oracle/sample_schedules.h"
#include "oracle/built_network.h"
#include "oracle/pairs.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace one_factor_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;
constexpr std::size_t most_schedules = 12;  // of one network

std::string difference(const CoordinateMap& found, const RequestedNetwork& requested, const Format& format) {
  return structural_differences(found, expected_entries(requested, format));
}

std::string interpreted_defect(const Schedule& schedule, const BuiltNetwork& built, const RequestedNetwork& requested) {
  const auto result = interpreted(schedule, built);
  if (!result) return result.error().message;
  const Format& format = std::ranges::find(schedule.tensors, TensorRole::result, &ScheduledTensor::role)->format;
  return difference(stored(*result, format, result_extents(requested.random)), requested, format);
}

using Schedules = std::function<std::vector<Schedule>(const BuiltNetwork& built, const PlanOptions& options, std::uint64_t seed)>;

// How many schedules of random networks were compared, some of each.
std::size_t compared(const Runs& drawn, const Schedules& schedules_of) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  const Pipeline pipeline = pipeline_with(false, false);
  const Pipeline checked = pipeline_with(true, false);
  std::size_t schedules = 0;
  std::size_t turn = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RequestedNetwork requested = stretched(seed % 2 == 0 ? random_requested(seed) : pair(seed), seed);
    const std::string text = reproduction(requested);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(requested.random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const PlanOptions options = options_of(requested, within_memory(made->network));
    auto planned = pipeline.plan(made->network, made->facts, options);
    if (is_left_out(planned, *made)) continue;
    const Judge judge = [&](const Tensor& tensor, const Resources& given) -> std::string {
      const auto result = entries_of(tensor, given);
      return result ? difference(*result, requested, tensor.format()) : result.error().message;
    };
    std::vector<Schedule> found = schedules_of(*made, options, seed);
    std::erase_if(found, [&](const Schedule& schedule) { return is_left_out(schedule, *made); });
    const std::size_t step = found.size() / most_schedules + 1;
    for (std::size_t number = 0; number < found.size(); number += step) {
      ++schedules;
      const std::string printed = print(found[number], made->network);
      CAPTURE(printed);
      CHECK(interpreted_defect(found[number], *made, requested) == "");
      if (turn++ % 4 != 0) continue;
      planned->schedule = found[number];
      const std::vector<Way> ways = {{1, false}, {4, false}};
      CHECK(defect_of_runs(turn % 8 == 1 ? pipeline : checked, cut_for_threads(*planned, *made, options), ways, *made, judge) == "");
    }
  }
  return schedules;
}

std::vector<Schedule> with_copies(const BuiltNetwork& built, const PlanOptions& options, std::uint64_t) {
  return mark_array_schedules(Problem{built.network, built.facts, options});
}

bool sums_first(const Schedule& schedule) {
  for (std::size_t number = 0; number + 1 < schedule.statements.size(); ++number) {
    if (schedule.statements[number].factors.size() == 1 && !is_mark_array_copy(schedule, number)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("copies for lookups change no result") {
  const Runs drawn = runs(is_sanitized() ? 30 : 250);
  const std::size_t schedules = compared(drawn, with_copies);
  MESSAGE(schedules << " schedules with copies");
  if (drawn.count >= 200) CHECK(schedules > drawn.count / 8);
}

TEST_CASE("schedules have a price where an index that a column is picked by has no coordinate") {
  CHECK(compared({70008, 1}, with_copies) > 0);  // R = T0(i,j,l) * T1(k,j,l,i,j) * T2(i,j,k,l,j) …, none of l
}

TEST_CASE("operands that are summed first change no result") {
  const Runs drawn = runs(is_sanitized() ? 30 : 250);
  const std::size_t schedules = compared(drawn, [](const BuiltNetwork& built, const PlanOptions& options, std::uint64_t seed) {
    std::vector<Schedule> found = sample_schedules(Problem{built.network, built.facts, options}, 30, seed);
    std::erase_if(found, [](const Schedule& schedule) { return !sums_first(schedule); });
    return found;
  });
  MESSAGE(schedules << " schedules with sums of one operand");
  if (drawn.count >= 200) CHECK(schedules > drawn.count / 4);
}

}  // namespace one_factor_test
