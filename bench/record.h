// Record: what was measured of one problem at one number of threads; tables and JSON of records, and their comparison.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "weft/error.h"

namespace weft::bench {

/// Milliseconds, once per problem.
struct Phases {
  double statistics = 0, plan = 0, lower = 0, generate = 0, emit = 0, load = 0, convert = 0;
};

struct Record {
  std::string name;
  unsigned threads = 1;
  Timing weft;
  std::optional<Timing> baseline;
  std::string variant;  ///< of the hand-written kernel: the fastest of those there are
  std::string roof;     ///< what limits the problem on this machine: "rows"
  double roof_ms = 0;   ///< the least that it can take
  double flops = 0;  ///< that the plan executes
  double result_mb = 0;  ///< of all results
  double peak_mb = 0;    ///< most that was held at once beside the operands: results, conversions, workspaces
  Phases phases;
  std::string schedule;
};

std::string table_head();
std::string table_row(const Record& record);

Expected<void> write_json(const std::string& path, const std::vector<Record>& records);
Expected<std::vector<Record>> read_json(const std::string& path);

/// A table of the medians of two files, problem by problem, and the geometric mean of their ratios. What differs by
/// less than twice the spreads of both is marked as equal. `worst` is the largest ratio new : old.
struct Comparison {
  std::string text;
  double worst = 0;
};
Expected<Comparison> compare(const std::string& old_path, const std::string& new_path);

}  // namespace weft::bench
