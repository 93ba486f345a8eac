// Joins: combinations of indices that several sparse operands let through together.
//
// Independence multiplies densities. Real operands are correlated: the hubs of a graph are hubs on both sides of a
// product. What the cost model multiplies by is the ratio of a join's counted size to its size by independence; a join
// that was not counted has that of the largest counted one within it, of several the largest, and 1 without one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/plan/index_set.h"
#include "engine/plan/problem.h"

namespace weft {

/// Modes of sparse accesses that filter: bit first_bit + m is mode m of an occurrence. A join is a connected set of two
/// or more occurrences, each projected on its modes.
using JoinSet = std::uint64_t;

/// A sparse access of the network; equal ones (the same tensor with the same indices) are one.
struct Occurrence : TensorAccess {
  std::uint32_t first_bit = 0;
  std::vector<std::uint64_t> extents = {};  ///< of the index of each mode, whose number need not be one of the network's own
  JoinSet all() const { return ((JoinSet{1} << indices.size()) - 1) << first_bit; }
  /// Its modes over some indices, and the indices of its modes in a set.
  JoinSet modes_over(IndexSet these) const;
  IndexSet indices_in(JoinSet set) const;
};

/// Every sparse access, in the order of the network; none where their modes do not fit into a JoinSet. Of several
/// assignments those as well that are accessed where an assignment is written into its readers (inlining.h), whichever of
/// up to four results are stored: the indices that those products get need not be the network's own.
std::vector<Occurrence> occurrences(const Network& network, const std::vector<OperandFacts>& operands);

/// All modes of the accesses that these factors are.
JoinSet join_of(const std::vector<TensorAccess>& factors, const std::vector<Occurrence>& all);

/// The same joins by the numbers that the accesses have in another network; without those that it lacks an access of.
std::map<JoinSet, double> renumbered(const std::map<JoinSet, double>& joins, const std::vector<Occurrence>& from,
                                     const std::vector<Occurrence>& to);
std::optional<JoinSet> renumbered(JoinSet join, const std::vector<Occurrence>& from, const std::vector<Occurrence>& to);

/// The rest of a join without the accesses that `counted` lacks, those of results of the same run: (P(m), A(m,j), D(j,m)) leaves
/// (A(m,j), D(j,m)). A cost then has the largest join that can be counted, and not whichever others were counted for other plans.
std::vector<JoinSet> joins_of_operands(JoinSet join, const std::vector<Occurrence>& occurrences, const std::vector<Occurrence>& counted);

/// What counted joins say of all modes of these occurrences over independence.
double counted_ratio(JoinSet set, const std::vector<Occurrence>& occurrences, const std::map<JoinSet, double>& counted);

/// How far below independence counted joins may put the iterations of any loops: each may hold for all of them, or have
/// been cut off at the extent of an index before.
double least_joined(const PlanOptions& options);

/// The connected parts of a set that hold two or more occurrences.
std::vector<JoinSet> joins_in(JoinSet set, const std::vector<Occurrence>& occurrences);

}  // namespace weft
