#include "engine/plan/cost/meeting.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace meeting_test {

using namespace weft;

namespace {

// Two fingers over fibers of coordinates drawn in a random order, until one ends.
double merged(std::size_t one, std::size_t other, std::mt19937& random) {
  std::vector<bool> of_one(one + other, false);
  std::fill(of_one.begin(), of_one.begin() + static_cast<std::ptrdiff_t>(one), true);
  std::shuffle(of_one.begin(), of_one.end(), random);
  double steps = 0;
  for (std::size_t place = 0; one > 0 && other > 0; ++place) {
    --(of_one[place] ? one : other);
    ++steps;
  }
  return steps;
}

}  // namespace

TEST_CASE("a merge ends with one of the fibers: as many steps as two fingers take through random ones") {
  std::mt19937 random(7);
  for (const std::size_t one : {0u, 1u, 3u, 10u, 40u}) {
    for (const std::size_t other : {1u, 2u, 12u, 50u}) {
      CAPTURE(one);
      CAPTURE(other);
      constexpr int times = 4000;
      double steps = 0;
      for (int time = 0; time < times; ++time) steps += merged(one, other, random) / times;
      std::vector<Meeter> meeters = {{{0, 0, true, false}, static_cast<double>(one)}, {{0, 1, true, false}, static_cast<double>(other)}};
      const Meeting meeting = given_meeting(Machine(), meeters, {});
      CHECK(meeting.steps == doctest::Approx(steps).epsilon(0.03));
    }
  }
}

TEST_CASE("tables that hold several modes drive, and no two of them meet") {
  std::vector<Meeter> meeters = {{{0, 0, true, false}, 2}, {{0, 1, true, false}, 50, Table::several_modes}};
  const Meeting meeting = cheapest_meeting(Machine(), meeters);
  CHECK(meeting.looked_up);
  CHECK_FALSE(meeters[0].part.drive);
  CHECK(meeters[1].part.drive);
  meeters[0].table = Table::several_modes;
  CHECK(std::isinf(cheapest_meeting(Machine(), meeters).ns));
}

}  // namespace meeting_test
