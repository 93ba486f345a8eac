#include "engine/plan/prove/prove_forest.h"

#include <limits>
#include <utility>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/prove/prove_jointly.h"
#include "engine/plan/search/effort.h"

namespace weft {
namespace {

// Whether something cheaper than `below` was found, which the attempt then has.
bool ask_solver(ForestSearch& forest, ForestAttempt& made, double below) {
  const PlanOptions& options = forest.options();
  ProofRequest request;
  request.below_ns = below;
  request.memory_limit = options.memory_limit == ~std::uint64_t{0} ? 0 : usable_memory(options);
  request.effort = options.prove && options.budget ? options.budget->effort : usual_effort;
  request.kept = options.prove ? kept_for_proofs : 1;
  made.solver_asked = true;
  if (options.prove && !proves(options)) {
    made.optimal = Optimal::none;
    made.plan.solver.effort_spent = true;
    made.plan.optimal = made.optimal;
    return false;
  }
  auto proof = prove_jointly(Problem{made.stored, forest.operands(), options}, forest.counted(), request, forest.judge_of(made.stored));
  if (!proof) {
    made.plan.solver.asked = true;
    made.plan.solver.unavailable = proof.error().message;
    made.optimal = Optimal::none;
    return false;
  }
  if (options.budget) options.budget->take_effort(proof->report.effort);
  if (proof->cheaper) {
    made.parts = std::move(*proof->cheaper);
    made.plan = forest.joined_plan(made);
  }
  made.plan.solver = proof->report;
  if (proof->proven) made.optimal = Optimal::all;
  else if (proof->cheaper) made.optimal = Optimal::none;
  made.plan.optimal = made.optimal;
  return proof->cheaper.has_value();
}

}  // namespace

void prove_forest(ForestSearch& forest) {
  if (!forest.layouts()) return;
  for (ForestAttempt& made : forest.unfitting()) {
    const ForestAttempt* best = forest.cheapest();
    const double below = best ? best->plan.cost.ns : std::numeric_limits<double>::infinity();
    if (made.stored.assignments.size() < 2 || !ask_solver(forest, made, below)) continue;
    forest.add(std::move(made));
  }
  ForestAttempt* best = forest.cheapest();
  if (!best || best->parts.size() < 2 || !(forest.options().prove || forest.memory_binds())) return;
  if (best->solver_asked) return;
  ask_solver(forest, *best, best->plan.cost.ns);
}

}  // namespace weft
