#include "engine/plan/cost/co_iteration.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace co_iteration_test {

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
      std::vector<Participant> participants = {{{0, 0, true, false}, static_cast<double>(one)},
                                               {{0, 1, true, false}, static_cast<double>(other)}};
      const CoIteration co_iteration = given_co_iteration(Machine(), participants, {});
      CHECK(co_iteration.steps == doctest::Approx(steps).epsilon(0.03));
    }
  }
}

TEST_CASE("tables that hold several modes drive, and no two of them meet") {
  std::vector<Participant> participants = {{{0, 0, true, false}, 2}, {{0, 1, true, false}, 50, Table::several_modes}};
  const CoIteration co_iteration = cheapest_co_iteration(Machine(), participants);
  CHECK(co_iteration.looked_up);
  CHECK_FALSE(participants[0].part.drive);
  CHECK(participants[1].part.drive);
  participants[0].table = Table::several_modes;
  CHECK(std::isinf(cheapest_co_iteration(Machine(), participants).ns));
}

}  // namespace co_iteration_test
