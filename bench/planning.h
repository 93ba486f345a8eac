// How long plans take to make.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

struct PlanningOptions {
  std::vector<std::string> filters;  ///< texts of which one must occur in a network's name; empty: all
  std::string data;                  ///< directory of real tensors; empty: drawn ones only
  int repeat = 21;                   ///< plans made of each network
  double calls = 1;                  ///< that plans are made for
  bool no_proofs = false;            ///< plan without proofs only
  bool schedules = false;            ///< print the chosen schedules
};

/// Plans every network of the exam, and some with sparse results and many factors, many times without running anything;
/// statistics and joins are there before. Prints the median times and the predicted cost of the choice. Exit status.
int run_planning(const PlanningOptions& options);

}  // namespace weft::bench
