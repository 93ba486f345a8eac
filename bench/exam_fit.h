// Fitting the constants of the cost model to measured schedules.
#pragma once

#include <string>
#include <vector>

#include "bench/trials.h"
#include "engine/plan/machine.h"

namespace weft::bench {

/// Schedules of one network with their times.
struct FitCase {
  std::string name;
  Trials trials;
  std::vector<Schedule> schedules;
  std::vector<double> ms;
};

/// Mean over the networks of: the squared error of log(cost / time), schedules near the fastest weighing most, plus the
/// logarithm of the time of what these costs would choose (softly) over the fastest.
double misfit(const std::vector<FitCase>& cases, const Machine& machine);

/// Constants with a smaller misfit, found by scaling one after the other; those that the networks of the exam say
/// nothing about (capacities, memory, threads, conversion) stay.
Machine fitted(const std::vector<FitCase>& cases, const Machine& start);

}  // namespace weft::bench
