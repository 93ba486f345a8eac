// How much work planning may take: no more than what it could save.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/search/planned.h"

namespace weft {

/// What making a cost model of known statements takes, in loops priced, and describing a statement that is new.
inline constexpr std::uint64_t work_of_model = 10;
inline constexpr std::uint64_t work_of_statement = 5;

/// Making a model with copies for lookups, most of whose statements are new.
inline constexpr std::uint64_t work_of_mark_arrays = 50;

/// The loops that a search prices at most, without a proof.
inline constexpr double usual_work = 100'000;

/// For a proof of one assignment, in the solver's units (some thousands per millisecond) and in loops priced: seconds. Several
/// assignments have many parts, each of which is planned for many layouts of the others, so that they would take that many times over.
inline constexpr ProofBudget budget_of_assignment{10'000'000, 3'000'000};
inline constexpr ProofBudget budget_of_several{2'000'000, 400'000};

// A proof leaves nests that take this much longer to the solver, so that it judges the program's choice and not only
// what the program could not decide. So does a request about a sparse result: layouts on the way to it are priced
// before they are known.
inline constexpr double kept_for_proofs = 1.01;

/// What a search looks for takes less, and for a proof a little more than is of use.
inline double looked_for_below(const PlanOptions& options) { return options.below_ns * (options.prove ? kept_for_proofs : 1); }

inline bool proves(const PlanOptions& options) { return options.prove && !(options.budget && options.budget->spent()); }

/// The loops that a search for a proof may price, of `most`: what it keeps takes up to 700 bytes a loop (six operands, one of order 5),
/// and Z3 has some 30 MB beside it.
inline double work_of_proof(const PlanOptions& options, double most) {
  if (!options.prove) return most;
  constexpr double bytes_per_loop = 1000;
  constexpr double least = 10'000;
  const double left = options.budget ? static_cast<double>(options.budget->work) : most;
  return std::min(most, std::max(least, std::min(left, static_cast<double>(options.planning_memory) / bytes_per_loop)));
}

/// What a search for a proof may remember: a third of what there is. Tables that double are copied, so they may need half as much
/// again for a moment.
inline std::size_t bytes_of_proof(const PlanOptions& options) {
  constexpr std::uint64_t least = 6'000'000;
  return std::max(least, options.planning_memory / 3);
}

/// What the solver may keep for one question beyond what an empty one takes (Z3: 38 MB, with its code): another third.
inline std::uint64_t bytes_of_solver(const PlanOptions& options) {
  if (!options.prove) return ~std::uint64_t{0};  // short questions
  constexpr std::uint64_t least = 4'000'000;
  return std::max(least, options.planning_memory / 3);
}

/// From so many loops on every order in which an intermediate of three modes may be stored is looked at: a tree with one has
/// four times as many alternatives then.
inline constexpr double work_of_every_order = 2'000;

/// So many times as much where operands may be summed first (contraction_variants.h): there are more alternatives, and they save more.
inline constexpr double share_with_partial_sums = 3;

/// What looking for lookups takes beside the search, of the loops that it may price. More of them changed the choice of one
/// of the networks of weft-bench planning, for one call (3-centre-masked/uniform, by less than it took).
inline constexpr double share_of_mark_arrays = 0.3;

/// Opening operands makes no choice of paths so many times cheaper: others are not built upon.
inline constexpr double most_gained_by_opening = 1.75;

/// Whether several sparse operands meet in the first assignment's term: there are more levels, layouts and joins to look at.
inline bool sparse_operands_co_iterate(const Network& network, const std::vector<OperandFacts>& operands) {
  return sparse_factors(network, operands) > 1;
}

/// The loops that a search may price when the best schedule so far takes `best_ns`: a share of what all calls take, for more
/// took longer than it saved wherever that was measured (bench/measured/planner.md), but some tenths of a millisecond for any
/// network, and no more than `most`, which is spent on a proof whatever is at stake. Work is counted and not timed, so that a
/// plan is the same on every machine. `meeting`: whether several sparse operands do.
inline double work_in_budget(double best_ns, const PlanOptions& options, double most, bool co_iterates) {
  if (options.prove) return most;
  const double least_ns = co_iterates ? 250'000 : 160'000;
  const double share = co_iterates ? 0.2 : 0.4;  // choices differ less, and less is predicted of them, where one operand is sparse
  const double ns_per_loop = co_iterates ? 500 : 300;  // measured
  return std::min(std::max(best_ns * std::max(1.0, options.calls) * share, least_ns) / ns_per_loop, most);
}

/// Whether a share of the time of all calls is more than the solver needs to be made, told of a few alternatives and asked: milliseconds,
/// over and over where several assignments have parts that are planned for many layouts. Always where nothing is known yet.
inline bool pays_for_solver(double best_ns, const PlanOptions& options) {
  constexpr double share = 0.2;
  constexpr double solver_ns = 3'000'000;
  return options.prove || best_ns * std::max(1.0, options.calls) * share >= solver_ns;
}

/// work_in_budget() in alternatives of whole assignments and plans put together of them, each of which takes some tenths of a
/// millisecond: where several assignments share layouts there are many. At least what a tenth of a second suffices for.
inline std::uint64_t plans_in_budget(double best_ns, const PlanOptions& options, std::uint64_t most) {
  if (proves(options)) return most;
  constexpr double least_ns = 100'000'000;
  constexpr double share = 0.2;
  constexpr double ns_per_plan = 300'000;  // measured
  const double plans = std::max(best_ns * std::max(1.0, options.calls) * share, least_ns) / ns_per_plan;
  return static_cast<std::uint64_t>(std::min(plans, static_cast<double>(most)));
}

}  // namespace weft
