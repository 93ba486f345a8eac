// Variants of the contractions of a tree: operands summed first, intermediates stored sparsely, fibers copied to be looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/schedule/contractions.h"
#include "engine/plan/schedule/result_format.h"

namespace weft {

/// Of a tree with its steps in each of these orders, and its result in each of these formats.
std::vector<Contractions> plain_contractions(const Problem& problem, const ContractionTree& tree,
                                             const std::vector<std::vector<std::uint32_t>>& orders,
                                             const std::vector<ResultFormat>& formats);

/// Contractions like these in which some operands are summed first over the indices that no other
/// factor of their step and not its target has, each by a step with one factor: paths O[a,b] = V[i,a,j] * W[j,b,k]
/// walk i and k once, x[a,j] += V[i,a,j], y[j,b] += W[j,b,k], instead of once for every pair. Such steps stand right
/// before their reader, or before all. Every choice of up to three operands, else none, one or all of them. The
/// first is what is given, alone where a tree is given, by the options or by parentheses, which is contracted as it says,
/// and under strict floating point, which does not take sums apart.
std::vector<Contractions> with_partial_sums(Contractions plain, const Network& network, const PlanOptions& options);

/// Contractions like these that differ in how intermediates are stored (schedule/contractions.h) which sparse factors restrict, so that
/// only their stored entries are read: keyed, or stored in one of the orders of their modes. Every choice of up
/// to two intermediates of up to two modes, or three if `every_order` is wanted: there are many. Else those of
/// with_keyed_intermediates(). The first is what is given. A result that is dense, or shares the positions of an operand, leaves
/// them dense, but `for_dense_results`: where absent entries annihilate NaN or Inf, or every statement is to be a nest of its own and
/// dense ones would be stored whole.
std::vector<Contractions> with_sparse_intermediates(Contractions plain, bool every_order, bool for_dense_results = false);

/// The same with storage of_loops for no, one or both of two intermediates, or all of more, whatever the result is. On the way to a
/// dense one they come last: the search of all trees prices dense intermediates alone there.
std::vector<Contractions> with_keyed_intermediates(Contractions plain);

/// All that the planner chooses from for a tree, an order of its steps and a format of its result: with partial sums, and for each of them
/// what with_sparse_intermediates() says. The same for all of these orders and formats.
std::vector<Contractions> contraction_variants(Contractions plain, const Problem& problem, bool every_order, bool unfused = false);
std::vector<Contractions> contraction_variants(const Problem& problem, const ContractionTree& tree,
                                               const std::vector<std::vector<std::uint32_t>>& orders,
                                               const std::vector<ResultFormat>& formats, bool every_order, bool unfused = false);

/// A mark array (Gustavson, "Two fast algorithms for sparse matrices", TOMS 1978): a fiber of an operand copied, inside the loops that fix
/// its outer levels, into a workspace that knows its entries, so that the loops below find a coordinate at once instead of searching or
/// merging for it. A step with one factor, m[i,j] += M[i,j], whose target is an intermediate: factor `factor` of `step` is copied right
/// before it. Nothing where there is nothing to look up: the factor is no sparse operand, has fewer than two modes or a diagonal, the
/// result shares its positions, or no other sparse factor of the step has an index of it.
std::optional<Contractions> with_mark_array(const Contractions& contractions, std::size_t step, std::size_t factor);

/// Whether every copy of a schedule with loops is worth one: it shares loops with its reader, for in a nest of its own it would be a
/// conversion, and coordinates are looked up in it, for one that drives where the operand could saves nothing.
bool marks_are_looked_up(const Schedule& schedule);

}  // namespace weft
