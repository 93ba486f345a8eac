// CostModel: what one loop of a nest costs, given the set of indices bound outside it.
//
// Every quantity depends on the SET of bound indices, the next index and the statements that share the loop, never on
// the order of the outer loops, of which a state remembers no more than whether a result is gathered and products wait.
// That makes the cost of a nest a sum over an interval of statements below each prefix set, which the dynamic program
// minimises exactly; cost() sums the same terms along a finished schedule.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/plan/cost/batch_size.h"
#include "engine/plan/cost/co_iteration.h"
#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/cost/sparse_target.h"
#include "engine/plan/cost/statement_models.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

/// How the accesses of a loop meet and whether it is vector code: decided by the model, or taken from a schedule.
struct LoopDecision {
  bool vector = false;
  std::vector<Intersection::Part> parts;  ///< empty: every sparse access drives
};

/// Figures per entry into the loop, that is, per combination of the indices bound outside it.
struct LoopEstimate : LoopPrice {
  double steps = 0;
  double flops = 0;
  double bytes = 0;
  LoopDecision decision;
  bool drives_copy = false;  ///< see CostModel::drives_copy()
};

/// How threads share a root loop, and what it then takes.
struct RootEstimate {
  RootReduction reduction = RootReduction::serial;
  double ns = 0;
};

/// The state outside a loop: the indices of the loops around it, whether these left the order in which a sparse result is
/// appended to, so that a workspace around the next ones gathers it and is drained into it behind them, and whether products of a
/// statement wait there.
struct Outside {
  IndexSet indices = 0;
  bool gathers = false;
  Batch batch = Batch::none;
  std::uint32_t batched = 0;  ///< the statement: the last of those that share the loops outside

  Outside() = default;
  Outside(IndexSet bound) : indices(bound) {}
  Outside(IndexSet bound, bool in_workspace) : indices(bound), gathers(in_workspace) {}
  bool root() const { return indices == 0; }
  /// For a loop whose last statement that is.
  Batch batch_of(std::size_t statement) const { return statement == batched ? batch : Batch::none; }
  bool operator==(const Outside&) const = default;
};

/// Who writes and reads the intermediates of contractions: whatever the layouts are.
struct StatementFlow {
  struct Intermediate {
    std::size_t writer = 0;
    std::size_t reader = 0;
    IndexSet modes = 0;
    double scalar_bytes = 8;
    bool others_finite = true;  // of the statement that reads it, and of those that read what it makes
    bool carries_pattern = false;  // made from the operand whose positions the result has
  };
  struct Statement {
    std::vector<std::size_t> writers;  // per factor; the number of statements for operands
    std::size_t reader = 0;            // of the target; the number of statements for the result
    std::vector<std::size_t> makers;   // of its intermediates, and of what these are made from, ascending
  };
  std::vector<Statement> statements;
  std::vector<Intermediate> intermediates;

  static StatementFlow of(const Contractions& contractions, const std::vector<OperandFacts>& operands);
};

class CostModel {
 public:
  /// Of contractions whose operands are reached by these paths. Keeps a reference to the options and to the statistics of the operands.
  CostModel(const Contractions& contractions, const Problem& problem, const AccessPaths& paths = {});
  /// The same of statements whose models are shared, by their numbers there; `result` is the target of the last if it
  /// is sparse.
  CostModel(std::shared_ptr<const StatementFlow> flow, std::shared_ptr<const SparseTarget> result,
            std::shared_ptr<StatementModels> models, const std::vector<std::uint32_t>& numbers);

  std::size_t statements() const { return statements_.size(); }
  IndexSet indices(std::size_t statement) const { return statements_[statement].model->indices; }

  /// What the first `depth` loops of a statement of the schedule bind.
  Outside bound_by(const Schedule& schedule, std::size_t statement, std::size_t depth) const;
  /// The state inside the loop over `index`.
  Outside inside(Outside outside, IndexId index, StatementRange range) const {
    Outside found{outside.indices | one_index(index), outside.gathers || departs(outside, index, range)};
    found.batch = batch_inside({outside, index, range});
    if (found.batch != Batch::none) found.batched = static_cast<std::uint32_t>(range.last);
    return found;
  }
  /// Whether a workspace has to be around the loop over `index`, to be drained into a sparse result behind it.
  bool departs(Outside outside, IndexId index, StatementRange range) const {
    return writes_sparse(range.last) && !outside.gathers && result_->departs(outside.indices, index);
  }
  /// That workspace, and what it takes; nothing if the loop does not need one.
  KeyedPrice drain(Outside outside, IndexId index, StatementRange range) const;
  /// The kind of workspace that gathers these modes of an intermediate between nests, inside loops over `bound`.
  LevelKind gathered_in(std::size_t writer, IndexSet bound, IndexSet key) const;

  /// What flows into a sparse result; null for a dense one.
  const ProductEstimate* result_product() const { return result_ == nullptr ? nullptr : &result_->product(); }

  /// The workspace with a key that a sparse intermediate is inside loops over `shared`, per combination of these; what
  /// storing it takes where nothing is shared. Only for statements whose target is_keyed().
  KeyedPrice workspace(std::size_t writer, IndexSet shared) const {
    return models_->workspace(statements_[writer].number, shared);
  }
  /// Whether it needs a key there: some of its modes that sparse factors restrict are not bound outside.
  bool is_keyed(std::size_t writer, IndexSet shared) const { return (key(writer) & ~shared) != 0; }
  /// Whether what the statement writes may live inside loops over `shared`, or between nests where these are none: as its
  /// levels say (contraction_variants.h).
  bool may_be_stored(std::size_t writer, IndexSet shared) const;
  /// The modes of its compressed levels, where it is between nests.
  IndexSet compressed(std::size_t writer) const { return index_set(statements_[writer].model->compressed); }
  /// Whether the loop over `index` below the loops over `bound` writes an intermediate between nests in the order of its levels, a dense
  /// block of it provably as a whole, and knows the positions that the result shares with an operand.
  bool keeps_order(IndexSet bound, IndexId index, StatementRange range) const;
  /// Whether the cheapest way to run the loop drives a mark-array copy that it could look up: then the operand itself could drive.
  bool drives_copy(Outside outside, IndexId index, StatementRange range, JoinSet others) const;
  /// Its modes that sparse factors restrict.
  IndexSet key(std::size_t writer) const { return statements_[writer].model->keyed; }

  /// The loop over `index` below the loops over `bound`, shared by a range of statements. `others` is what filters
  /// some of the loops over `bound` on behalf of statements that share those, but not this one, wherever they stand: hubs
  /// are entered as often as all of them meet there. Without a decision the model makes the cheapest one.
  LoopEstimate loop(Outside outside, IndexId index, StatementRange range, JoinSet others,
                    const LoopDecision* given = nullptr) const;
  LoopEstimate loop(Outside outside, IndexId index, StatementRange range, const LoopDecision* given = nullptr) const {
    return loop(outside, index, range, 0, given);
  }
  /// The same without details.
  LoopPrice price(Outside outside, IndexId index, StatementRange range, JoinSet others) const {
    return priced({outside, index, range}, others, nullptr, nullptr);
  }
  /// Whether prices depend on the statements beside: joins were counted.
  bool joined() const { return models_->any_joins() && !options_.joins.empty(); }
  /// What filters the loops over `bound` for a range of statements.
  JoinSet filters(IndexSet bound, StatementRange range) const;
  /// `others` of a range of statements in the loops of a schedule.
  JoinSet others(const Schedule& schedule, StatementRange range) const;
  /// Of `others`, what some sparse operand of these statements meets, directly or not: the rest changes no price.
  JoinSet joined_with(JoinSet others, StatementRange range) const;
  /// Where that price of a statement alone is kept for all models that have it, negative before it is asked for; null for one
  /// that writes a sparse result, or whose products wait: its price depends on more.
  LoopPrice* alone(Outside outside, IndexId index, std::size_t statement) const {
    if (outside.batch_of(statement) != Batch::none || writes_sparse(statement)) return nullptr;
    return &models_->loop(statements_[statement].number, outside.indices, index, false).alone;
  }

  /// Nanoseconds to clear (or allocate) the intermediates written by statements of `writers` and read by later ones up to
  /// `last`, per combination of the indices that the two sides share.
  double materialising_ns(IndexSet shared, StatementRange writers, std::size_t last) const;
  /// Whether they may be stored there, whatever the order of the loops that are still to come: neither meaning nor memory forbids it.
  bool may_materialise(IndexSet shared, StatementRange writers, std::size_t last) const;

  /// Body of a statement without loops.
  double scalar_body(std::size_t statement) const { return statements_[statement].model->scalar_body_ns; }

  /// A nest of `range` with root `index` that would take `work` nanoseconds on one thread. Without a given reduction
  /// the cheapest legal one.
  RootEstimate root(IndexId index, StatementRange range, double iterations, double work,
                    const RootReduction* given = nullptr) const;
  /// Whether statements may share a nest: its loops visit only what all of their sparse factors have, so that no more
  /// than one product may leave it.
  bool may_share_nest(StatementRange range) const;

  /// Whether a copy for lookups would be stored between nests: a conversion by another name.
  bool stores_copy(StatementRange range) const;

  /// Whether each thread can own what a root loop over `index` writes.
  bool may_own(IndexId index, StatementRange range) const;

  /// Combinations of the indices in `bound` that all sparse factors of the statements let through.
  double iterations(IndexSet bound, StatementRange range) const;

  /// No nests of all statements take less, whatever their loops are: see tree_bound.cpp.
  double least_ns() const;

  double threads() const { return options_.machine.threads; }
  /// Bytes of the tables about statements, of all models that share them.
  std::size_t bytes() const { return models_->bytes(); }

  /// Joins whose ratio was asked for and that were not counted, ascending.
  std::vector<JoinSet> uncounted() const { return models_->uncounted(); }

  const AccessModel& factor(std::size_t statement, std::size_t number) const {
    return *statements_[statement].model->factors[number];
  }

 private:
  struct Placed {
    const StatementModels::Statement* model = nullptr;
    const StatementFlow::Statement* flow = nullptr;
    std::uint32_t number = 0;  // among the shared models
  };

  // The loop over `index` below the loops outside, shared by a range of statements.
  struct PricedLoop {
    Outside outside;
    IndexId index = 0;
    StatementRange range;

    IndexSet inside() const { return outside.indices | one_index(index); }
    bool alone() const { return range.first == range.last; }
    /// Where it stands if one statement runs it alone.
    Batch batch() const { return alone() ? outside.batch_of(range.last) : Batch::none; }
  };
  // What the sparse accesses of the statements that share a loop advance.
  struct Advance {
    double met = 0;           // iterations before late levels filter
    double iterations = 0;    // and after
    double late_density = 1;
    double late_ns = 0;
    double tables = 0;
    const AdvancedAccess* only_driver = nullptr;  // none if several drive
    double ends = 0;          // loop-exit mispredicts, of fibers that others filter: of the loop, and of every search
    JoinSet outside = 0;      // what filters outside the loop, and what the first level, or all levels, that it binds add to that
    JoinSet added_first = 0;
    JoinSet added = 0;

    /// One entry at each position: there is no loop.
    bool one_entry() const { return only_driver != nullptr && only_driver->one_entry; }
    /// The loop is inside a walk, whose loop goes over its entries: no other is entered.
    bool walked() const { return only_driver != nullptr && only_driver->walked; }
  };

  void place(std::uint32_t number);
  std::span<const Placed> placed(StatementRange range) const { return std::span(statements_).subspan(range.first, range.size()); }
  static bool leaves(const Placed& statement, StatementRange range) { return statement.flow->reader > range.last; }
  /// Whether a statement in front of it, of those that share a loop, writes what it reads there: what that is made from filters already.
  bool is_made_there(std::size_t statement, std::size_t factor, StatementRange range) const {
    const std::size_t writer = statements_[statement].flow->writers[factor];
    return writer >= range.first && writer < statement;
  }
  /// Whether a statement writes a result with compressed levels, and whether it makes the entries of that.
  bool writes_sparse(std::size_t statement) const { return result_ != nullptr && statement + 1 == statements_.size(); }
  bool makes_entries(std::size_t statement) const { return writes_sparse(statement) && !result_->shares_pattern(); }
  /// Whether one of `writers` writes an intermediate that a later statement up to `last` reads.
  static bool is_between(const StatementFlow::Intermediate& intermediate, StatementRange writers, std::size_t last) {
    return writers.contains(intermediate.writer) && intermediate.reader > writers.last && intermediate.reader <= last;
  }

  // The terms of a loop's price. The loops of the statements and the accesses that meet in them are in models_->pricing().
  LoopPrice priced(const PricedLoop& loop, JoinSet others, const LoopDecision* given, LoopEstimate* details) const;
  Advance advance(const PricedLoop& loop, JoinSet others) const;
  void correct_by_joins(Advance& all, IndexId index) const;
  double finding_ns(const Advance& all) const;
  double entering_ns(const Advance& all, bool root) const;
  // The share of its steps, gathers and arithmetic that an innermost loop takes, by what its entries wait for: less than all of it where
  // one fiber is summed in a register or each entry has an element of its own, more where one adds to what the one before it stored.
  double fiber_sum(const PricedLoop& loop, bool vector, const Advance& all) const;
  double body_ns(const PricedLoop& loop, bool vector, double share, double iterations, LoopEstimate* details) const;
  void add_parts(const Intersection::Part& part, std::vector<Intersection::Part>& parts) const;
  double let_through_before(std::size_t statement, std::size_t factor, IndexSet bound, StatementRange range) const;
  JoinSet stored_joins(std::size_t statement, IndexSet bound, StatementRange range, JoinSet others) const;
  bool drives_copy(const CoIteration& co_iteration, std::span<const Participant> participants) const;

  // What adds a block inside the loop has two indices at least left there, or one that is summed too, and the block lacks the loop's.
  Batch batch_inside(const PricedLoop& loop) const {
    if (in_product(loop)) return Batch::product;
    const StatementModels::Statement& last = *statements_[loop.range.last].model;
    const IndexSet rest = last.indices & ~loop.inside();
    const bool none = ((rest & (rest - 1)) == 0 && (rest & ~last.target->indices()) == 0) || !last.sums(loop.index);
    return none && loop.outside.batch == Batch::none ? Batch::none : batch_begun(loop);
  }
  Batch batch_begun(const PricedLoop& loop) const;
  /// Whether the loop is one of a product of two dense matrices.
  bool in_product(const PricedLoop& loop) const {
    if (!loop.alone()) return false;
    const Batch batch = loop.batch();
    return batch == Batch::product ||
           (batch == Batch::none && statements_[loop.range.last].model->begins_product(loop.outside.indices, loop.index));
  }
  double product_ns(const PricedLoop& loop, LoopEstimate* details) const;
  bool keeps_tile(const PricedLoop& loop) const;
  double fiber_entries(const PricedLoop& loop) const;
  double products_together(const PricedLoop& loop) const;
  double waiting_ns(const PricedLoop& loop) const;

  // Of the loop of one of the statements that share it; `visited_share`: of the coordinates of the index, those that the loop goes over.
  double visits_below(std::size_t statement, const PricedLoop& shared) const;
  double ends_inside(std::size_t statement, const StatementLoop& loop, const PricedLoop& shared) const;
  Movement movement(std::size_t statement, const StatementLoop& loop, const PricedLoop& shared, bool vector, double visited_share) const;
  Movement write_sparse(const PricedLoop& loop) const;

  // Of a nest: bytes of all targets that leave it; whether it appends to any of them; what the first run takes, over the calls, to copy
  // entries of the result together, or to count them before they are made, when a thread has `share` of the work (nothing for what other
  // nests append); clearing results that leave it.
  double leaving_bytes(StatementRange range) const;
  bool appends(StatementRange range) const;
  double copying_ns(StatementRange range) const;
  double counting_ns(StatementRange range, double share) const;
  double clearing(StatementRange range) const;

  double extent(IndexId index) const { return models_->extent(index); }
  double combinations(IndexSet indices) const { return models_->combinations(indices); }
  bool provably_present(const StatementFlow::Intermediate& intermediate, IndexSet shared, StatementRange writers) const;
  bool writes_block(std::size_t writer, IndexSet bound, StatementRange range) const;

  const PlanOptions& options_;
  std::shared_ptr<StatementModels> models_;
  std::shared_ptr<const StatementFlow> flow_;
  std::vector<Placed> statements_;
  std::shared_ptr<const SparseTarget> result_;  // of the last statement; none if it is dense
  bool ordered_ = false;  // some intermediate between nests has compressed levels
};

/// The result of contractions, if it has compressed levels.
std::shared_ptr<const SparseTarget> sparse_target(const Contractions& contractions, const Problem& problem);

/// cost() of a schedule of one assignment by a model of its statements, in the layouts that it has; without what it needs
/// of memory, which with_memory() adds.
Cost time_cost(const Schedule& schedule, const Problem& problem, const CostModel& model);
Cost with_memory(Cost cost, const Schedule& schedule, const Problem& problem);

}  // namespace weft
