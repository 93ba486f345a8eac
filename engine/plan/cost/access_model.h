// AccessPath: how the loops reach the entries of one occurrence of an operand. As SQLite's WhereLoop: a way in, and what setting it up
// takes; the search chooses one per occurrence. AccessModel: how many positions an access reaches when a set of indices is bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/network/code_forms.h"
#include "engine/plan/schedule/contractions.h"
#include "runtime/level_traits.h"
#include "weft/format.h"

namespace weft {

/// A dense level costs memory for every combination of coordinates, and visits the empty ones where it drives; it turns
/// every search into a lookup. Dense where it is cheap, where it is nearly free and where it is affordable are priced,
/// the first of them always: MTTKRP of 2000^3 with 2e6 entries takes 18.9 ms with compressed levels, 28.9 ms with a
/// dense one of 2.5 combinations per stored one; four sparse tensors want the lookups.
inline constexpr double dense_fill_limits[] = {4, 1.5, 16};

/// Of an operand that is converted.
inline constexpr std::size_t most_convertible_modes = 12;

struct AccessPath {
  enum class Way : std::uint8_t {
    stored,      ///< in the layout that the schedule names: nothing to set up
    of_loops,    ///< converted: levels in the order of the loops around it, leading ones dense as far as `fill_limit` allows
    transposed,  ///< a dense operand converted: mode `last` becomes the one whose neighbours are adjacent
    opened,      ///< the first `levels` levels dense, so that a search becomes a table lookup; all arrays below them stay
    marked,      ///< a mark for every coordinate of the last level, which is then looked up instead of searched
    chained,     ///< converted: its modes in the order in which it has them, the levels below the first a chain; entries keep their places
  };
  Way way = Way::stored;
  double fill_limit = 0;   ///< of_loops, chained: combinations of coordinates that a dense level may have per stored one
  /// of_loops, three modes or more: all levels below the first are a chain (u, q, …), whose entries one loop walks over. Fibers of a few
  /// entries cost more for finding their ends than for their entries (lower/flat_walks.h).
  bool chained = false;
  std::uint32_t last = 0;    ///< transposed
  std::uint32_t levels = 0;  ///< opened

  static AccessPath of_loops(double fill_limit = dense_fill_limits[0]) { return {.way = Way::of_loops, .fill_limit = fill_limit}; }
  static AccessPath chain_of_loops(double fill_limit) { return {.way = Way::of_loops, .fill_limit = fill_limit, .chained = true}; }
  static AccessPath chained_in_order(double fill_limit) { return {.way = Way::chained, .fill_limit = fill_limit}; }
  static AccessPath transposed(std::uint32_t last) { return {.way = Way::transposed, .last = last}; }
  static AccessPath opened(std::uint32_t levels) { return {.way = Way::opened, .levels = levels}; }
  static AccessPath marked() { return {.way = Way::marked}; }

  /// Which layout it is becomes known with the order of the loops.
  bool follows_loops() const { return way == Way::of_loops; }
  bool converts() const { return way != Way::stored; }
  bool operator==(const AccessPath&) const = default;
};

/// One per tensor of a schedule; those that are no operands are as they are stored, and so is everything where it is empty.
using AccessPaths = std::vector<AccessPath>;

inline AccessPath path_of(const AccessPaths& paths, std::size_t tensor) { return paths.empty() ? AccessPath{} : paths[tensor]; }

/// The layout that a path has which does not follow the loops.
Format layout_of(const AccessPath& path, const OperandFacts& operand);

/// The layout of a path `chained`: the first level dense where that is affordable, a chain below. Nothing unless the operand has three
/// modes or more, and compressed levels below a first one that is dense or compressed.
std::optional<Format> chained_format(const OperandFacts& operand, double fill_limit);

/// How far the levels of an access are bound: the number of bound levels of a layout that is given, the set of bound
/// modes of one that follows the loops. Both depend on the SET of bound indices only, not on their order (planning.md).
using BoundState = std::uint32_t;

/// A level of a layout that is given.
struct AccessedLevel {
  IndexId index = 0;
  std::uint32_t mode = 0;
  LevelKind kind = LevelKind::dense;
  double extent = 0;
  bool located = false;   ///< at a part of the loop's index, or a sum with it, or by a look at each entry
  IndexSet needs = 0;     ///< the index, and those that a sum has beside it
  IndexSet followed = 0;  ///< of a sum of digits those above that of `index`, over whose loops a finger is kept
  bool scanned = false;   ///< its coordinates come in no order
};

/// A level that becomes bound: its mean fiber length where it filters, whether it is sparse, whether it may drive.
struct LevelStep {
  double length = 1;
  bool sparse = false;
  bool direct = false;
  BoundState state = 0;    ///< once it is bound
  bool one_entry = false;  ///< a singleton below a level of another kind: each of its positions has one, over which there is no loop
  bool of_runs = false;    ///< a level of a chain above its last: its coordinates are runs of equal ones, whose ends are looked for
  bool adjacent = false;   ///< the coordinates of a fiber follow each other
  const AccessedLevel& level;  ///< of a layout that follows the loops any compressed one

  /// A coordinate is found without a search.
  bool is_table() const { return sparse && has_gaps(level.kind); }
};

class AccessModel {
 public:
  /// Of a layout that follows the loops the leading levels are dense where the product of their extents is at most the path's
  /// `fill_limit` times their distinct coordinates; it may have 12 modes.
  AccessModel(const ScheduledAccess& access, const ContractedTensor& tensor, const AccessPath& path, const Network& network,
              const std::vector<OperandFacts>& operands, std::shared_ptr<const Statistics> estimated = nullptr);

  BoundState bound(IndexSet indices) const;
  /// Positions reached: distinct coordinates of the bound modes; extents multiply for dense levels.
  double positions(BoundState state) const;
  /// Share of all combinations of the bound indices that have a position: what the access lets through.
  double density(BoundState state) const;
  /// Of the combinations of its indices among these, the share with entries of an operand, wherever its levels are bound.
  /// 1 for anything else.
  double fill(IndexSet indices) const;
  /// Of an operand, distinct coordinates of an index among the entries that share the coordinate of another with an entry; 0 where means
  /// tell enough (estimate/operand_facts.h).
  double distinct_in_heavy_slices(IndexId slices, IndexId counted) const;
  /// The levels bound between two states, in the order in which they are bound; the first one may drive.
  std::vector<LevelStep> steps(BoundState from, BoundState to) const;
  /// The same without storing them, for the innermost loop of the planner.
  template <class Visit>
  void for_each_step(BoundState from, BoundState to, const Visit& visit) const;

  /// The modes of the bound levels.
  ModeSet bound_modes(BoundState state) const;
  /// As many of these levels as another access of the tensor has bound as well, if it has the same indices at all modes: A(i,j) beside
  /// A(i,j). What A(i,k) beside it lets through is for joins to say, which are counted against independence.
  BoundState shared_with(const AccessModel& other, BoundState others, BoundState state) const;

  /// Whether the deepest bound level is sparse, so that the fibers below its positions are not empty.
  bool is_sparse_at(BoundState state) const;

  IndexSet indices() const { return indices_; }
  bool sparse() const { return sparse_; }
  /// Whether density() may be below 1: sparse, or at sums of indices that are out of range for some coordinates.
  bool leaves_out() const { return sparse_ || summed_; }
  bool follows_loops() const { return follows_; }
  bool is_converted() const { return converted_; }
  bool intermediate() const { return intermediate_; }
  double bytes() const { return bytes_; }
  /// Without the coordinates of the last level where nothing asks for them. Where the order of levels is open unasked indices come last.
  double bytes_read(IndexSet unasked) const;
  double entries() const { return reached_.back().positions; }
  /// Below a position, in the mean.
  double entries_below(BoundState state) const { return entries() / std::max(1.0, positions(state)); }
  double scalar_bytes() const { return scalar_bytes_; }
  /// The index whose neighbours are adjacent in memory. The layout of an intermediate follows its loops, so that any of
  /// its indices will do.
  IndexSet contiguous() const { return contiguous_; }
  void set_contiguous(IndexSet indices) { contiguous_ = indices; }
  /// The indices below which all levels are dense, of an operand those of the dense levels below its last sparse one: B[i,j,r,c] of blocks
  /// of 3 x 3 has r and c. Empty for a sparse layout that follows the loops.
  IndexSet dense_below() const;
  /// Of an operand the indices of levels with one entry at each position, and those of dense levels below which there are only dense ones
  /// and such: of B[i,slot,r,j] as sell(8) has it j, and r.
  IndexSet one_entry() const;
  IndexSet straight_below() const;
  /// Share of a cache in which a block over these indices of a dense array may lie: rows that are a multiple of a large
  /// power of two apart meet in few of its sets. `way_bytes`, a power of two, is what the cache holds in one way. 1 for
  /// an intermediate, whose layout follows its loops.
  double reached_share(IndexSet block, std::uint64_t way_bytes, double line_bytes) const;
  /// Whether the blocks over these indices of a dense array that neighbours of `index` choose lie one behind the other.
  bool adjacent(IndexId index, IndexSet block) const;
  /// A sparse intermediate holds a dense block over these indices below each entry.
  void add_block(IndexSet indices, const Network& network);
  /// Largest share of the work that one coordinate of the first level stands for, if the layout is given.
  double largest_share(IndexId root) const;
  /// Whether threads may share one coordinate of the first level: the entries below are side by side.
  bool shares_slices(IndexId root) const;
  /// Whether each coordinate of the index has a row, or block, of its own.
  bool has_rows(IndexId index) const { return follows_ || (!levels_.empty() && levels_[0].index == index && !levels_[0].located); }
  /// Whether what lies below a position is so little that a processor which went over it a moment ago foresees where its
  /// fibers end.
  bool is_remembered(BoundState state) const { return entries() <= most_remembered * std::max(1.0, positions(state)); }
  /// Whether one loop may walk over all levels from this state on to the entries: they are a chain with short runs of equal coordinates.
  bool begins_walk(BoundState state) const;
  /// Whether some state does.
  bool may_be_walked() const;
  /// How far inside such a chain the state lies: levels behind its first; 0 where it does not.
  std::size_t walked(BoundState state) const;
  /// Whether what a walk inside which the state lies adds to stays the same all along: no index of it is gone over but that of the level
  /// above the walk. Where the order of levels is open, that may be any one of them.
  bool sums_in_walk(BoundState state, IndexSet target) const;
  /// Entries in a row that a walk adds to one element over these indices, in the mean.
  double repeats_in_walk(BoundState state, IndexSet target) const;
  /// Whether the entries below neighbouring positions stand side by side, at every level: one loop goes over those of several fibers.
  bool stands_side_by_side() const;
  /// The index of the deepest bound level; of a converted operand those of all bound ones, whose order is open while loops are sought.
  IndexSet innermost(BoundState state) const;
  /// Fibers that loops over the levels below a position enter: that position's, and those below it but for the last level.
  double fibers_inside(BoundState state) const;
  /// Of the end of a fiber below a position, of this length in the mean (unforeseen_end of co_iteration.h).
  double unforeseen_end_of(BoundState state, double length) const { return end_of_fiber(bound_modes(state), length); }
  /// Loop-exit mispredicts of the fibers below a position when its entries are gone over for the first time. Loops over `unasked` indices
  /// are none but at the last level: those below go over several fibers as one. `in_range`: the position is itself one of those that are
  /// gone over so, and the first loop below it does not end with it. Of a converted operand nothing is taken to be unasked.
  double unforeseen_ends(BoundState state, IndexSet unasked = 0, bool in_range = false) const;
  /// The same of the one loop that begins below a position, which goes over the fibers of unasked indices as one.
  double unforeseen_end_below(BoundState state, IndexSet unasked) const;
  /// The modes, bit m mode m, whose coordinates the bound levels filter: none below dense levels alone.
  std::uint32_t filtering_modes(BoundState state) const;

  /// The layout that a path has, of one that follows the loops in this order of theirs. No chain where its first loop is among the
  /// first `shared` of them, which other statements share.
  Format realized(const std::vector<IndexId>& loops, std::size_t shared) const;

 private:
  static constexpr double most_remembered = 250;  // entries; 400 were, but between loops with branches of their own fewer are

  double ratio(BoundState below, BoundState above) const {
    const double parents = positions(above);
    return parents > 0 ? positions(below) / parents : 0;
  }
  bool has_one_entry(std::size_t level) const;
  bool has_runs(std::size_t level) const {
    return sparse_ && level + 1 < levels_.size() && is_sparse(levels_[level].kind) && is_per_parent(levels_[level + 1].kind) &&
           (begins_chain(levels_[level].kind) || is_per_parent(levels_[level].kind));
  }
  double end_of_fiber(ModeSet above, double length) const;
  double ends_in_levels(std::size_t level, ModeSet passed, bool in_range) const;
  std::uint32_t even_levels(const OperandFacts& facts) const;
  double ends_in_any_order(ModeSet modes) const;
  // Tuples over these modes and one more, the one that makes the fewest; infinitely many where there is no more.
  struct Fibers {
    ModeSet modes;
    double count;
  };
  Fibers fewest_below(ModeSet modes) const;
  ModeSet all_modes() const { return (ModeSet{1} << modes_.size()) - 1; }
  ModeSet modes_of(IndexSet indices) const;
  double positions_of(BoundState modes) const;
  bool is_dense(BoundState modes) const;
  double product_of_extents(BoundState modes) const;
  bool stands_together(const std::vector<IndexId>& loops, std::size_t shared) const;
  double places_of_block(const TensorDeclaration& tensor, std::size_t mode, double starts) const;
  bool has_short_runs(BoundState state) const { return entries() < long_run_entries * std::max(1.0, positions(state)); }

  std::shared_ptr<const Statistics> estimated_;  // of sparse intermediates
  const Statistics* statistics_ = nullptr;       // of operands; outlives the model
  const Statistics* exact_ = nullptr;            // not quantised
  struct AccessedMode {
    IndexId index = 0;
    double extent = 0;
  };
  struct ReachedLevel {
    double positions = 1;
    double density = 1;
  };

  Scalar scalar_;
  std::vector<AccessedMode> modes_;
  std::vector<AccessedLevel> levels_;
  std::vector<ReachedLevel> reached_;  // levels bound: 0 … order
  mutable std::vector<double> positions_by_modes_;  // negative: not asked yet
  mutable std::vector<double> company_;             // share_with_company() by the mode left out, once asked for
  mutable std::vector<double> ends_;                // by state, likewise
  IndexSet indices_ = 0;
  bool intermediate_ = false;
  bool sparse_ = false;
  bool located_ = false;  // through its layout
  bool summed_ = false;   // at sums of indices too
  bool follows_ = false;  // the loops
  double fill_limit_ = 1;
  bool converted_ = false;
  std::uint32_t even_ = 0;  // levels whose fibers all have the same few entries: their ends are foreseen
  bool chained_ = false;
  bool adjacent_ = false;  // coordinates in each fiber of the last level
  IndexSet contiguous_ = 0;
  double bytes_ = 0;
  double scalar_bytes_ = 8;
};

template <class Visit>
void AccessModel::for_each_step(BoundState from, BoundState to, const Visit& visit) const {
  if (!follows_) {
    for (BoundState level = from; level < to; ++level) {
      const AccessedLevel& bound = levels_[level];
      visit(LevelStep{ratio(level + 1, level), sparse_ && is_sparse(bound.kind), level == from && !bound.located, level + 1,
                      has_one_entry(level), has_runs(level), adjacent_ && level + 1 == levels_.size(), bound});
    }
    return;
  }
  static constexpr AccessedLevel of_loops{.kind = LevelKind::compressed};
  BoundState state = from;
  for (BoundState added = to & ~from; added != 0; added &= added - 1) {
    const BoundState next = state | (added & (~added + 1));
    const bool runs = chained_ && (next & (next - 1)) != 0 && next != all_modes();
    visit(LevelStep{ratio(next, state), !is_dense(next), state == from, next, false, runs, false, of_loops});
    state = next;
  }
}

}  // namespace weft
