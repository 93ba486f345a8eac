// Results whose entries stand where those of an operand stand: they share its positions and coordinates.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Whether the result has an entry exactly where `operand` has one, whatever is stored in it: the operand stands in the
/// product with every mode and every index of the result, the other factors are dense and certain, and no sum is empty.
bool has_pattern_of(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands);

/// The layout of the result that puts its levels where those of a layout of the operand are; nothing if the operand is
/// not a factor with the indices of the result, each once.
std::optional<Format> pattern_format(const Network& network, TensorId operand, const Format& layout);

/// The first operand whose pattern the result provably has and could share.
std::optional<TensorId> shared_pattern(const Network& network, const std::vector<OperandFacts>& operands);

/// Whether the loops around the statement `writer` bind all levels of an access of the schedule's tensor `operand` that
/// has the indices of the target, level by level.
bool is_bound_beside(const Schedule& schedule, std::size_t writer, std::uint32_t operand);

}  // namespace weft
