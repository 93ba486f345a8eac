// Plans of stored assignments that agree on the layouts of what they share.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "engine/plan/search/planned.h"

namespace weft {

/// Assignments that are planned one by one do not see that a converted operand may serve several of them, nor which
/// layout of a result its readers would like.
struct JointParts {
  std::vector<Plan> parts;  ///< per assignment; copies that it shares with others are converted operands in it
  double ns = std::numeric_limits<double>::infinity();  ///< of all parts together, as judged
  std::uint64_t candidates = 0;
  /// No other layouts of shared tensors are cheaper, if the plans of the assignments (`all` or `tree`) are the cheapest
  /// for the layouts that they were asked for.
  bool all_layouts = true;
  Optimal optimal = Optimal::all;  ///< of the least proven of those plans
};

/// What the joined schedule of the parts costs; an error where it is not legal or does not fit.
using JointJudge = std::function<Expected<double>(const std::vector<Plan>&)>;

/// Which results are wanted decides whose layout is free: an intermediate may be stored in any order of its modes. A
/// search over the layouts of results and copies, cut off by the sum of what each assignment takes at least if it bears
/// only its share of a conversion. Without `layouts` everything stays as planned one by one. Counted in alternatives
/// tried, never in time. Memory: every part is planned for what the dense results of later ones leave. `known_entries`: where nothing
/// else is legal, what later assignments alone read has compressed levels.
Expected<JointParts> plan_jointly(const Problem& problem, const Planner& planner, bool layouts,
                                  const JointJudge& judge, bool known_entries = false);

}  // namespace weft
