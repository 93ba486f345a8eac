// Why results and intermediates are stored as they are, in words.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/search/planned.h"

namespace weft {

/// Of a result (position in Schedule::tensors): requested, dense or sparse by its expected fill, at the positions of an
/// operand; how it is written where it has compressed levels, and what handing it over in another format takes.
std::string result_reason(const Schedule& schedule, std::uint32_t result, const Problem& problem);

/// Of an intermediate that knows its entries: where they are kept; empty for a dense one.
std::string intermediate_reason(const Schedule& schedule, std::uint32_t intermediate, const Problem& problem);

/// "w holds NaN or Inf, so that x has to tell absent entries from zeros, …": which operands take more time because absent entries of
/// intermediates annihilate them. Empty where none does.
std::string absence_reason(const Schedule& schedule, const std::vector<OperandFacts>& operands);

}  // namespace weft
