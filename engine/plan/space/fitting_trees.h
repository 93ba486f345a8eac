// Trees that a search need not look at.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/schedule/result_format.h"

namespace weft {

/// Leaves the trees that store an intermediate, unless none does: for nests that are not fused.
void keep_storing(std::vector<ContractionTree>& trees);

/// Under a memory limit, trees whose smallest workspaces, over all fusions, do not fit beside operands and results have no
/// schedule that can be carried out. They are left out, and how many is returned. All stay where none fits, for the error
/// tells what the best one needs.
std::uint64_t leave_out_too_large(std::vector<ContractionTree>& trees, const Problem& problem,
                                  const ResultFormat& result);

}  // namespace weft
