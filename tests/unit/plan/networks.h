// Networks and operand facts for the tests of the planner, from one line of text.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/schedule/contractions.h"
#include "unit/sanitized.h"

namespace weft::plan_test {

using test::scaled;

/// A problem and its parts.
struct OwnedProblem {
  Network network;
  std::vector<OperandFacts> operands;
  PlanOptions options;

  operator Problem() const { return {network, operands, options}; }
};

/// Coordinates of a matrix, row and column; and a matrix of ones there.
using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;
Tensor matrix_of(const Pairs& pairs, std::uint64_t rows, std::uint64_t columns);

/// problem("T:ijk:sss:1000 B:jr C:kr -> ir", {{'i', 10}, …}): operands as name:indices[:kinds[:entries]], dense
/// without kinds; the result is called R. A name that stands twice is one tensor.
OwnedProblem problem(const std::string& text, const std::map<char, std::uint64_t>& extents);

/// forest_problem("S = M:ij:ss:100 A:ik B:jk -> ij; O = S:ij D:jh -> ih", {{'i', 10}, …}): several assignments, operands
/// as problem() takes them, results of earlier assignments as name:indices. Nothing but the last is wanted.
OwnedProblem forest_problem(const std::string& text, const std::map<char, std::uint64_t>& extents);

/// So many random networks, fewer in a sanitized build (see scaled()), times WEFT_NETWORKS where that is set: a few thousand
/// take minutes.
unsigned networks(unsigned usual);

/// Seeds of the random networks that a case draws: 1 … networks(usual), or WEFT_NETWORK alone where that is set, to repeat one that
/// a failure names. What has to come up among all of them does not among one, so those checks fail then.
std::ranges::iota_view<unsigned, unsigned> seeds(unsigned usual);

/// What enumerating every schedule of a problem tells: whether there were not too many, and of those that fit into memory.
struct Enumerated {
  bool complete = false;
  double ns = std::numeric_limits<double>::infinity();  ///< of the cheapest that fits
  double unbounded_ns = std::numeric_limits<double>::infinity();  ///< of the cheapest, also where this machine has no memory for it
  std::uint64_t least_bytes = ~std::uint64_t{0};
  std::uint64_t bytes_of_cheapest = 0;
};

/// What plan() finds, which must be there: legal, judged as cost() judges it, and the same when read back as text.
Plan planned(const OwnedProblem& problem);

/// The schedule of a text, which must parse.
Schedule schedule_of(const OwnedProblem& problem, const std::string& text);

/// Contractions as a schedule whose statements have no loops yet.
Schedule without_loops(const Contractions& contractions);

/// check() of a schedule text: empty if legal, else the message.
std::string defect(const OwnedProblem& problem, const std::string& text);

}  // namespace weft::plan_test
