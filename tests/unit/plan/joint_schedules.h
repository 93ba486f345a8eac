// Random networks of a few small assignments, and the least that any of their joint schedules takes.
#pragma once

#include "unit/plan/networks.h"

namespace weft::plan_test {

struct RandomForest {
  std::string text;
  std::map<char, std::uint64_t> extents;
  OwnedProblem made;
};

/// Two or three assignments of one or two factors over three indices, with a sparse operand that most of them read.
RandomForest random_forest(unsigned seed);

/// Factors of the product that everything nobody asked for is written into: what the number of schedules depends on.
std::size_t most_factors(const Network& network);

/// Every choice, without any bound: which results are stored (or all of them), their layouts, the copies of operands, and
/// all schedules of every assignment, within the memory limit. Of those with the same copies, memory and layout of the
/// result the cheapest stands for all, since nothing else of them concerns other assignments.
double least_of_all(const OwnedProblem& problem, bool all_stored = false);

/// Whether an operand is marked so that it may be looked up, opened, or dense and in another order, which these schedules do not have: it may
/// cost less than all of them.
bool is_beyond(const Schedule& schedule);

}  // namespace weft::plan_test
