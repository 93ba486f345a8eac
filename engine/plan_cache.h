// What a plan is remembered by, and the text it is remembered as.
#pragma once

#include <string>

#include "engine/plan/plan.h"

namespace weft {

/// Everything plan() depends on, one fact a line: versions, the network with its extents, formats and quantised
/// statistics of the operands, and the options that shape plans. Figures in bytes are in it where the options set a
/// memory limit, because only then they decide.
std::string plan_key(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// The schedule as --schedule reads it, below what else is known of the plan, in lines that begin with #.
std::string print_plan(const Plan& plan, const Network& network);

/// What print_plan wrote, judged anew: the schedule has to be legal and has to cost what it did. Memory is predicted
/// from the operands given. Otherwise an error that says what is wrong with the text.
Expected<Plan> restored_plan(const std::string& text, const Network& network, const std::vector<OperandFacts>& operands,
                             const PlanOptions& options);

/// The plan with its memory predicted for these operands, which may differ in size from those it was made for.
/// Resource error if they leave no room for it.
Expected<Plan> with_memory(Plan plan, const Network& network, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options);

}  // namespace weft
