// What the cost model knows of the states of a nest: products of two rows that wait until several are added to their block together.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/plan/cost/batch_size.h"
#include "engine/network/code_forms.h"
#include "engine/plan/cost/cost_model.h"
#include "engine/plan/schedule/forest.h"

namespace weft {
namespace {

// Of a right matrix whose columns are copied as rows: 256 x 256 x 256 takes 595 us, 590 with rows that lie together.
constexpr double transposed_element = 0.08;

}  // namespace

Outside CostModel::bound_by(const Schedule& schedule, std::size_t statement, std::size_t depth) const {
  const std::vector<IndexId>& loops = schedule.statements[statement].loops;
  Outside outside;
  for (std::size_t loop = 0; loop < std::min(depth, loops.size()); ++loop) {
    outside = inside(outside, loops[loop], {first_sharer(schedule, statement, loop), last_sharer(schedule, statement, loop)});
  }
  return outside;
}

// Entries of the shortest fiber that drives the loop, in the mean; without one the extent.
double CostModel::fiber_entries(IndexSet bound, IndexId index, StatementRange range) const {
  double shortest = extent(index);
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const std::vector<std::size_t>& writers = statements_[number].flow->writers;
    for (const AdvancedAccess& access : models_->loop(statements_[number].number, bound, index, range.first != range.last).advanced) {
      if (writers[access.factor] >= range.first && writers[access.factor] < number) continue;
      if (access.drives) shortest = std::min(shortest, access.length);
    }
  }
  return shortest;
}

// In for i: for j: { for k: for s: x[s] += T * C; for r: for s: A[i,r,s] += B[j,r] * x[s] } the products of the j of a row wait: the loop
// over r is one over their rows, that over s one over their columns. The statement is the last one inside j, and the only one of its kind.
Batch CostModel::batch_begun(Outside outside, IndexId index, StatementRange range) const {
  const Batch before = range.first == range.last ? outside.batch_of(range.last) : Batch::none;
  if (before == Batch::tile || (range.first == range.last && keeps_tile(outside, index, range.last))) return Batch::tile;
  if (before != Batch::none) return products_together(outside, index, range) > 1 ? Batch::columns : Batch::none;
  const IndexSet inside = outside.indices | one_index(index);
  if (!statements_[range.last].model->adds_block(inside, index)) return Batch::none;
  for (std::size_t number = range.first; number < range.last; ++number) {
    if (statements_[number].model->adds_block(inside, index)) return Batch::none;
  }
  // Rows and columns are told apart by the loops inside.
  constexpr double rows = 8;
  constexpr double columns = 8;
  return batch_size(fiber_entries(outside.indices, index, range), rows, columns) > 0 ? Batch::rows : Batch::none;
}

// In for i: for j: for r: for c: for s: Y[i,r,s] += B[i,j,r,c] * X[j,c,s] of blocks of 3 x 3 the three rows of Y stay in registers while j
// goes on (lower/registers.cpp).
bool CostModel::keeps_tile(Outside outside, IndexId index, std::size_t number) const {
  const StatementModels::Statement& statement = *statements_[number].model;
  const IndexSet rest = statement.indices & ~(outside.indices | one_index(index));
  if (outside.root() || !statement.sums(index) || contains(statement.few, index) || !statement.is_written_out(rest)) return false;
  const IndexSet tile = statement.target->indices() & rest;
  if (tile == 0 || (rest & (rest - 1)) == 0 || (rest & ~statement.few & ~tile) != 0) return false;
  const double row = std::ceil(combinations(rest & ~statement.few) * statement.target->scalar_bytes() / options_.machine.line_bytes);
  return combinations(tile) * statement.target->scalar_bytes() <= register_row_bytes &&
         row * combinations(rest & statement.few) <= written_parts;
}

double CostModel::products_that_wait(Outside outside, IndexId index, std::size_t number) const {
  const Batch batch = outside.batch;
  if (batch == Batch::product) return 1;
  if (batch == Batch::tile) return std::numeric_limits<double>::infinity();
  const StatementModels::Statement& statement = *statements_[number].model;
  const IndexSet open = statement.indices & ~outside.indices;
  if (batch == Batch::rows && !statement.multiplies_rows(outside.indices, index)) return 1;
  // The loop around has iterations enough, and that there are rows enough was seen outside the columns.
  constexpr double enough = 8;
  const double rows = batch == Batch::rows ? extent(index) : enough;
  const IndexSet columns = batch == Batch::rows ? open & ~one_index(index) : open;
  return std::max(1.0, static_cast<double>(batch_size(enough, rows, combinations(columns))));
}

// Tiles use what they load often enough that only the matrices themselves are moved, once, where the product begins; it is computed in
// the last of its loops, columns in whole vectors. Orders of its loops are the same code, but for checked kernels and others without
// tiles, which would rather have columns last.
double CostModel::product_ns(Outside outside, IndexId index, std::size_t number, LoopEstimate* details) const {
  const Machine& machine = options_.machine;
  const StatementModels::Statement& statement = *statements_[number].model;
  double ns = 0;
  if (outside.batch_of(number) != Batch::product) {
    const IndexSet rest = statement.indices & ~outside.indices;
    const auto move = [&](const AccessModel& access) {
      const double bytes = combinations(access.indices() & rest) * access.scalar_bytes();
      ns += bytes / machine.stream[machine.cache_level(bytes)];
      if (details != nullptr) details->bytes += bytes;
    };
    for (const auto& factor : statement.factors) move(*factor);
    move(*statement.target);
    ns += machine.fiber_entry + machine.loop_entry;
    if (statement.transposed) ns += transposed_element * combinations((statement.sum | statement.column) & rest);
  }
  if ((statement.indices & ~(outside.indices | one_index(index))) == 0) {
    const double columns = combinations(statement.column);
    const double lanes = machine.line_bytes / statement.target->scalar_bytes();
    const double preferred = contains(statement.column, index) ? 1 : 1.02;
    ns += preferred * extent(index) * statement.flops * machine.vector_flop * std::ceil(columns / lanes) * lanes / columns;
  }
  return ns;
}

// A row of an intermediate whose elements are taken one by one is not in registers: it begins as zeros in memory. TTMc with x[r] as that
// row takes 1.2 times as long as with x[s] over columns.
double CostModel::waiting_ns(Outside outside, IndexId index, StatementRange range) const {
  if (outside.batch_of(range.last) != Batch::rows) return 0;
  double ns = 0;
  for (const auto& factor : statements_[range.last].model->factors) {
    if (!factor->intermediate() || !contains(factor->indices(), index)) continue;
    ns += options_.machine.reset_entry + extent(index) * factor->scalar_bytes() / options_.machine.stream[0];
  }
  return ns;
}

}  // namespace weft
