// The explanation of a plan as figures and texts: what the report, its JSON and its page are written from.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/explain/explained.h"
#include "engine/plan/search/planned.h"

namespace weft {

/// Counted iterations and measured times stay empty, and constraints are listed without their effects. `threads`: of the run that
/// times are predicted for; 0: those that the plan was chosen for.
Explanation explanation(const Plan& plan, const Problem& problem, unsigned threads = 0);

/// The nest that a statement, by its position, is part of.
ExplainedNest& nest_of(Explanation& explained, std::uint32_t statement);

/// Several lines for people: tree, nest, layouts (kept or converted, why), workspaces with bytes, iterations, flops,
/// bytes and time per loop, memory, the runner-up and why it lost.
std::string explain(const Plan& plan, const Problem& problem);

/// explain() of a plan whose explanation is known.
std::string explain(const Plan& plan, const Explanation& explained, const Network& network);

/// The constraints of a plan, and which of them bind: for each, `planner`, plan(), tells what it costs by planning without it.
/// Takes as long as planning, once per constraint; nothing where there is none.
std::vector<ExplainedConstraint> binding_constraints(const Plan& plan, const Problem& problem, const Planner& planner);

/// "w holds NaN or Inf, so that x has to tell absent entries from zeros, …": which operands take more time because absent entries of
/// intermediates annihilate them. Empty where none does.
std::string absence_reason(const Schedule& schedule, const std::vector<OperandFacts>& operands);

}  // namespace weft
