// The search for schedules: trees, orders of steps and layouts around the dynamic program; then with mark arrays, within a share of the
// budget of their own; again, where memory binds.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/search/planned.h"
#include "engine/plan/space/alternatives.h"

namespace weft {

inline constexpr double accuracy = 1e-9;  ///< prices nearer to each other than this share are equal: sums in another order

struct Candidate {
  Schedule schedule;
  Cost cost;

  double ns() const { return cost.ns; }
};

/// Puts a candidate behind those that are no dearer.
void add_candidate(std::vector<Candidate>& candidates, Candidate candidate);

/// Where threads have copies of what they write, the same loops on one thread, if that takes less memory.
void give_up_private_copies(Candidate& candidate, const Problem& problem);

struct SearchResult {
  std::vector<Candidate> candidates;  ///< legal ones, cheapest first; equal costs by text
  std::uint64_t tried = 0;            ///< alternatives that the interval program has solved
  std::uint64_t trees = 0;
  std::uint64_t trees_bounded = 0;    ///< left out: not even their innermost loops are as fast as the best schedule
  /// Trees that were neither searched nor left out by their bound, and of those that were searched the choices of kept and
  /// converted operands and orders of statements that were not tried although they might pay.
  Frontier frontier;
  bool spent = false;  ///< ended where more would have taken longer than it could save
  /// What the interval program cannot decide and might be cheaper than the best candidate: accesses that could share a
  /// copy, and whatever does not fit into memory as the program has it.
  std::vector<Alternative> open;
  std::uint64_t trees_too_large = 0;  ///< left out: no fusion makes their intermediates fit into memory
  bool memory_binds = false;             ///< some schedule does not fit as it is
  std::uint64_t serialized = 0;          ///< candidates that gave up their private copies to fit
  std::optional<Alternative> winner;     ///< of the first candidate that fits, where a proof is asked for
  std::shared_ptr<AlternativeModels> models;  ///< what was priced; refers to the arguments of the search
};

struct SearchScope {
  bool fused = true;   ///< else every statement is a nest of its own
  bool chains = true;  ///< dense operands may be transposed, sparse ones converted to chains of levels: not beside other assignments
  bool opens = true;   ///< sparse operands may be opened in place, or marked
  bool marks = true;   ///< with mark arrays too
};
inline constexpr SearchScope unfused_scope{.fused = false, .chains = false, .marks = false};

/// Legal schedules, some that fit into memory among them where there are any. Deterministic: the effort is counted in loops priced, never
/// in time; it grows with the time of all calls (search_budget.h) and is larger if a proof is wanted. Cancelled, it returns the
/// schedules found by then.
SearchResult search_schedules(const Problem& problem, SearchScope scope = {});

/// Adds schedules that fit where the cheapest of `found` does not. The interval program cannot see how much several
/// intermediates take together, but it can bound each of them: the bound is halved until what it finds cheapest fits.
/// So a chain keeps rows of its intermediates inside shared loops, which only the solver would find otherwise.
void add_smaller_intermediates(SearchResult& found, const Problem& problem, SearchScope scope = {});

class AlternativeSearch;

inline constexpr std::size_t most_mark_arrays = 3;  ///< of one schedule

/// Contractions, and paths to their operands.
struct MarkedContractions {
  Contractions contractions;
  PathChoice choice;
};

/// The contractions of these trees before anything is marked, with all operands as they are stored, and with all `converted` that may be;
/// with and without partial sums and keyed intermediates.
std::vector<MarkedContractions> marked_starts(const Problem& problem, AlternativeSearch& search, const std::vector<ContractionTree>& trees,
                                            bool converted);

/// The same with one more factor marked, whichever can be.
std::vector<MarkedContractions> with_another_mark(const MarkedContractions& from);

/// Whether intermediates on the way to a dense result have keys: the search without marks did not price those, so that they are looked
/// at as they are.
bool keys_intermediates(const Contractions& contractions);

}  // namespace weft
