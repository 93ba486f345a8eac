// The planner's exam: how far from the fastest schedule is the one that the planner chooses?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

struct PlansOptions {
  std::vector<std::string> filters;  ///< texts of which one must occur in a network's name; empty: all
  std::string data;                  ///< directory of real tensors; empty: drawn ones only
  std::string json;                  ///< file for everything that was measured
  std::string known;                 ///< such a file: schedules timed there are not timed again
  std::string against;               ///< such a file: what was chosen there is timed in turn with what is chosen now
  std::string calibration;           ///< constants of the cost model, as weft calibrate writes them; empty: the defaults
  std::string fit;                   ///< write constants fitted to the networks that are not held out to this file
  std::size_t sample = 300;          ///< schedules drawn per network, at most
  std::uint64_t seed = 1;            ///< of the schedules and of drawn tensors
  double seconds = 0.3;              ///< of timing the chosen schedule and the best ones in turn
  double budget = 20;                ///< seconds per network after which no more are drawn
  unsigned threads = 1;              ///< that kernels run on, and that the cost model is told
  bool list = false;
  bool schedules = false;            ///< print the chosen and the best schedule
};

/// Prints the table; exit status.
int run_plans(const PlansOptions& options);

}  // namespace weft::bench
