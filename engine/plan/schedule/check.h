// check(): the judge of legality, and its rules, one function each; every message names the statement or tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/schedule/contractions.h"

namespace weft {

/// Legal? Independent of every producer: loops cover indices, concordance of sparse layouts, fused prefixes equal,
/// intermediates written before read and shared prefixes consistent, the tree's products computed, presence of dense
/// intermediates (NaN and Inf), result formats honoured, strict-fp. Input error naming the statement.
Expected<void> check(const Schedule& schedule, const Problem& problem);

/// The error of a rule: "schedule: T is …", or of the statement at position 1 "schedule, statement 2: T is …".
std::unexpected<Error> illegal(const std::string& what);
std::unexpected<Error> illegal(std::size_t statement, const std::string& what);

/// The statements compute the products of the tree, and the tree those of the term.
Expected<void> check_products(const Schedule& schedule, const Network& network);

/// Loops cover the indices, prefixes that are shared agree, vector loops and intersections are possible.
Expected<void> check_loops(const Schedule& schedule, const Network& network, const PlanOptions& options);

/// How root loops are shared among threads, and that no two products leave a nest with sparse factors: its loops visit
/// only what all of them have, which is right for their product but not for each of them.
Expected<void> check_roots(const Schedule& schedule, const Network& network, const PlanOptions& options);

/// The format a result is computed and handed over in, or the pattern that it shares, is what was requested and possible.
Expected<void> check_result(const Schedule& schedule, const ScheduledTensor& result, const Problem& problem);

/// Targets with compressed levels are appended to in the order of their levels, or drained; intermediates inside a nest
/// have one key; what comes in no order drives alone.
Expected<void> check_sparse(const Schedule& schedule, const Network& network);

/// A dense intermediate cannot tell absent from zero: unless it is provably written, it is read only where all that it is multiplied
/// with is finite, there and further on (annihilated_tensors()), and never on the way to compressed levels.
Expected<void> check_presence(const Schedule& schedule, const Network& network,
                              const std::vector<OperandFacts>& operands);

/// All rules, for a network of several assignments: results that are asked for are stored; each stored assignment is
/// legal by itself, with earlier results as operands; presence across them.
Expected<void> check_forest(const Schedule& schedule, const Problem& problem);

/// Whether an intermediate tells absent entries from zeros wherever it is read: by its levels, or because every entry of
/// a dense one is provably accumulated everywhere.
bool knows_its_entries(const Schedule& schedule, const Network& network, std::uint32_t tensor);

/// By position in Schedule::tensors: whether sums into the tensor make entries of compressed levels, its own or of a tensor computed
/// from it.
std::vector<bool> entry_making_tensors(const Schedule& schedule);

/// Whether everything that flows into the tensor is finite.
bool is_finite(Steps steps, std::uint32_t tensor, const std::vector<OperandFacts>& operands);
/// The same per tensor.
std::vector<bool> finite_tensors(Steps steps, const std::vector<OperandFacts>& operands);

/// By tensor: a tensor that is not finite and that absent entries of this intermediate annihilate, a factor beside it,
/// or beside a tensor computed from it. Zeros in their place would make NaN of it. Nothing where zeros do as well. `finite` by tensor;
/// of what lies beyond its end nothing is known.
std::vector<std::optional<std::uint32_t>> annihilated_tensors(Steps steps, const std::vector<bool>& finite);
/// Whether there is one for any intermediate.
bool annihilates_any(Steps steps, const std::vector<OperandFacts>& operands);

}  // namespace weft
