// What weft run and weft plan print for people.
#pragma once

#include <map>
#include <string>

#include "weft/session.h"

namespace weft {

/// The plan: tree, loops with what they cost, layouts, memory, why it was chosen, loop programs.
std::string plan_text(const Report& report);

/// Each result: its head (name, extents, format, stored entries) and its values, elided as at the prompt; of a scalar
/// "s = 2.5".
std::string results_text(const Evaluation& evaluation);

/// The numbers of those results that are scalars, a line each, and nothing of others.
std::string scalars_text(const Evaluation& evaluation);

/// One line, in the order in which the time was spent: "read 157 ms, plan 44.8 ms, compiled in 7.8 ms, run 1.70 ms on 2 threads;
/// predicted 2.93 ms". `read_ms`: by operand.
std::string times_text(const Report& report, const std::map<std::string, double>& read_ms);

}  // namespace weft
