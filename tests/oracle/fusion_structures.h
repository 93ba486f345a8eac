// Fusion structures: which loops the statements of a tree share, apart from the order of the loops.
//
// Gao, Krishnamoorthy, Sahoo, Lam, Baumgartner, Ramanujam & Sadayappan, "Efficient Search-Space Pruning for Integrated
// Fusion and Tiling Transformations" (LCPC 2005): an intermediate that is not fused with its reader is a CUT-POINT; the
// cut-points divide the operation tree into fused sub-trees. An index is in exactly two of the three arrays of a
// contraction, so the statements it is common to form a path of the tree and every fused sub-tree is a CHAIN. The
// structures of a chain are those of its PARENTHESISATIONS, each fused as far as possible: a group shares all loops
// that are common to its statements. Any other structure is one of these with loops taken apart again (which the paper
// expresses by tile sizes), so whatever can only improve by fusing needs no others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/space/trees.h"

namespace weft {

/// Whether every index of every operation with two factors is in exactly two of its three arrays: then fused sub-trees
/// are chains. Elementwise products and operations of more or fewer factors have wider ones.
bool is_pure_contraction(const Contractions& contractions);

/// The loops that each statement shares with the next one, as sets. The sets of a nest are laminar: an index common to
/// several neighbours belongs to one loop around all of them, and two such loops are nested or apart.
struct FusionStructure {
  std::vector<std::uint32_t> order;  ///< of the operations
  std::vector<IndexSet> shared;      ///< between neighbours: one less than operations
  bool operator==(const FusionStructure&) const = default;
  auto operator<=>(const FusionStructure&) const = default;
};

/// What a schedule shares, its statements numbered as they stand.
FusionStructure fusion_structure(const Schedule& schedule);

/// Every intermediate either a cut-point or fused with its reader. Every chain is a path of the tree, from a lowest
/// statement up to the one that reads no fused intermediate upwards, and down again where both of its producers are
/// fused with it: the summation index is then outermost and the structure ends, a cut-point.
struct Partition {
  std::vector<bool> cut;                           ///< by operation; the root's is true
  std::vector<std::vector<std::uint32_t>> chains;  ///< paths of the tree, in an order in which they can be run
  bool operator==(const Partition&) const = default;
};

/// All partitions into chains; only those from which no cut-point can be taken away if `fewest`. Of at most 20
/// operations; more have none.
std::vector<Partition> partitions(const OperationTree& tree, bool fewest);

/// The maximally fused structures of a chain, one per parenthesisation: Catalan(n - 1) of n operations. The order of
/// the operations follows who reads whom.
std::vector<FusionStructure> parenthesised(const OperationTree& tree, const std::vector<std::uint32_t>& chain);

/// Of the whole tree: those of the chains, next to each other, for every partition with fewest cut-points.
std::vector<FusionStructure> maximal_structures(const OperationTree& tree);

/// Every structure of the statements in their order, maximal or not, each once. Fused throughout (no cut-point, which
/// is a neighbour with nothing shared) if `uncut`. Exponential in the loops: for tiny trees.
std::vector<FusionStructure> all_structures(const OperationTree& tree, bool uncut);

}  // namespace weft
