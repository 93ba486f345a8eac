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

}  // namespace weft
