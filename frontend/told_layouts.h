// What an explanation says of tensors that are planned otherwise than they are given: their layouts as --format has them, and what laying
// operands out takes before the run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/plan/explain/explained.h"

namespace weft {

/// A tensor beside its line in the plan. Empty texts leave what stands there.
struct ToldLayout {
  std::string format;               ///< canonical
  std::string kept;                 ///< why it stays as it is given
  std::string from;                 ///< the format it is given in, where it is laid out
  std::vector<std::string> steps;   ///< "to ds:0,1, as its layout is pinned"
  std::string then;                 ///< what is done to it afterwards
  double ns = 0;                    ///< of all steps, once
};

/// By name. Layouts that the plan itself converts keep the formats it says.
void tell_layouts(Explanation& explained, const std::map<std::string, ToldLayout>& told, double calls);

}  // namespace weft
