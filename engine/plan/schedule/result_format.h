// Which format a result is computed in, and which it is handed over in.
#pragma once

#include <optional>
#include <vector>

#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/schedule/contractions.h"

namespace weft {

/// A result without a requested format is sparse below this share of entries (interface.md, `--format`).
inline constexpr double sparse_fill = 0.1;

/// One way to store a result: in a format, or appended in the order of its writer's loops, `block` dense below. `like` names an operand
/// whose layout, or its leading levels, `format` has, kept as it is.
struct ResultFormat {
  Format format;
  std::optional<Format> delivered = {};
  std::optional<TensorId> like = {};
  Storage storage = Storage::stored;  ///< or of_loops
  IndexSet block = 0;
  bool operator==(const ResultFormat&) const = default;
};

/// Every way that is worth pricing, the plainest first: the requested format, computed in its own mode order, and in
/// whatever order the loops take (Storage::of_loops), to be converted; the pattern of an operand, or of its leading levels, where that is
/// provably the result's; without a request what the estimated fill says. A dense result also by the rows that loops over sparse factors
/// leave free.
std::vector<ResultFormat> result_formats(const Problem& problem);

/// The first of them.
ResultFormat plainest_result_format(const Problem& problem);

/// Writes a way into the result, the last tensor.
void set_result_format(Contractions& contractions, const Network& network, const ResultFormat& chosen);

/// Kinds of levels in a given mode order: those of `block` that come last are dense, the first level where most of its
/// coordinates have entries, all others compressed.
Format sparse_result_format(const ProductEstimate& product, const std::vector<IndexId>& indices,
                            std::vector<std::uint32_t> mode_order, IndexSet block, Scalar scalar);

/// The format that these loops give a result whose storage is of_loops.
Format in_order_of_loops(const ProductEstimate& product, const std::vector<IndexId>& indices, IndexSet block,
                         const std::vector<IndexId>& loops, Scalar scalar);

/// Whether kernels write such a format themselves: dense and compressed levels only.
bool may_be_computed(const Format& format);

/// Whether a result computed in one format may be handed over in another without absent entries becoming stored ones:
/// dense levels below the last compressed one hold zeros, so they must be such levels in both.
bool may_be_delivered(const Format& computed, const Format& delivered);

/// The format with levels that kernels write and the mode order of the requested one: every level that is not dense is compressed.
Format computed_format(const Format& requested);

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

/// Whether every tensor has its entries in the same order in both layouts, and no others in one of them: of equal orders of modes, dense
/// levels, then compressed ones or chains, as sss, dss and duq. Position p of the last level is the same entry in both.
bool keeps_order(const Format& one, const Format& other);

/// Whether the loops around the statement `writer` bind the levels that the result shares of an access of the schedule's tensor `operand`
/// that has the indices of the target there, level by level, and do not bind the level below together with the last of them.
bool is_bound_beside(const Schedule& schedule, std::size_t writer, std::uint32_t operand);

}  // namespace weft
