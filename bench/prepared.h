// Prepared: a problem planned and compiled, ready to be bound and run.
#pragma once

#include <map>
#include <string>

#include "bench/problem.h"
#include "bench/record.h"
#include "engine/pipeline.h"

namespace weft::bench {

struct Prepared {
  CompiledNetwork kernel;
  std::vector<OperandFacts> facts;  ///< that the plan was made by
  Phases phases;  ///< without convert, which binding adds
};

/// Plans for many runs (conversions are amortised over 1000) and compiles without caches, three times; the phases are
/// the fastest of the three.
Expected<Prepared> prepare(const Problem& problem, const std::map<std::string, Tensor>& operands,
                           const Resources& resources);

/// A run with what comes after every one: results that are computed in another layout than they are asked for in are converted.
Expected<void> run_whole(BoundNetwork& binding);

}  // namespace weft::bench
