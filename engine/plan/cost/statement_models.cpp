#include "engine/plan/cost/statement_models.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "engine/network/code_forms.h"
#include "engine/plan/schedule/binding.h"

namespace weft {
namespace {

// The layout of an intermediate follows the loops of its writer, which are not known before they are chosen. The innermost
// should be an index that no sparse operand filters, for its reader runs over it in a vector loop too: of those that the
// result has, the one that comes last there.
IndexSet contiguous_in(IndexSet modes, IndexSet filtered, const Contractions& contractions) {
  if ((modes & ~filtered) == 0) return modes;
  const ScheduledAccess& result = contractions.steps.back().target;
  for (std::size_t level = result.indices.size(); level-- > 0;) {
    const IndexId index = result.indices[contractions.tensors[result.tensor].mode(level)];
    if (contains(modes & ~filtered, index)) return one_index(index);
  }
  return modes & ~filtered;
}

IndexSet filtered_indices(const Contractions& contractions) {
  IndexSet filtered = 0;
  for (const Contraction& step : contractions.steps) {
    for (const ScheduledAccess& factor : step.factors) {
      const ContractedTensor& tensor = contractions.tensors[factor.tensor];
      if (tensor.role == TensorRole::operand && tensor.sparse()) filtered |= index_set(factor.indices);
    }
  }
  return filtered;
}

// Density relative to that of the indices bound before.
double let_through(double density, double before) { return before > 0 ? density / before : 0; }

// Of a factor that is a workspace with this key.
Table table_of(IndexSet key) {
  if (key == 0) return Table::none;
  return (key & (key - 1)) == 0 ? Table::one_mode : Table::several_modes;
}

// Whether these indices of an access are one row of memory, so that loops over them are one.
bool is_one_row(const AccessModel& access, IndexSet indices) {
  IndexSet row = indices & access.contiguous();
  for (IndexSet before = 0; row != before && row != indices;) {
    before = row;
    for (const IndexId index : members(indices & ~row)) {
      if (access.adjacent(index, row)) row |= one_index(index);
    }
  }
  return row == indices;
}

}  // namespace

StatementModels::StatementModels(const Problem& problem)
    : network_(problem.network), operands_(problem.operands), options_(problem.options) {
  const auto& [network, operands, options] = problem;
  extents_.reserve(network.indices.size());
  for (const Index& index : network.indices) extents_.push_back(static_cast<double>(index.extent));
  // Several assignments number their operands each for themselves.
  for (const Assignment& assignment : network.assignments) {
    for (const Term& term : assignment.terms) {
      std::set<TensorId> read;
      for (const TensorAccess& factor : term.factors) repeats_ = !read.insert(factor.tensor).second || repeats_;
    }
  }
  if (network.assignments.size() == 1) occurrences_ = occurrences(network, operands);
  if (occurrences_.size() < 2) occurrences_.clear();
}

std::shared_ptr<const AccessModel> StatementModels::access(const Contractions& contractions, const ScheduledAccess& access,
                                                           const AccessPath& path) {
  const ContractedTensor& tensor = contractions.tensors[access.tensor];
  // Of a dense intermediate only the indices and the width of values count.
  const bool block = tensor.role == TensorRole::intermediate && tensor.dense();
  if (block || tensor.role == TensorRole::operand) {
    for (const Known& known : accesses_) {
      const bool same = block ? known.access.indices == access.indices && known.scalar == tensor.scalar
                              : known.access == access && known.path == path;
      if (known.block == block && same) return known.model;
    }
  }
  const auto model = std::make_shared<AccessModel>(access, tensor, path, network_, operands_);
  if (tensor.role == TensorRole::intermediate) {
    model->set_contiguous(contiguous_in(index_set(access.indices), filtered_indices(contractions), contractions));
  }
  if (block || tensor.role == TensorRole::operand) accesses_.push_back({access, path, block, tensor.scalar, model});
  return model;
}

std::uint32_t StatementModels::add(const Contractions& contractions, std::size_t number, std::span<const std::uint32_t> earlier,
                                   const AccessPaths& paths) {
  const Contraction& step = contractions.steps[number];
  const ContractedTensor& target = contractions.tensors[step.target.tensor];
  Statement& statement = *statements_.emplace_back(std::make_unique<Statement>());
  statement.indices = indices_of(step);
  statement.chosen = filtered_indices(contractions);
  statement.dense_target = target.dense();
  statement.factors.reserve(step.factors.size());
  for (const ScheduledAccess& read : step.factors) {
    const ContractedTensor& tensor = contractions.tensors[read.tensor];
    const std::size_t writer = writer_of(contractions, read.tensor);
    const Statement* writes = writer < earlier.size() ? statements_[earlier[writer]].get() : nullptr;
    const bool keyed = writes != nullptr && writes->keyed != 0;
    Statement::Factor& factor = statement.factors.emplace_back();
    if (keyed && writes->compressed.empty()) factor.key = writes->keyed;
    factor.access = keyed ? sparse_factor(tensor, read, *writes) : access(contractions, read, path_of(paths, read.tensor));
    statement.leaves_out = statement.leaves_out || factor->leaves_out();
    if (factor->sparse()) {
      if (tensor.role == TensorRole::operand) factor.operand = tensor.tensor;
      statement.met |= statement.filtered & index_set(read.indices);
      statement.filtered |= index_set(read.indices);
      statement.scattered |= index_set(read.indices) & ~factor->dense_below();
    }
    // A copy for lookups filters as the operand does.
    factor.copy = writes != nullptr && writes->fills_copy;
    if (factor.copy) factor.filler = earlier[writer];
    statement.reads_copy = statement.reads_copy || factor.copy;
    const ContractedTensor& filter = factor.copy ? contractions.tensors[contractions.steps[writer].factors.front().tensor] : tensor;
    const auto occurrence = filter.role == TensorRole::operand ? std::ranges::find(occurrences_, TensorAccess{filter.tensor, read.indices})
                                                               : occurrences_.end();
    if (occurrence != occurrences_.end()) {
      factor.first_bit = static_cast<int>(occurrence->first_bit);
      for (std::size_t mode = 0; mode < read.indices.size(); ++mode) {
        statement.filtering_modes.emplace_back(JoinSet{1} << (occurrence->first_bit + mode), read.indices[mode]);
      }
    } else if (keyed) {
      factor.made_of = writes->filtering_modes;
      statement.reads_stored = statement.reads_stored || !factor.made_of.empty();
      statement.filtering_modes.insert(statement.filtering_modes.end(), factor.made_of.begin(), factor.made_of.end());
    }
  }
  statement.target = access(contractions, step.target, AccessPath{});
  if (target.dense() && target.delivered) statement.handing_over = statement.target->bytes();
  if (target.role == TensorRole::intermediate && target.sparse()) {
    statement.product = std::make_shared<const ProductEstimate>(estimate_of(contractions, number, network_, operands_, options_.joins));
    statement.keyed = statement.product->restricted() & index_set(step.target.indices);
    describe_storage(target, step.target.indices, statement);
  }
  describe_unasked(step, contractions, paths, statement);
  describe_dense_loops(statement);
  for (auto& factor : statement.factors) factor.returning = returning(statement, *factor);
  statement.fills_copy = is_mark_array_copy(contractions, number);
  const auto sparse = std::ranges::count_if(statement.factors, [](const auto& factor) { return factor->sparse(); });
  const bool no_appending = statement.dense_target || target.like;
  statement.walks = sparse == 1 && no_appending &&
                    std::ranges::any_of(statement.factors, [](const auto& factor) { return factor->may_be_walked(); });
  statement.flops = static_cast<double>(step.factors.size()) + (std::abs(step.coefficient) != 1 ? 1 : 0);
  statement.scalar_body_ns =
      options_.machine.scalar_body + options_.machine.scalar_factor * static_cast<double>(step.factors.size());
  const double scalar = statement.scalar_body_ns * (statement.unasked != 0 ? adjacent_share
                                                    : (statement.filtered & ~statement.target->indices()) != 0
                                                        ? std::min(scatter_share, options_.machine.fiber_sum) : scatter_share);
  statement.least_body_ns = std::min(scalar, statement.flops * options_.machine.vector_flop);
  return static_cast<std::uint32_t>(statements_.size() - 1);
}

// Another sparse factor has an index of it: coordinates of each fiber are met by those of that one, in their order.
bool StatementModels::is_met(const Statement& statement, std::size_t factor) {
  for (std::size_t other = 0; other < statement.factors.size(); ++other) {
    const AccessModel& beside = *statement.factors[other];
    if (statement.factors[other].read_by == factor || !beside.sparse()) continue;
    if ((beside.indices() & statement.factors[factor]->indices()) != 0) return true;
  }
  return false;
}

void StatementModels::describe_unasked(const Contraction& step, const Contractions& contractions, const AccessPaths& paths,
                                       Statement& statement) const {
  for (std::size_t factor = 0; factor < step.factors.size(); ++factor) {
    const ScheduledAccess& own = step.factors[factor];
    const auto is_operand = [&](const ScheduledAccess& access) { return contractions.tensors[access.tensor].role == TensorRole::operand; };
    const auto is_same = [&](const ScheduledAccess& other) {
      const bool of_tensor = is_operand(other) && contractions.tensors[other.tensor].tensor == contractions.tensors[own.tensor].tensor;
      return of_tensor && other.indices == own.indices && path_of(paths, other.tensor) == path_of(paths, own.tensor);
    };
    const auto itself = step.factors.begin() + static_cast<std::ptrdiff_t>(factor);
    const auto first = is_operand(own) ? std::find_if(step.factors.begin(), itself, is_same) : itself;
    statement.factors[factor].read_by = static_cast<std::uint32_t>(first - step.factors.begin());
  }
  for (const IndexId index : members(statement.indices & ~statement.target->indices())) {
    std::size_t users = 0;
    bool passes = true;
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      if (statement.reads_again(factor) || !contains(statement.factors[factor]->indices(), index)) continue;
      passes = passes && ++users == 1 && statement.factors[factor]->stands_side_by_side() &&
               std::ranges::count(step.factors[factor].indices, index) == 1 && !is_met(statement, factor);
    }
    if (passes) statement.unasked |= one_index(index);
  }
}

bool StatementModels::Statement::multiplies_rows(IndexSet bound, IndexId row) const {
  const IndexSet columns = indices & ~(bound | one_index(row));
  bool any_row = false;
  bool any_column = false;
  for (const auto& factor : factors) {
    const bool of_row = contains(factor->indices(), row);
    const bool of_columns = (factor->indices() & columns) != 0;
    if ((of_row && of_columns) || (of_columns && !is_one_row(*factor, columns))) return false;
    any_row = any_row || of_row;
    any_column = any_column || of_columns;
  }
  return any_row && any_column && is_one_row(*target, columns);
}

// The loops of C(i,k) = A(i,j) * B(j,k), as codegen/dense_tiles.cpp has them: too few rows or terms are no tile, nor are columns
// transposed for a few rows. Where the target may have several columns, rather those that lie together in the right matrix.
void StatementModels::describe_product(Statement& statement) const {
  const IndexSet summed = statement.dense_below & ~statement.target->indices();
  if (statement.keyed != 0 || summed == 0 || (summed & (summed - 1)) != 0 || combinations(summed) < least_tile_terms) return;
  for (const IndexId column : members(statement.target->contiguous() & statement.dense_below)) {
    const AccessModel* left = nullptr;
    const AccessModel* right = nullptr;
    IndexSet scaling = 0;
    bool fits = true;
    for (const auto& factor : statement.factors) {
      const bool across = contains(factor->indices(), column);
      const bool scales = !across && (factor->indices() & summed) == 0;
      if (scales) scaling |= factor->indices();
      const AccessModel*& side = across ? right : left;
      fits = fits && (scales || side == nullptr);
      if (!scales) side = &*factor;
    }
    if (!fits || left == nullptr || right == nullptr || (right->indices() & summed) == 0) continue;
    const bool adjacent = contains(right->contiguous(), column);
    const IndexSet candidates = left->indices() & statement.target->indices() & statement.dense_below & ~right->indices() & ~scaling;
    IndexSet rows = 0;
    for (const IndexId row : members(candidates)) {
      if (extent(row) >= (adjacent ? least_tile_rows : transposed_tile_rows)) rows |= one_index(row);
    }
    if (rows == 0 || (statement.column != 0 && !adjacent)) continue;
    statement.rows = rows;
    statement.sum = summed;
    statement.column = one_index(column);
    statement.transposed = !adjacent;
    statement.of_intermediates = left->intermediate() || right->intermediate();
    if (adjacent) return;
  }
}

// As lowering (lower/registers.cpp) and code generation write loops out.
void StatementModels::describe_dense_loops(Statement& statement) const {
  if (!statement.dense_target || options_.strict_fp) return;
  statement.blocks = statement.target->indices() & ~statement.filtered;
  statement.dense_below = statement.indices;
  for (const auto& factor : statement.factors) statement.dense_below &= ~(factor->indices() & ~factor->dense_below());
  for (const IndexId index : members(statement.dense_below)) {
    if (extent(index) <= double{written_iterations}) statement.few |= one_index(index);
  }
  for (const auto& factor : statement.factors) statement.single |= factor->one_entry();
  for (const auto& factor : statement.factors) statement.single &= ~(factor->indices() & ~factor->dense_below() & ~factor->one_entry());
  for (const IndexId index : members(statement.single != 0 ? statement.indices : 0)) {
    // B(j,i) beside A(i,j) is at another j in every row: its elements are found one by one.
    const auto is_apart = [&](const auto& factor) { return (factor->indices() & statement.single & ~factor->one_entry()) != 0; };
    const auto straight = [&](const auto& factor) {
      return !contains(factor->indices(), index) || (contains(factor->straight_below(), index) && !is_apart(factor));
    };
    const bool few = extent(index) <= double{written_iterations};
    if (few && std::ranges::all_of(statement.factors, straight)) statement.lanes |= one_index(index);
    const bool written = contains(statement.target->indices(), index) && contains(statement.target->contiguous(), index);
    if (contains(statement.lanes, index) && written && extent(index) >= double{fewest_lanes}) statement.side_by_side = statement.single;
  }
  describe_product(statement);
}

double StatementModels::combinations(IndexSet indices) const {
  double product = 1;
  for (; indices != 0; indices &= indices - 1) product *= extents_[static_cast<std::size_t>(std::countr_zero(indices))];
  return product;
}

JoinSet StatementModels::filtering_modes(std::uint32_t statement, std::size_t factor, BoundState state) const {
  const Statement::Factor& reads = statements_[statement]->factors[factor];
  return reads.first_bit < 0 ? 0 : JoinSet{reads->filtering_modes(state)} << reads.first_bit;
}

// The loops around a copy for lookups are those that fill it: they are filtered as the levels of the operand say, of which
// some may be dense. Levels bound behind them are looked up.
JoinSet StatementModels::filtering(std::uint32_t statement, std::size_t factor, BoundState state, IndexSet bound) {
  const Statement::Factor& reads = statements_[statement]->factors[factor];
  if (reads.copy && (reads->indices() & ~bound) != 0) return prefix(reads.filler, bound).filters;
  return filtering_modes(statement, factor, state);
}

JoinSet StatementModels::joined_with(JoinSet set, IndexSet indices) const {
  JoinSet found = 0;
  for (bool more = set != 0; more;) {
    more = false;
    for (const Occurrence& occurrence : occurrences_) {
      const JoinSet own = set & occurrence.all() & ~found;
      if (own == 0) continue;
      const IndexSet bound = occurrence.indices_in(own);
      if ((bound & indices) == 0) continue;
      found |= own;
      indices |= bound;
      more = true;
    }
  }
  return found;
}

double StatementModels::join_ratio(JoinSet set) {
  if (set == 0) return 1;
  const auto [found, added] = ratios_.try_emplace(set, 1.0);
  if (!added) return found->second;
  return found->second = counted_ratio(set, occurrences_, options_.joins);
}

std::vector<JoinSet> StatementModels::uncounted() const {
  std::vector<JoinSet> missing;
  for (const auto& [set, ratio] : ratios_) {
    for (const JoinSet join : joins_in(set, occurrences_)) {
      if (!options_.joins.contains(join)) missing.push_back(join);
    }
  }
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

double StatementModels::let_through_before(const Statement& statement, std::size_t factor, const Statement& beside, std::size_t before,
                                          IndexSet bound) {
  const Statement::Factor& own_factor = statement.factors[factor];
  double density = 1;
  for (std::size_t other = 0; own_factor.operand != no_operand && other < before; ++other) {
    if (beside.factors[other].operand != own_factor.operand) continue;
    const AccessModel& own = *own_factor;
    const AccessModel& access = *beside.factors[other];
    density = std::min(density, own.density(own.shared_with(access, access.bound(bound), own.bound(bound))));
  }
  return density;
}

StatementModels::Prefix& StatementModels::prefix(std::uint32_t number, IndexSet bound) {
  const Statement& statement = *statements_[number];
  bound &= statement.indices;
  if (Prefix** known = prefixes_.find(bound, number)) return **known;
  const std::span<Reached> reached = rows_.add<Reached>(statement.factors.size());
  Prefix made;
  for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
    const AccessModel& access = *statement.factors[factor];
    if (!access.leaves_out()) continue;
    const BoundState state = access.bound(bound);
    reached[factor] = {state, access.density(state)};
    made.density *= let_through(reached[factor].density, repeats_ ? let_through_before(statement, factor, statement, factor, bound) : 1);
    made.filters |= filtering(number, factor, state, bound);
  }
  made.factors = reached;
  const double last = bound == statement.indices ? made.density : prefix(number, statement.indices).density;
  made.iterations_below = combinations(statement.indices & ~bound) * let_through(last, made.density);
  const auto gone_over = [&](const AccessModel& access) {
    // Loops that sparse operands drive are mostly shared by the writer of an intermediate and its reader.
    const IndexSet block = access.indices() & ~bound & (access.intermediate() ? ~statement.chosen : ~IndexSet{0});
    const bool rows = (block & access.contiguous() & ~statement.scattered) != 0;
    const double most = made.iterations_below * (rows ? access.scalar_bytes() : options_.machine.line_bytes);
    const double bytes = spread(access, block);
    made.dense_bytes += std::min(most, bytes);
    made.occurring_bytes += std::min(most, rows ? occurring_bytes(statement, access, bound, bytes) : bytes);
  };
  for (const auto& factor : statement.factors) {
    if (!factor->sparse()) gone_over(*factor);
  }
  if (statement.dense_target) gone_over(*statement.target);
  Prefix& kept = rows_.add<Prefix>(1).front();
  kept = made;
  prefixes_.insert(bound, number, &kept);
  return kept;
}

// Distinct combinations of `more` that the statement visits inside the loop: those that its sparse factors let through
// when nothing else is bound, and no more than it has iterations there.
double StatementModels::touched(const DescribedLoop& loop, IndexSet more) {
  double count = combinations(more);
  if (loop.statement.filtered != 0) count *= let_through(prefix(loop.number, loop.below() | more).density, loop.inside.density);
  return std::min(count, loop.inside.iterations_below);
}

StatementLoop& StatementModels::loop(std::uint32_t number, IndexSet bound, IndexId index, bool shared) {
  shared = shared && statements_[number]->walks;
  const bool again = asked_.statement == number && asked_.bound == bound && asked_.index == index && asked_.shared == shared;
  if (asked_.loop != nullptr && again) return *asked_.loop;
  const IndexSet own = statements_[number]->indices;
  Prefix& before = prefix(number, bound);
  const auto width = static_cast<std::size_t>(std::bit_width(own));
  if (before.loops.empty()) before.loops = rows_.add<StatementLoop*>(statements_[number]->walks ? 2 * width : width);
  StatementLoop*& known = before.loops[shared ? width + index : index];
  if (known == nullptr) {
    known = &rows_.add<StatementLoop>(1).front();
    const Prefix& inside = prefix(number, bound | one_index(index));
    describe({number, *statements_[number], bound & own, index, shared, before, inside}, *known);
  }
  asked_ = {number, bound, index, shared, known};
  return *known;
}

AdvancedAccess StatementModels::advance(const DescribedLoop& loop, std::size_t factor, StatementLoop& made) {
  const auto& [number, statement, bound, index, shared, before, after] = loop;
  const AccessModel& access = *statement.factors[factor];
  const auto [outer, outer_density] = before.factors[factor];
  const auto [inner, inner_density] = after.factors[factor];
  AdvancedAccess one;
  one.factor = static_cast<std::uint32_t>(factor);
  one.ends_inside_ns = unforeseen_ns(loop, factor);
  one.open = loop.left(access);
  made.ends_inside = made.ends_inside || one.ends_inside_ns > 0;
  BoundState first = outer, before_step = outer;
  const double places = extent(index);
  access.for_each_step(outer, inner, [&](const LevelStep& step) {
    if (step.direct) first = step.state;
    made.vector = made.vector && !step.sparse && !step.level.located;
    if (!step.sparse) {
      one.tables += 1;
    } else if (step.direct) {
      one.drives = true;
      one.table = step.is_table() ? Table::one_mode : table_of(statement.factors[factor].key & ~bound);
      one.kind = step.level.kind;
      one.one_entry = step.one_entry;
      const bool in_walk = statement.walks && ((access.begins_walk(outer) && !shared) || access.walked(outer) > 0);
      one.run = step.of_runs && !in_walk ? access.entries_below(step.state) : 0;
      // Where the order is open, a range that an index is asked for in between is entered again there (unforeseen_ns()).
      const bool one_by_one = in_walk && !access.sums_in_walk(outer, access.indices() & ~statement.unasked);
      one.of_range = !one_by_one && (access.innermost(outer) & statement.unasked) != 0;
      const bool passes = contains(statement.unasked, index) && one.open != 0;
      one.walked = passes || one.of_range || (statement.walks && access.walked(outer) > 0);
      one.last_of_walk = !passes && (one.of_range || (one.walked && one.open == 0));
      if (one.last_of_walk && statement.dense_target && statement.sums(index)) {
        one.sums_walk = access.sums_in_walk(outer, statement.target->indices());
        if (!one.sums_walk && !one.of_range) one.repeats = access.repeats_in_walk(outer, statement.target->indices());
      }
      one.adjacent = step.adjacent;
      one.length = step.length;
      one.direct = places > 0 ? std::min(1.0, step.length / places) : 0;
    } else if (step.of_runs) {
      // Among all entries of the fiber, and then where the run of this coordinate ends.
      one.late_ns += search_ns(options_.machine, access.entries_below(before_step)) + run_end_ns(access.entries_below(step.state));
    } else if (step.is_table()) {
      one.late_ns += probe_ns(step.level.kind);
    } else if (step.level.followed != 0 && step.level.index == index) {
      // Of a block's places one is far from where the block before it ended.
      const double all = prefix(number, bound & ~step.level.followed).density;
      const double blocks = all > 0 ? combinations(step.level.followed) * before.density / all : 1;
      const double near = gallop_ns(options_.machine, step.length, step.length);
      const double followed = near + (gallop_ns(options_.machine, step.length, blocks) - near) / std::max(1.0, places);
      one.late_ns += step.length > compared_at_once ? followed : search_ns(options_.machine, step.length);
    } else {
      one.late_ns += step.level.scanned ? scan_ns(options_.machine, step.length) : search_ns(options_.machine, step.length);
    }
    before_step = step.state;
  });
  if (one.drives && !one.one_entry && one.table == Table::none && !statement.ends_alone(access, bound))
    one.ends = contains(statement.unasked, index) && one.open == 0 ? unforeseen_range_end(one.length)
                                                                   : access.unforeseen_end_of(before_step, one.length);
  const double all = outer_density > 0 ? inner_density / outer_density : 0;
  one.late_density = one.direct > 0 ? all / one.direct : 0;
  one.first = filtering_modes(number, factor, first);
  one.all = filtering_modes(number, factor, inner);
  return one;
}

void StatementModels::describe(const DescribedLoop& loop, StatementLoop& made) {
  const auto& [number, statement, bound, index, shared, before, after] = loop;
  const IndexSet left = loop.left();
  const bool whole = left == 0;
  made.outside = before.filters;
  made.innermost = whole;
  made.written_out = (contains(statement.few, index) && statement.is_written_out(statement.indices & ~bound)) ||
                     (contains(statement.lanes, index) && !whole && (left & ~statement.single) == 0);
  made.vector = whole && !contains(statement.keyed, index) && !(options_.strict_fp && statement.sums(index));

  const auto advances = [&](std::size_t factor) {
    return before.factors[factor].state != after.factors[factor].state && !statement.reads_again(factor);
  };
  const std::size_t factors = statement.factors.size();
  std::size_t advanced = 0;
  for (std::size_t factor = 0; factor < factors; ++factor) advanced += advances(factor) ? 1 : 0;
  const std::span<AdvancedAccess> accesses = rows_.add<AdvancedAccess>(advanced);
  const std::span<Movement> moved = rows_.add<Movement>(factors);
  auto next = accesses.begin();
  for (std::size_t factor = 0; factor < factors; ++factor) {
    if (statement.reads_again(factor)) continue;
    const AccessModel& access = *statement.factors[factor];
    moved[factor] = access.sparse() ? move_sparse(loop, factor) : move_dense(loop, access);
    if (advances(factor)) *next++ = advance(loop, factor, made);
  }
  made.advanced = accesses;
  made.factors = moved.data();
  made.written = write_dense(loop);
  // One vector after the other: the row stays in registers.
  const IndexSet row = statement.target->indices() & ~bound;
  made.row_stays = (row & ~one_index(index)) == 0 && fits_registers(combinations(row) * statement.target->scalar_bytes());

  if (whole) {
    const double sum = statement.sums(index) ? options_.machine.vector_sum : 0;
    made.vector_ns = statement.flops * extent(index) * options_.machine.vector_flop + sum;
    return;
  }
  made.inside_stream_ns = least_streamed(loop) / options_.machine.stream[0];
  made.inside_vector_ns = after.iterations_below * statement.flops * options_.machine.vector_flop;
  if ((left & (left - 1)) != 0) return;
  const auto last = static_cast<IndexId>(std::countr_zero(left));
  const StatementLoop& rows = this->loop(number, loop.below(), last, false);
  const bool stays = rows.row_stays && statement.sums(index);
  made.row_end_ns = rows.vector ? row_end(statement, last, stays) : 0;
  made.sums_short_row = rows.vector && stays && contains(statement.few, last);
  made.joins = made.row_end_ns > 0 && joins(statement, index, last);
}

}  // namespace weft
