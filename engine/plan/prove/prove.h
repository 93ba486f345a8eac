// Asking the solver for schedules that are cheaper than the best ones known, until there are none.
#pragma once

#include <functional>

#include "engine/plan/estimate/joins.h"
#include "engine/plan/prove/encoding.h"
#include "engine/plan/search/forest_search.h"
#include "engine/plan/search/planned.h"
#include "engine/plan/search/search.h"
#include "engine/plan/search/search_budget.h"

namespace weft {

// In the solver's units, some thousands per millisecond.
inline constexpr std::uint64_t usual_effort = 500'000;
/// The least gain that is looked for: some twenty parts of the sum may be rounded by a millionth.
inline constexpr double proof_rounding = 2e-5;

struct ProofRequest {
  double below_ns = 0;  ///< of the best schedule known; infinite if there is none
  /// 0: memory does not matter. Else only schedules that stay within it are looked for.
  std::uint64_t memory_limit = 0;
  std::uint64_t effort = 0;  ///< in Solver's units, of all checks together
  /// Nests up to this much dearer than the best one known are left to the solver, so that it judges what the interval
  /// program has found, and looks behind alternatives encoded dearer than judged; 1: only those that might be cheaper.
  double kept = 1;

  static ProofRequest of(const PlanOptions& options, double below_ns, std::uint64_t memory_limit);
};

struct Proof {
  std::vector<Candidate> cheaper;  ///< legal, the cheapest that were found: one per assignment, or none
  double ns = 0;       ///< of these together, as judged; of the request where there are none
  bool exhausted = true;  ///< no way has anything that is cheaper as encoded, nor anything that fits where nothing was known
  /// Some answer takes less than encoded, by more than `kept` allows for, or there are ways whose layouts on the way to a sparse
  /// result are priced before they are known: what else does might be cheaper still.
  bool overpriced = false;
  std::uint64_t refused = 0;  ///< answers that the judges found dearer or larger than encoded
  SolverReport report;

  bool proven() const { return exhausted && !overpriced; }  ///< nothing is cheaper
};

/// What the schedules of all assignments take together; an error where that is not legal or does not fit.
using ProofJudge = std::function<Expected<double>(const std::vector<Candidate>&)>;

/// `ways[a]` are those of assignment a of the network: one of each is chosen. Where Z3 cannot be loaded, or cannot have the
/// memory, nothing is found nor proven, and the report says so. Else a function of its arguments; what it takes is taken off the
/// budget of the options.
Proof prove(const Problem& problem, const std::vector<std::vector<Way>>& ways, const ProofRequest& request,
            const ProofJudge& judge);

/// Of one assignment, judged by check() and cost().
Proof prove(const Problem& problem, const std::vector<Alternative>& alternatives, const ProofRequest& request);

/// Schedules cheaper than every candidate of the search that fits into memory, or the proof that no open alternative has any. Only
/// where the search has left something open or a proof is wanted; else nothing is loaded and nothing spent. A missing library or
/// spent effort leave the search's result as it is, and the report says so.
Proof improve(const SearchResult& found, const Problem& problem);

/// Why nothing that the search has left open fits into memory: a part of a sentence, empty where that is not proven.
/// Names the intermediates of the constraints that contradict each other.
std::string why_nothing_fits(const SearchResult& found, const Problem& problem);

/// Where memory binds, what one assignment converts or stores takes memory from the others: the solver is asked about all
/// of them at once, and, if a proof is wanted, about the cheapest attempt whatever its memory is. Attempts get what it finds,
/// and what it proves.
void prove_forest(ForestSearch& forest);

/// prove() with every way of each assignment (trees, orders of statements, conversions) in every layout of what lies between
/// them. `counted` numbers the joins of the options.
Proof prove_assignments(const Problem& problem, const std::vector<Occurrence>& counted, const ProofRequest& request,
                        const ProofJudge& judge);

}  // namespace weft
