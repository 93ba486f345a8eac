// Networks of several assignments for the tests of the planner, from one line of text.
#pragma once

#include <map>
#include <string>

#include "unit/plan/networks.h"

namespace weft::plan_test {

/// forest_problem("S = M:ij:ss:100 A:ik B:jk -> ij; O = S:ij D:jh -> ih", {{'i', 10}, …}): operands as problem() takes
/// them, results of earlier assignments as name:indices. Nothing but the last is wanted.
Problem forest_problem(const std::string& text, const std::map<char, std::uint64_t>& extents);

}  // namespace weft::plan_test
