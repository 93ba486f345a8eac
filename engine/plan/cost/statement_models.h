// What the cost model knows of statements, wherever they stand: which accesses a loop of theirs advances, what it moves
// and computes. Alternatives of a search have most statements in common, so that all of this is looked up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/plan/cost/access_model.h"
#include "engine/plan/cost/batch_size.h"
#include "engine/plan/cost/co_iteration.h"
#include "engine/plan/cost/interval_table.h"
#include "engine/plan/cost/sparse_target.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/estimate/product_estimate.h"

namespace weft {

/// Of steps, gathers and arithmetic of scalar entries, what whole vectors take whose entries follow each other. SpMV over diagonals of
/// 360,000, in the second cache and beyond: 0.34 ns an entry.
inline constexpr double adjacent_share = 1.0 / 16;

/// The same of entries that each add to an element of their own, which do not wait for each other either: y(i) += M(j,i) * x(j) of a
/// million, 20 in a row, takes 0.7 ns an entry with y in the first cache, 0.9 in the second, 2.1 in the third.
inline constexpr double scatter_share = 0.5;

/// The same of entries of a walk that add to the element that the one before them added to, in memory: each waits for what that stored.
/// R(k,j) = T(i,j,k,l,m) of 20,000 entries, fifteen for an element: 1.45 ns each, 0.3 by loops that keep the sum.
inline constexpr double repeat_share = 2;

/// Bytes that a loop moves for one access, per iteration.
struct Movement {
  double bytes = 0;
  double stream_ns = 0;  ///< beside arithmetic
  double gather_ns = 0;  ///< on top of it
  double beside_ns = 0;  ///< from the first cache, beside what the loops inside do there and compute
  double ahead_ns = 0;   ///< of lines that come while the loops inside run
  double update_ns = 0;  ///< on top of the arithmetic, of a row that is added to where it lies

  Movement share(double part) const {
    return {part * bytes, part * stream_ns, part * gather_ns, part * beside_ns, part * ahead_ns, part * update_ns};
  }
};

/// A sparse access that a loop binds levels of.
struct AdvancedAccess {
  std::uint32_t factor = 0;
  bool drives = false;      ///< the first of these levels is sparse
  Table table = Table::none;
  LevelKind kind = LevelKind::compressed;  ///< of the first of these levels, of an operand
  bool one_entry = false;   ///< that level has one entry at each position
  double run = 0;           ///< entries of the runs of its coordinates, if a loop goes over these
  bool walked = false;      ///< it is inside a walk over a chain, or over fibers whose coordinates are not asked for: no loop is entered
  bool last_of_walk = false;
  bool of_range = false;    ///< whose entries stand side by side, as those of one fiber
  bool sums_walk = false;   ///< all of its entries are added to one element
  double repeats = 1;       ///< so many in a row are, in memory
  bool adjacent = false;    ///< the coordinates of each of its fibers follow each other
  double length = 0;        ///< of its fibers, in the mean
  double direct = 1;        ///< share of the loop's extent that the first of these levels lets through
  double late_density = 1;  ///< what the levels behind it let through of that
  double late_ns = 0;       ///< searching them
  double tables = 0;        ///< dense levels, which are looked up
  double ends = 0;          ///< loop-exit mispredicts, of fibers that others filter; of others they cost in loops outside
  double ends_inside_ns = 0;  ///< there, per iteration, of what the loops over its other indices go through
  IndexSet open = 0;        ///< these indices
  JoinSet first = 0;        ///< what filters when the first of these levels is bound
  JoinSet all = 0;          ///< when all of them are
};

/// One statement inside a loop over an index.
struct StatementLoop {
  JoinSet outside = 0;     ///< what filters outside the loop
  std::span<const AdvancedAccess> advanced;
  const Movement* factors = nullptr;  ///< read, in the order of the factors
  Movement written;                   ///< of the target, once in each direction
  double vector_ns = 0;               ///< the body over the whole extent as vector code
  double row_end_ns = 0;              ///< if only a vector loop is inside: more than its elements take
  bool joins = false;                 ///< and it goes on where the row before ended, so that both may be one loop
  double inside_stream_ns = 0;        ///< reading rows from the first cache in the loops inside, at least, per iteration
  double inside_vector_ns = 0;        ///< and the arithmetic there
  bool ends_inside = false;           ///< any of its accesses has fibers inside whose ends cost
  LoopPrice alone{0, -1};             ///< if no other statement shares the loop; negative before it was asked for
  bool innermost = false;             ///< its body runs there
  bool vector = false;                ///< may be vector code, if no other statement shares the loop
  bool written_out = false;           ///< one iteration after the other, so that there is no loop
  bool row_stays = false;             ///< in registers: vector code, or what is written out, does not write it
  bool sums_short_row = false;        ///< of a few elements, which the only loop inside adds to as one vector
};

/// Rows of values that stay where they are.
class Rows {
 public:
  template <class Value>
  std::span<Value> add(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<Value> && alignof(Value) <= alignof(std::max_align_t));
    constexpr std::size_t unit = sizeof(std::max_align_t);
    const std::size_t bytes = (count * sizeof(Value) + unit - 1) / unit * unit;
    if (bytes > left_) begin_block(bytes);
    auto* const row = reinterpret_cast<Value*>(next_);
    std::uninitialized_value_construct_n(row, count);
    next_ += bytes;
    left_ -= bytes;
    return {row, count};
  }

  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t largest_block = std::size_t{1} << 20;

  void begin_block(std::size_t least) {
    size_ = std::max(least, std::min(2 * size_, largest_block));
    left_ = size_;
    bytes_ += size_;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    next_ = blocks_.back().get();
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t size_ = 4096;  // of the last block
  std::size_t bytes_ = 0;    // of all
};

class StatementModels {
 public:
  /// Refers to all of its arguments.
  explicit StatementModels(const Problem& problem);
  StatementModels(const StatementModels&) = delete;
  StatementModels& operator=(const StatementModels&) = delete;

  static constexpr TensorId no_operand = ~TensorId{0};
  struct Statement {
    // Modes of sparse operands, with their indices.
    using FilteringModes = std::vector<std::pair<JoinSet, IndexId>>;
    struct Factor {
      std::shared_ptr<const AccessModel> access;
      TensorId operand = no_operand;  // the tensor of a sparse one
      int first_bit = -1;             // of its modes in a JoinSet; negative: not part of joins
      IndexSet key = 0;               // of a sparse intermediate inside a nest: what sparse factors of its writer restrict
      bool copy = false;              // for lookups, and the statement that fills it
      std::uint32_t filler = 0;
      std::uint32_t read_by = 0;      // the first factor that is the same: T of T(i,j) * T(i,j) is read once
      IndexSet returning = 0;         // the loops over others' indices that come back to its rows
      FilteringModes made_of;         // what a sparse intermediate is made from

      const AccessModel& operator*() const { return *access; }
      const AccessModel* operator->() const { return access.get(); }
    };

    IndexSet indices = 0;
    std::vector<Factor> factors;
    std::shared_ptr<const AccessModel> target;
    FilteringModes filtering_modes;
    bool reads_stored = false;    // any of its factors is made from others
    bool reads_copy = false;      // any is a copy for lookups
    bool fills_copy = false;      // it fills one
    bool walks = false;           // one loop that no other statement shares may walk over a chain of levels: of one sparse operand
    bool reads_again(std::size_t factor) const { return factors[factor].read_by != factor; }
    IndexSet unasked = 0;         // indices of one sparse operand alone: nothing asks for their coordinates (loop/flat_walk.h)
    bool dense_target = false;
    double handing_over = 0;      // bytes of a dense target whose elements change their order at the end
    bool leaves_out = false;      // a factor: by its entries, or at sums of indices that are out of range for some coordinates
    IndexSet filtered = 0;        // indices of sparse factors
    IndexSet scattered = 0;       // of those the ones whose coordinates are listed, or stand above such: neighbours may be missing
    IndexSet met = 0;             // of several of them
    // Of the loops that come back to rows those over slices some of which are far heavier than the mean: distinct rows in the slice of an
    // entry.
    struct HeavySlices {
      const AccessModel* access;
      IndexId index;
      double rows;
    };
    std::vector<HeavySlices> heavy_slices;
    IndexSet chosen = 0;          // of the sparse operands of all statements, which may share its loops
    IndexSet blocks = 0;          // of a dense target, those that no sparse factor has: products of two rows over them may wait
    IndexSet dense_below = 0;     // all levels of all accesses are dense, from these on
    IndexSet few = 0;             // of those the ones of a few coordinates, over which loops are written out
    IndexSet single = 0;          // found as the one entry at a position, and dense in all other accesses: over these there are no loops
    IndexSet lanes = 0;           // of a few coordinates, and below their levels there are only dense ones and such
    IndexSet side_by_side = 0;    // of `single`, where the rows above are so many that their products are vectors (codegen's lanes)
    IndexSet keyed = 0;           // of a sparse intermediate that it writes: what sparse factors restrict
    std::shared_ptr<const ProductEstimate> product;  // and what flows into it
    bool inside_only = false;         // it is a workspace of a nest, with a key there
    std::vector<IndexId> compressed;  // it is between nests, with these levels above a dense block
    // Of two dense matrices, left(row, sum) * right(sum, column): the loops over these, none where there is no such product. Of several
    // rows a tile has one.
    IndexSet rows = 0;
    IndexSet sum = 0;
    IndexSet column = 0;
    bool transposed = false;          // rows of the right matrix are not what lies together
    bool of_intermediates = false;    // a matrix is made from others
    double flops = 0;
    double scalar_body_ns = 0;
    double least_body_ns = 0;  // whatever the loops
    /// Share of the combinations of these indices that the operands among its factors have, wherever their levels are bound.
    double fill(IndexSet bound) const {
      double share = 1;
      for (const Factor& factor : factors) share *= factor->fill(bound);
      return share;
    }
    /// Whether the loops over what `bound` leaves are such a product, of which the loop over `index` is the first: as code generation has
    /// it, a root loop goes over rows or what is around them, and matrices that the nest makes itself are none.
    bool begins_product(IndexSet bound, IndexId index) const {
      const IndexSet rest = indices & ~bound;
      if ((rest & rows) == 0 || (rest & sum) == 0 || (rest & column) == 0 || (rest & ~dense_below) != 0) return false;
      return bound == 0 ? !contains(sum | column, index) : !of_intermediates;
    }
    /// Whether every iteration of a loop over `index` adds to the same block over the indices that `inside` leaves, at least two, whose
    /// rows lie in memory as they are: from elsewhere each element would be collected for itself.
    bool adds_block(IndexSet inside, IndexId index) const {
      const IndexSet rest = indices & ~inside;
      return (rest & (rest - 1)) != 0 && (rest & ~blocks) == 0 && (rest & target->contiguous()) != 0 && sums(index);
    }
    /// Whether what it adds to the block below `bound` is a product of rows over `row` and rows over the indices left, one row of
    /// memory wherever they stand.
    bool multiplies_rows(IndexSet bound, IndexId row) const;
    /// Where the innermost loop, one over `index`, may stand at best.
    Batch last_batch(IndexId index) const {
      const auto several = [](IndexSet set) { return (set & (set - 1)) != 0; };
      if (few != 0 && contains(dense_below, index) && (several(few | one_index(index)) || sums(index))) return Batch::tile;
      return contains(blocks, index) && several(blocks) ? Batch::columns : Batch::none;
    }
    /// Whether `rest` is gone over without loops: what has a few coordinates, around one vector loop at most.
    bool is_written_out(IndexSet rest) const {
      const IndexSet row = rest & ~few;
      return (rest & few) != 0 && (row & (row - 1)) == 0 && (row & ~dense_below) == 0;
    }
    bool sums(IndexId index) const { return !contains(target->indices(), index); }
    /// Whether a tile in registers holds vectors over `index`, which are added up once the loops around the tile are through.
    bool sums_apart(IndexId index) const { return sums(index) && (target->indices() & dense_below & ~few) == 0; }
    // No other sparse operand has a say in how long the fibers of a factor below `bound` are.
    bool ends_alone(const AccessModel& access, IndexSet bound) const {
      return access.sparse() && !access.intermediate() && (access.indices() & ~bound & met) == 0;
    }
  };

  /// A step of contractions, `earlier` being the numbers of those before it, with a path per tensor. Contractions that share models have
  /// the same operands at the same places, in the same formats. The number stays valid.
  std::uint32_t add(const Contractions& contractions, std::size_t step, std::span<const std::uint32_t> earlier,
                    const AccessPaths& paths);

  const Statement& statement(std::uint32_t number) const { return *statements_[number]; }
  /// The loop over `index`, which the statement has, below loops over `bound`; `shared` with others, so that no walk begins there.
  StatementLoop& loop(std::uint32_t statement, IndexSet bound, IndexId index, bool shared);

  /// Share of the combinations of the indices of `bound` that the sparse factors let through, by independence.
  double density(std::uint32_t statement, IndexSet bound) { return prefix(statement, bound).density; }
  /// What filters the loops over `bound`.
  JoinSet filters(std::uint32_t statement, IndexSet bound) { return prefix(statement, bound).filters; }
  /// Iterations of the innermost loop of a statement for one iteration of the loops of `bound`.
  double iterations_below(std::uint32_t statement, IndexSet bound) { return prefix(statement, bound).iterations_below; }

  /// The workspace of a sparse intermediate that a statement writes, inside loops over `shared`, and per combination of
  /// these; what storing it takes where nothing is shared.
  const KeyedPrice& workspace(std::uint32_t writer, IndexSet shared);
  /// One with this key above the dense block of what a statement writes, before anything is known of how it is filled.
  KeyedWorkspace keyed_over(const Statement& writer, IndexSet key, IndexSet shared) const;

  double extent(IndexId index) const { return extents_[index]; }
  double combinations(IndexSet indices) const;
  /// What a factor in that state filters of the loops over `bound`.
  JoinSet filtering(std::uint32_t statement, std::size_t factor, BoundState state, IndexSet bound);

  bool any_joins() const { return !occurrences_.empty(); }
  /// Of a set, the accesses that have one of these indices, or one of those that have one, and so on.
  JoinSet joined_with(JoinSet set, IndexSet indices) const;
  /// Whether several factors are one sparse operand.
  bool any_repeats() const { return repeats_; }
  /// What a factor lets through of what those in front of `before` among `beside` do, the same tensor at the same indices: all of the
  /// second A(i,j) in A(i,j) * A(i,j); 1: nothing.
  static double let_through_before(const Statement& statement, std::size_t factor, const Statement& beside, std::size_t before,
                                   IndexSet bound);
  /// What counted joins are off independence.
  double join_ratio(JoinSet set);
  /// Joins whose ratio was asked for and that were not counted, ascending.
  std::vector<JoinSet> uncounted() const;

  const PlanOptions& options() const { return options_; }
  /// Of the tables about statements.
  std::size_t bytes() const { return rows_.bytes() + prefixes_.bytes() + workspaces_.bytes(); }

  /// What pricing one loop works with, kept for its memory.
  struct Pricing {
    std::vector<const StatementLoop*> loops;  ///< of the statements that share it
    std::vector<Participant> participants;
    std::vector<JoinSet> participant_filters;
  };
  Pricing& pricing() { return pricing_; }

 private:
  // How far the accesses of a statement are bound.
  struct Reached {
    BoundState state = 0;
    double density = 1;
  };
  struct Prefix {
    double iterations_below = 1;  // of the innermost loop, per combination of the bound indices
    double density = 1;           // of all sparse factors
    JoinSet filters = 0;
    double dense_bytes = 0;       // of the dense blocks that the loops inside go over
    double occurring_bytes = 0;   // of those the rows that sparse factors choose there
    std::span<const Reached> factors;
    std::span<StatementLoop*> loops;  // by index, twice: alone, shared where that differs; empty before one was asked for
  };
  // The loop that was asked for last: a price that is not found is asked for again to be made.
  struct Asked {
    std::uint32_t statement = 0;
    IndexSet bound = 0;
    IndexId index = 0;
    bool shared = false;
    StatementLoop* loop = nullptr;
  };
  // A loop of a statement while it is described: over `index`, below the loops over `bound`.
  struct DescribedLoop {
    std::uint32_t number;
    const Statement& statement;
    IndexSet bound;
    IndexId index;
    bool shared;
    const Prefix& outside;
    const Prefix& inside;
    IndexSet below() const { return bound | one_index(index); }
    /// The indices that loops inside go over.
    IndexSet left() const { return statement.indices & ~below(); }
    IndexSet left(const AccessModel& access) const { return access.indices() & ~below(); }
  };
  struct Known {
    ScheduledAccess access;
    AccessPath path;
    bool block = false;  // a dense intermediate
    Scalar scalar = Scalar::f64;
    std::shared_ptr<const AccessModel> model;
  };

  std::shared_ptr<const AccessModel> access(const Contractions& contractions, const ScheduledAccess& access, const AccessPath& path);
  std::shared_ptr<AccessModel> sparse_factor(const ContractedTensor& tensor, const ScheduledAccess& factor, const Statement& writer);
  static void describe_storage(const ContractedTensor& tensor, const std::vector<IndexId>& indices, Statement& writer);
  KeyedPrice made_workspace(std::uint32_t writer, IndexSet shared);
  JoinSet filtering_modes(std::uint32_t statement, std::size_t factor, BoundState state) const;
  Prefix& prefix(std::uint32_t statement, IndexSet bound);
  void describe(const DescribedLoop& loop, StatementLoop& made);
  // What the loop does to an access that it binds levels of.
  AdvancedAccess advance(const DescribedLoop& loop, std::size_t factor, StatementLoop& made);
  double spread(const AccessModel& access, IndexSet block) const;
  double touched(const DescribedLoop& loop, IndexSet more);
  std::size_t cache_level(const AccessModel& access, IndexSet block, double bytes, double all_bytes) const;
  IndexSet returning(Statement& statement, const AccessModel& access) const;
  static double occurring(const Statement& statement, const AccessModel& access, IndexSet bound);
  double occurring_bytes(const Statement& statement, const AccessModel& access, IndexSet bound, double bytes) const;
  std::size_t rows_from(const Statement& statement, const AccessModel& access, IndexSet bound, const Prefix& below) const;
  Movement move_again(const DescribedLoop& loop, const AccessModel& access) const;
  Movement move_dense(const DescribedLoop& loop, const AccessModel& access);
  Movement write_dense(const DescribedLoop& loop);
  Movement move_sparse(const DescribedLoop& loop, std::size_t factor);
  static bool is_met(const Statement& statement, std::size_t factor);
  void describe_unasked(const Contraction& step, const Contractions& contractions, const AccessPaths& paths, Statement& statement) const;
  double walked_rows(const DescribedLoop& loop, const AccessModel& access, BoundState after) const;
  double unforeseen_ns(const DescribedLoop& loop, std::size_t factor);
  double share_below(const DescribedLoop& loop, const AccessModel& access, BoundState after);
  double least_streamed(const DescribedLoop& loop) const;
  double row_end(const Statement& statement, IndexId row, bool stays) const;
  static bool joins(const Statement& statement, IndexId outer, IndexId row);
  void describe_dense_loops(Statement& statement) const;
  void describe_product(Statement& statement) const;
  bool fits_registers(double bytes) const { return bytes <= options_.machine.register_bytes; }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  std::vector<double> extents_;
  std::vector<Occurrence> occurrences_;
  bool repeats_ = false;
  std::unordered_map<JoinSet, double> ratios_;  // of sets asked for before
  std::vector<Known> accesses_;
  std::vector<std::unique_ptr<Statement>> statements_;  // which stay where they are
  IndexSetTable<Prefix*> prefixes_;            // by statement
  IndexSetTable<KeyedPrice> workspaces_;       // by statement
  Rows rows_;
  Pricing pricing_;
  Asked asked_;
};

}  // namespace weft
