// The table of problems: verified, then measured side by side with what was written by hand.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

struct SuiteOptions {
  std::vector<std::string> filters;  ///< problems whose name contains one of them; empty: all
  std::vector<unsigned> threads = {1, 2};
  std::string data;                  ///< directory of real tensors
  std::string json;                  ///< file to write
  double seconds = 1;                ///< of measuring per problem and number of threads
  bool quick = false;                ///< synthetic tensors twenty times smaller
  bool list = false;                 ///< names only
  bool plans = false;                ///< print the schedules too
};

/// Prints the table while it grows. The exit status: 1 if a problem failed or computed something wrong.
int run_suite(const SuiteOptions& options);

}  // namespace weft::bench
