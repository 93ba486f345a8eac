#include "engine/plan/cost/sparse_target.h"

#include <algorithm>
#include <limits>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/statement_models.h"
#include "engine/plan/schedule/binding.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

// Nanoseconds; measured on SpGEMM kernels over rows of ten to a thousand entries.
constexpr double insert_mark = 0.9;       // test and set a mark, add
constexpr double push_touched = 1.0;      // a new entry
constexpr double sort_short = 1.0;        // a key of a touched list that is sorted in registers (runtime/sort_keys.h)
constexpr double sort_long = 2.5;         // and of a longer one, by digits
constexpr double shortest_long = 256;
constexpr double read_marks = 0.6;        // 64 marks, instead of sorting a list that is long for its extent
constexpr double read_marked = 0.6;
constexpr double drain_entry = 1.2;       // reading and clearing one
constexpr double scan_key = 0.8;          // a key of a bitmap, whose values and marks are cleared before: all are looked at
constexpr double insert_hashed = 5.0;
constexpr double drain_slot = 0.6;
constexpr double slots_per_entry = 2;
constexpr double far_entry = 40;          // of tuples that fill no cache: sorted by digits and read across it, in new pages
constexpr double compose_key = 0.8;       // of several coordinates, when inserting
constexpr double split_key = 2.5;         // and when draining: runs of equal coordinates, a loop in a loop

// Measured, a table of all keys is faster at every extent tried (bench/measured/sparse_results.md); how many entries there are is an
// estimate, and with few of them both seem to cost nothing. So a hash table has to promise more than a little.
constexpr double hashed_advantage = 1.25;

// An accumulator is a table of all keys for every thread, with a byte for each as its mark. Each thread clears the marks in
// every run; its pages are new in the first one.
constexpr double most_table_bytes = 1u << 30;
constexpr double mark_bytes = 1;
constexpr double new_byte = 0.1;
constexpr double page_bytes = 2 << 20;

constexpr double append_entry = 0.75;   // nanoseconds: capacity, coordinate, value, and whether anything was accumulated
// Of the result of the first run: written by a chunk, read and written again; per thread. Later runs write into what the first one left.
constexpr double assemble_byte = 0.08;
constexpr double coordinate_bytes = 4;
// Of an entry that is sorted, one of a matrix whose rows become columns (runtime/transposed_rows.h): 6 ns.
constexpr double share_of_transposing = 0.25;

constexpr double stored_entry = 2.5;  // appending and assembling an entry of an intermediate, all threads together

// Nanoseconds of the first run, in thread time. A pass that counts entries before they are appended: a coordinate found
// and marked, and an entry counted. Else a byte of the result that is written to new pages of a chunk, which go back to
// the system when it is copied. Later runs write into the arrays that the first one left.
constexpr double counted_product = 1.2;
constexpr double counted_entry = 0.5;
constexpr double copied_byte = 0.5;

// An entry of a level that is appended behind the loops over what lies below it.
constexpr double closed_entry = 2.5;

// What converting an entry of a result takes, beside one that is sorted.
double converted_share(const ContractedTensor& result) {
  if (!result.delivered) return 0;
  const std::vector<Level>& levels = result.delivered->levels;
  const bool columns = levels.size() == 2 && !result.delivered->layout && is_dense(levels[0].kind) && is_compressed(levels[1].kind);
  return columns ? share_of_transposing : 1;
}

// The accesses of operands whose product a step writes.
std::vector<TensorAccess> leaves_of(Steps steps, std::size_t writer) {
  std::vector<TensorAccess> leaves;
  std::vector<std::size_t> open{writer};
  while (!open.empty()) {
    const Contraction& step = steps[open.back()];
    open.pop_back();
    for (const ScheduledAccess& factor : step.factors) {
      const NamedTensor& tensor = steps.tensor(factor.tensor);
      if (tensor.role == TensorRole::operand) leaves.push_back({tensor.tensor, factor.indices});
      else open.push_back(writer_of(steps, factor.tensor));
    }
  }
  return leaves;
}

// What filters when these indices are bound.
JoinSet bound_modes(const StatementModels::Statement::FilteringModes& modes, IndexSet bound) {
  JoinSet found = 0;
  for (const auto& [bit, index] : modes) {
    if (contains(bound, index)) found |= bit;
  }
  return found;
}

}  // namespace

KeyedPrice keyed_price(const Machine& machine, const KeyedWorkspace& workspace, LevelKind kind) {
  const double value = workspace.block * workspace.scalar_bytes;
  const double entries = std::max(0.0, workspace.entries);
  const double sorting =
      workspace.ordered && entries > 1
          ? std::min(entries * (entries > shortest_long ? sort_long : sort_short),
                     has_slots(kind) ? std::numeric_limits<double>::infinity()
                                               : workspace.keys / 64 * read_marks + entries * read_marked)
          : 0;
  KeyedPrice price{kind, machine.reset_entry, 0};
  const double fillings = std::max(1.0, workspace.fillings);
  const double threads = std::min<double>(machine.threads, fillings);
  // The share of one filling in pages that each thread touches for the first time.
  const double new_share = threads / fillings / std::max(1.0, workspace.runs);
  if (!workspace.one_mode) price.ns += workspace.inserts * compose_key + entries * split_key;
  if (has_slots(kind)) {
    price.bytes = entries * slots_per_entry * (value + 12);
    const std::size_t level = machine.cache_level(price.bytes);
    const double far = workspace.ordered && level == 3 ? entries * far_entry : 0;
    price.ns += workspace.inserts * (insert_hashed + machine.gather[level]);
    price.ns += entries * (slots_per_entry * drain_slot + drain_entry) + sorting + far;
    price.ns += new_share * price.bytes * new_byte;
    return price;
  }
  price.bytes = workspace.keys * (value + mark_bytes);
  // Few touched lines stay near, and marks, of which a line has many; touching a value for the first time, and clearing it,
  // goes to where the table is.
  const double values = workspace.keys * value;
  const double touched = std::min(values, entries * std::max(value, machine.line_bytes));
  const double miss = machine.gather[machine.cache_level(values)];
  price.ns += workspace.inserts * (insert_mark + machine.gather[machine.cache_level(touched)]);
  price.ns += entries * (drain_entry + miss);
  const double marks = workspace.keys * mark_bytes;
  const double touched_pages = std::min(price.bytes, fillings * entries / threads * page_bytes);
  price.ns += threads / fillings * marks / machine.stream[machine.cache_level(marks)] + new_share * touched_pages * new_byte;
  if (has_bits(kind)) {
    price.ns += workspace.keys * scan_key;
  } else {
    price.ns += entries * push_touched + sorting;
    price.bytes += entries * 4;
  }
  return price;
}

KeyedPrice cheapest_keyed(const Machine& machine, const KeyedWorkspace& workspace) {
  KeyedPrice best = keyed_price(machine, workspace, LevelKind::accumulator);
  const bool too_large = workspace.keys * (workspace.block * workspace.scalar_bytes + mark_bytes) > most_table_bytes;
  const auto consider = [&](LevelKind kind, double advantage) {
    const KeyedPrice other = keyed_price(machine, workspace, kind);
    if (too_large && !has_slots(kind)) return;
    if (too_large || other.ns * advantage < best.ns) best = other;
  };
  if (workspace.one_mode) consider(LevelKind::bitmap, 1);
  consider(LevelKind::hashed, hashed_advantage);
  return best;
}

SparseTarget::SparseTarget(const ContractedTensor& tensor, const std::vector<IndexId>& indices, ProductEstimate product,
                           std::optional<IndexId> next)
    : product_(std::move(product)),
      modes_(index_set(indices)),
      scalar_bytes_(scalar_bytes(tensor.scalar)),
      shares_pattern_(tensor.like.has_value()),
      next_(next),
      any_order_(tensor.storage == Storage::of_loops),
      converted_share_(converted_share(tensor)) {
  const std::size_t appended = appended_levels(tensor.layout.levels);
  for (std::size_t level = 0; level < indices.size(); ++level) {
    const IndexId index = indices[tensor.mode(level)];
    const bool in_key = any_order_ ? !contains(tensor.block, index) : level < appended;
    if (in_key) order_.push_back(index);
    else block_ *= product_.extent(index);
  }
  key_ = index_set(order_);
  // The order of the levels may be that of loops that are not known yet: their bytes are counted in one order for all.
  IndexSet above = 0;
  for (const IndexId index : members(key_)) {
    above |= one_index(index);
    bytes_ += coordinate_bytes * product_.distinct(above);
  }
  entries_ = product_.distinct(key_);
  bytes_ = shares_pattern_ ? 0 : bytes_;
  bytes_ += entries_ * block_ * scalar_bytes_;
}

bool SparseTarget::departs(IndexSet bound, IndexId index) const {
  if (shares_pattern_) return false;
  if (any_order_) return (key_ & ~bound) != 0 && !contains(key_, index);
  std::size_t direct = 0;
  while (direct < order_.size() && contains(bound, order_[direct])) ++direct;
  return direct < order_.size() && order_[direct] != index;
}

bool SparseTarget::completes(IndexSet bound, IndexId index) const {
  return contains(key_, index) && (key_ & ~bound) == one_index(index);
}

KeyedWorkspace SparseTarget::workspace(IndexSet bound, double inserts) const {
  KeyedWorkspace workspace;
  const IndexSet direct = bound & key_;
  std::size_t modes = 0;
  for (const IndexId index : order_) {
    if (contains(direct, index)) continue;
    workspace.keys *= product_.extent(index);
    ++modes;
  }
  const double parents = direct == 0 ? 1 : product_.distinct(direct);
  workspace.entries = parents > 0 ? entries_ / std::max(1.0, parents) : 0;
  workspace.inserts = inserts;
  workspace.fillings = parents;
  workspace.block = block_;
  workspace.scalar_bytes = scalar_bytes_;
  workspace.one_mode = modes == 1;
  return workspace;
}

// Shared values are stored, and hardly ever cleared.
double SparseTarget::finishing_ns(double calls) const {
  return shares_pattern_ ? 0 : bytes_ * assemble_byte / std::max(1.0, calls);
}

double SparseTarget::converting_ns(const Machine& machine) const {
  return shares_pattern_ ? 0 : entries_ * converted_share_ * machine.convert_entry;
}

JoinSet product_join(Steps steps, std::size_t writer, const std::vector<Occurrence>& all) {
  return join_of(leaves_of(steps, writer), all);
}

JoinSet written_join(Steps steps, std::size_t writer, const std::vector<Occurrence>& all) {
  const IndexSet written = index_set(steps[writer].target.indices);
  JoinSet kept = 0;
  for (const Occurrence& occurrence : all) kept |= occurrence.modes_over(written);
  return product_join(steps, writer, all) & kept;
}

ProductEstimate estimate_of(Steps steps, std::size_t writer, const Network& network, const std::vector<OperandFacts>& operands,
                            const std::map<JoinSet, double>& joins, const std::map<std::string, double>& entries) {
  ProductEstimate product(network, operands, leaves_of(steps, writer));
  // Several assignments number their operands each for themselves.
  if (network.assignments.size() > 1) return product;
  if (writer + 1 == steps.size()) product.take_counted(network, network.assignments.front().result, entries);
  if (joins.empty()) return product;
  const std::vector<Occurrence> all = occurrences(network, operands);
  product.scale_contributions(counted_ratio(product_join(steps, writer, all), all, joins));
  product.scale_let_through(index_set(steps[writer].target.indices), counted_ratio(written_join(steps, writer, all), all, joins));
  return product;
}

void StatementModels::describe_storage(const ContractedTensor& tensor, const std::vector<IndexId>& indices, Statement& writer) {
  if (writer.keyed == 0) return;
  writer.inside_only = tensor.storage == Storage::keyed;
  for (std::size_t level = 0; level < appended_levels(tensor.layout.levels); ++level) {
    writer.compressed.push_back(indices[tensor.layout.mode_order[level]]);
  }
}

// A workspace is read in the order of the reader's loops, a stored intermediate in that of its format. The block of the
// latter has one order here, whatever the loops of its writer make of it.
std::shared_ptr<AccessModel> StatementModels::sparse_factor(const ContractedTensor& tensor, const ScheduledAccess& factor,
                                                            const Statement& writer) {
  ContractedTensor stored = tensor;
  stored.storage = Storage::stored;
  const auto model = [&](const ScheduledAccess& access, const AccessPath& path) {
    const auto statistics = estimated_statistics(*writer.product, network_, access.indices, stored.layout, true);
    return std::make_shared<AccessModel>(access, stored, path, network_, operands_, std::make_shared<const Statistics>(statistics));
  };
  std::shared_ptr<AccessModel> access;
  if (!writer.compressed.empty()) {
    std::vector<std::uint32_t>& order = stored.layout.mode_order;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(writer.compressed.size()), order.end());
    access = model(factor, AccessPath{});
  } else {
    const bool whole = writer.keyed == index_set(factor.indices);
    const ScheduledAccess keyed{factor.tensor, whole ? factor.indices : members(writer.keyed)};
    stored.layout = sparse_format(keyed.indices.size(), tensor.scalar);
    access = model(keyed, AccessPath::of_loops(0));
    access->add_block(index_set(factor.indices) & ~writer.keyed, network_);
  }
  access->set_contiguous(writer.target->contiguous());
  return access;
}

KeyedWorkspace StatementModels::keyed_over(const Statement& writer, IndexSet key, IndexSet shared) const {
  KeyedWorkspace workspace;
  workspace.keys = combinations(key);
  workspace.block = combinations(writer.target->indices() & ~writer.keyed & ~shared);
  workspace.scalar_bytes = writer.target->scalar_bytes();
  workspace.runs = options_.calls;
  workspace.one_mode = (key & (key - 1)) == 0;
  return workspace;
}

const KeyedPrice& StatementModels::workspace(std::uint32_t writer, IndexSet shared) {
  if (const KeyedPrice* known = workspaces_.find(shared, writer)) return *known;
  workspaces_.insert(shared, writer, made_workspace(writer, shared));
  return *workspaces_.find(shared, writer);
}

// Stored, it has its modes in the order of its writer's loops: at best all but the last are bound in this order, and
// that one is gathered in a workspace for each combination of the others. What is inserted, and into how many entries it is
// summed, follows the counted joins as the loops of the writer do.
KeyedPrice StatementModels::made_workspace(std::uint32_t writer, IndexSet shared) {
  const Statement& statement = *statements_[writer];
  const double joined = join_ratio(bound_modes(statement.filtering_modes, statement.indices));
  const double entered = join_ratio(bound_modes(statement.filtering_modes, shared));
  const ProductEstimate& product = *statement.product;
  const IndexSet key = statement.keyed & ~shared;
  const double entries = product.distinct(shared | key);
  // Without a sum the entries come in the order in which they are appended.
  if (!statement.compressed.empty() && (statement.indices & ~statement.target->indices()) == 0) {
    return {LevelKind::accumulator, entries * stored_entry, 0};
  }
  KeyedWorkspace figures = keyed_over(statement, key, shared);
  figures.ordered = !figures.one_mode;
  const double more = entered > 0 ? joined / entered : 1;
  figures.inserts = iterations_below(writer, shared) * more / std::max(1.0, figures.block);
  if (shared != 0) {
    figures.fillings = product.distinct(shared);
    figures.entries = entries / std::max(1.0, figures.fillings);
    return cheapest_keyed(options_.machine, figures);
  }
  double fillings = 1;
  if (!figures.one_mode) {
    for (const IndexId last : members(key)) {
      const double others = product.distinct(key & ~one_index(last));
      if (others < fillings) continue;
      fillings = others;
      figures.keys = extent(last);
    }
  }
  figures.one_mode = true;
  figures.ordered = true;
  figures.fillings = fillings;
  figures.entries = entries / std::max(1.0, fillings);
  figures.inserts /= std::max(1.0, fillings);
  KeyedPrice price = cheapest_keyed(options_.machine, figures);
  price.ns = price.ns * fillings / options_.machine.threads + entries * stored_entry;
  price.bytes += entries * (figures.block * figures.scalar_bytes + 8);
  return price;
}

bool CostModel::appends(StatementRange range) const {
  const auto appends_keys = [&](const Placed& statement) { return statement.model->keyed != 0 && leaves(statement, range); };
  return makes_entries(range.last) || std::ranges::any_of(placed(range), appends_keys);
}

double CostModel::leaving_bytes(StatementRange range) const {
  double bytes = 0;
  for (const Placed& statement : placed(range)) {
    const StatementModels::Statement& model = *statement.model;
    if (!leaves(statement, range)) continue;
    if (model.keyed != 0) bytes += model.product->distinct(model.keyed) * 14;
    else bytes += result_ != nullptr && &statement == &statements_.back() ? result_->bytes() : model.target->bytes();
  }
  return bytes;
}

KeyedPrice CostModel::drain(Outside outside, IndexId index, StatementRange range) const {
  if (!departs(outside, index, range)) return {};
  const IndexSet bound = outside.indices;
  // Every product is an insertion: sums inside the last level of the key are rare.
  const StatementRange last{range.last, range.last};
  const double entered = iterations(bound, last);
  const double products = entered > 0 ? iterations(bound | indices(range.last), last) / entered : 0;
  const double inserts = products / std::max(1.0, result_->block());
  KeyedWorkspace workspace = result_->workspace(bound, inserts);
  workspace.runs = options_.calls;
  return cheapest_keyed(options_.machine, workspace);
}

LevelKind CostModel::gathered_in(std::size_t writer, IndexSet bound, IndexSet key) const {
  const StatementModels::Statement& statement = *statements_[writer].model;
  KeyedWorkspace workspace = models_->keyed_over(statement, key, 0);
  workspace.fillings = std::max(1.0, bound == 0 ? 1 : statement.product->distinct(bound));
  workspace.entries = statement.product->distinct(bound | key) / workspace.fillings;
  const double products = iterations(indices(writer), {writer, writer}) / std::max(1.0, workspace.block);
  workspace.inserts = std::max(workspace.entries, products / workspace.fillings);
  return cheapest_keyed(options_.machine, workspace).kind;
}

double CostModel::copying_ns(StatementRange range) const {
  if (!makes_entries(range.last)) return 0;
  return result_->bytes() * copied_byte / options_.machine.threads / std::max(1.0, options_.calls);
}

double CostModel::counting_ns(StatementRange range, double share) const {
  if (!makes_entries(range.last)) return 0;
  const double products = models_->iterations_below(statements_[range.last].number, 0) / std::max(1.0, result_->block());
  return (products * counted_product + result_->entries() * counted_entry) * share / std::max(1.0, options_.calls);
}

// An entry is made where its last coordinate is bound, unless the workspace that is drained pays for it. Values at the
// positions of an operand are written where the operand streams. Where loops go on inside, whether they had anything is asked behind them.
Movement CostModel::write_sparse(const PricedLoop& loop) const {
  const StatementModels::Statement& statement = *statements_.back().model;
  const double unit = statement.target->scalar_bytes();
  const bool drained = loop.outside.gathers;
  const bool goes_on = (statement.indices & ~loop.inside()) != 0;
  const bool in_order = contains(index_set(result_->order()), loop.index);
  const bool closes = goes_on && !drained && !result_->shares_pattern() && in_order;
  const double closing = closes ? closed_entry / 2 : 0;  // counted twice: read and written
  if (!result_->completes(loop.outside.indices, loop.index)) {
    if (closes) return {4, 0, closing};
    const bool in_block = contains(result_->modes(), loop.index) && !in_order;
    return in_block ? Movement{unit, unit / options_.machine.stream[1]} : Movement{};
  }
  if (drained) return {};
  const std::size_t from = options_.machine.cache_bytes[2] < result_->bytes() ? 3 : 2;
  const double append = result_->shares_pattern() ? 0 : append_entry / 2 + closing;
  // Never read before it is written, as what is added to is.
  constexpr double written_only = 2.0 / 3;
  return {unit, written_only * unit / options_.machine.stream[from], append};
}

}  // namespace weft
