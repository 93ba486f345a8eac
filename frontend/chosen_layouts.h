// Layouts of operands that the host has not pinned: blocks, strips of diagonals and slices of rows, where they are full and kernels over
// them pay within the calls; dense vectors.
#pragma once

#include <functional>
#include <string>

#include "frontend/preparation.h"

namespace weft {

struct PricedPlan {
  double ns = 0;
  std::string plan_cache;  ///< as Report says it
};

/// A request that is planned with its tensors as they stand. Refers to its parts.
struct PlannedRequest {
  const EngineOptions& engine;
  const Machine& machine;
  const NamedFacts& operands;
  const EvaluateOptions& options;
  const Prepared& prepared;
};

/// Whether a place of an operand without an entry adds nothing to any result of a plan: they are dense, and zeros meet finite values alone.
bool may_have_places(const Prepared& prepared, const NamedFacts& operands, const std::string& name, const Threads& threads);

/// The options with layouts pinned, and in words why: of matrices blocks of which three quarters are full, at most two sizes, strips of
/// diagonals and slices of eight rows, of vectors a place for every coordinate; planned by `plan_with` and priced with their conversion
/// divided by the calls.
/// Without a reason where nothing is cheaper by a twentieth, where a result, or something between, is stored sparse, or where another
/// operand is not finite: then places without an entry would change results.
struct ChosenLayouts {
  EvaluateOptions options;
  std::string reason;
  std::string plan_cache;  ///< of the plan over them, when it was asked for first
};
Expected<ChosenLayouts> chosen_layouts(const PlannedRequest& request,
                                       const std::function<Expected<PricedPlan>(const EvaluateOptions&)>& plan_with);

}  // namespace weft
