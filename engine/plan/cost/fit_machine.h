// Finding constants of the cost model that agree with measurements.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "engine/plan/machine.h"

namespace weft {

/// Scales the named constants one after the other, in ever smaller steps, as long as `misfit` shrinks; a constant that
/// says little drifts little from where it started. Three significant digits. Others stay as they are. Deterministic.
Machine fit_machine(const Machine& start, std::span<const std::string_view> names,
                    const std::function<double(const Machine&)>& misfit);

}  // namespace weft
