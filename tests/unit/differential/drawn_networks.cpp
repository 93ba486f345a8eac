#include "drawn_networks.h"

#include <doctest/doctest.h>

#include "long_ranges.h"
#include "oracle/random_machine.h"

namespace weft::test {

void for_each_drawn(const Runs& drawn, const std::function<RandomNetwork(Dice&)>& draw,
                    const std::function<void(const DrawnNetwork&)>& check, Extents extents) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Dice dice(seed);
    const RandomNetwork random = stretched(draw(dice), seed, extents);
    const std::string text = "seed " + std::to_string(seed) + ": " + reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, 60);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const CoordinateMap expected = expected_result(random);
    const Judge judge = [&](const Tensor& tensor, const Resources& given) -> std::string {
      const auto result = entries_of(tensor, given);
      return result ? differences(*result, expected) : result.error().message;
    };
    PlanOptions options = within_memory(made->network);
    options.machine = random_machine(seed);
    check({seed, *made, expected, judge, options});
  }
}

}  // namespace weft::test
