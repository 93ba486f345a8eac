#include "engine/plan/improve.h"

#include <algorithm>
#include <limits>

#include "engine/plan/memory_demand.h"
#include "engine/plan/prove.h"

namespace weft {
namespace {

// In the solver's units, some thousands per millisecond.
constexpr std::uint64_t usual_effort = 500'000;
constexpr std::uint64_t effort_for_proofs = 50'000'000;
// A proof leaves nests that take this much longer to the solver, so that it judges the program's choice and not only
// what the program could not decide.
constexpr double kept_for_proofs = 1.01;

}  // namespace

Improvement improve(const SearchResult& found, const Network& network, const std::vector<OperandFacts>& operands,
                    const PlanOptions& options) {
  Improvement improvement;
  std::vector<Alternative> alternatives = found.open;
  if (options.prove && found.winner) alternatives.push_back(*found.winner);
  if (alternatives.empty()) return improvement;

  const std::uint64_t memory = usable_memory(options);
  const auto best = std::find_if(found.candidates.begin(), found.candidates.end(),
                                 [&](const Candidate& candidate) { return candidate.cost.peak_bytes <= memory; });
  ProofRequest request;
  request.below_ns = best == found.candidates.end() ? std::numeric_limits<double>::infinity() : best->cost.ns;
  request.memory_limit = found.memory_binds ? memory : 0;
  request.effort = options.prove ? effort_for_proofs : usual_effort;
  request.kept = options.prove ? kept_for_proofs : 1;
  improvement.report.asked = true;
  auto proof = prove(network, operands, options, alternatives, request);
  if (!proof) {
    improvement.proven = false;
    improvement.report.unavailable = proof.error().message;
    return improvement;
  }
  improvement.proven = proof->proven;
  improvement.report.effort = proof->effort;
  improvement.report.effort_spent = proof->effort_spent;
  improvement.report.alternatives = proof->solved;
  improvement.report.bounded = proof->bounded;
  improvement.cheaper = std::move(proof->cheaper);
  return improvement;
}

}  // namespace weft
