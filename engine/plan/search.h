// The search for schedules: trees, orders of statements and layouts around the dynamic program.
#pragma once

#include "engine/plan/interval_program.h"
#include "engine/plan/statements.h"

namespace weft {

struct Candidate {
  Schedule schedule;
  Cost cost;
};

struct SearchResult {
  std::vector<Candidate> candidates;  ///< legal ones, cheapest first; equal costs by text
  std::uint64_t tried = 0;
  bool all_trees = true;    ///< every tree was searched
  bool all_layouts = true;  ///< every choice of kept and converted operands, and every order of statements
};

/// Legal schedules that respect the memory limit where they can. `fused` false: every statement is a nest of its own.
/// Deterministic: the effort is counted in loops priced, never in time.
SearchResult search_schedules(const Network& network, const std::vector<OperandFacts>& operands,
                              const PlanOptions& options, bool fused);

}  // namespace weft
