// How much memory one of several assignments may plan with.
#pragma once

#include "engine/plan/search/planned.h"

namespace weft {

/// Bytes that the dense results of later assignments leave of the memory limit, of those that are handed over; results
/// that are expected to be sparse are charged as they grow.
std::uint64_t assignment_memory(const Network& network, std::size_t assignment, const std::vector<OperandFacts>& operands,
                              const PlanOptions& options);

}  // namespace weft
