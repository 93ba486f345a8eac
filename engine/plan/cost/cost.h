// cost(): the judge of how dear a schedule is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/network/network.h"
#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Predicted work of one loop of the nest, in the order of the printed loops.
struct LoopCost {
  std::string index;
  std::uint32_t depth = 0;
  std::uint32_t statement = 0;  ///< the first statement that runs it
  double iterations = 0;        ///< total over the run
  double steps = 0;             ///< merge, search and gallop steps
  double flops = 0;
  double bytes = 0;
  double ns = 0;
  bool operator==(const LoopCost&) const = default;
};

struct MemoryDemand {
  std::string name;   ///< operand, conversion, intermediate, result, private copies
  std::uint64_t bytes = 0;
  bool grows = false;  ///< charged as it grows, and not announced: estimated
  bool operator==(const MemoryDemand&) const = default;
};

/// The judgement of one schedule.
struct Cost {
  double ns = 0;
  double flops = 0;
  double conversion_ns = 0;  ///< before division by calls
  std::uint64_t peak_bytes = 0;
  std::uint64_t announced_bytes = 0;  ///< of it, allocated before it is needed: all but sparse results
  std::vector<LoopCost> loops;
  std::vector<double> nests_ns;  ///< of each loop nest, in order, without conversions
  std::vector<MemoryDemand> memory;
  bool operator==(const Cost&) const = default;
};

/// How dear is a schedule that check() accepts? A function of its arguments alone (8 threads are assumed for imbalance), and always
/// finite: what must not be chosen is for check() and the search to know.
Cost cost(const Schedule& schedule, const Problem& problem);

/// The time that a legal schedule is predicted to take on so many threads, where plans assume `machine.threads`. One thread starts no
/// others: its nests are serial. Of the figures those in nanoseconds are meant; memory is that of the plan.
Cost predicted_cost(const Schedule& schedule, const Problem& problem, unsigned threads);

/// Joins (joins.h) that the cost of a schedule depends on and that `options` has no counts of.
std::vector<std::uint64_t> uncounted_joins(const Schedule& schedule, const Problem& problem);

/// Nanoseconds on one thread beside what is predicted, if every loop that nothing drives is reached once. Where 30 entries among 10^12
/// coordinates meet 30 others, none is expected to, and what stands below them takes no time; if they are the same ones, a loop over
/// 3 * 10^9 coordinates below does not end.
double unexpected_ns(const Schedule& schedule, const Cost& cost, const Network& network);

}  // namespace weft
