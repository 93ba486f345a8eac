// Results whose entries stand where those of an operand stand, or its fibers and slices: they share positions and coordinates.
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

/// A result that provably has an entry, a block of dense levels, at each position of an operand's leading levels and nowhere else:
/// Y(i,j,r) = T(i,j,k) * B(k,r) has a row for every fiber of T. The layout is that of `operand` there; nothing if it is not so, or if
/// these are all its levels and all of the result's. As above the other factors are dense and certain, and no sum is empty (below a
/// position of a compressed level something is stored).
std::optional<Format> leading_format(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands);

/// The first operand whose pattern the result provably has and could share.
std::optional<TensorId> shared_pattern(const Network& network, const std::vector<OperandFacts>& operands);

/// Whether every tensor has its entries in the same order in both layouts, and no others in one of them: of equal orders of modes, dense
/// levels, then compressed ones or chains, as sss, dss and duq. Position p of the last level is the same entry in both.
bool keeps_order(const Format& one, const Format& other);

/// Whether the levels of the result, up to the last that is not dense, are kinds and indices of the first ones of an operand. Indices are
/// by mode.
bool share_levels(const std::vector<IndexId>& operand, const Format& layout, const std::vector<IndexId>& result, const Format& format);

/// Whether the loops around the statement `writer` bind the levels that the result shares of an access of the schedule's tensor `operand`
/// that has the indices of the target there, level by level, and do not bind the level below together with the last of them.
bool is_bound_beside(const Schedule& schedule, std::size_t writer, std::uint32_t operand);

}  // namespace weft
