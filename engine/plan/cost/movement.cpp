// What a loop of a statement moves for each access, and what rows cost beside their elements; of statements that share a loop what they do
// not keep among themselves, and only where they run.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/plan/cost/cost_model.h"

namespace weft {

namespace {

// Nanoseconds per entry of a walk over a chain and level of it above the last: its coordinate is read, and its row found, anew.
constexpr double walked_level = 0.5;
// Rows of a walk's last level but one are read, and fetched ahead, for every entry, where a loop over the run keeps them in registers: as
// bytes from the first cache, but for two lines, which are hidden. MTTKRP of order 3 nested over flat, by time, R = 16, 32, 64:
// kjv_trigram 1.35, 1.04, 0.97, fb15k237 1.40, 1.06, 0.89. Rows of factors further out a nested loop reads again as well, but sums
// into one of the target while its loops inside go on; an addition waits for the store before it, and hides nothing:
// x[k,r,l] += T[i,j,k,l] * F[i,r] * G[j,r] of 500^4, R = 16, 32: walks in 7.6 and 13.0 ms, in loops over l, i, j 6.0 and 10.7.
constexpr double walked_row = 2;
constexpr double hidden_lines = 2;
// Per column of a small block that is stored by rows: a vector over r of B[i,j,r,c] is picked from those that hold the block. SpMV of
// nsjac and bcsstk16 in blocks of 3 x 3 takes 1.55 times as long as of blocks stored by columns.
constexpr double picked_column = 0.7;

}  // namespace

// Bytes that a block of a dense array brings into a cache: columns of a row-major array drag whole lines along.
double StatementModels::spread(const AccessModel& access, IndexSet block) const {
  if (block == 0) return 0;
  const double unit = (block & access.contiguous()) != 0 ? access.scalar_bytes() : options_.machine.line_bytes;
  return std::min(access.bytes(), combinations(block) * unit);
}

// Of the smallest cache that holds so many bytes of a block, and beside it all else that the loops go over before they come
// back to it. A first cache is found by addresses within a page, so that its ways are pages; ways of the second, physically
// addressed, begin at the same place of large arrays, which have huge pages; the third spreads addresses over its sets.
std::size_t StatementModels::cache_level(const AccessModel& access, IndexSet block, double bytes,
                                         double all_bytes) const {
  constexpr std::array<std::uint64_t, 2> way_bytes = {4096, 65536};
  const Machine& machine = options_.machine;
  std::size_t level = machine.cache_level(std::max(bytes, all_bytes));
  while (level < way_bytes.size() &&
         bytes > machine.cache_bytes[level] * access.reached_share(block, way_bytes[level], machine.line_bytes)) {
    ++level;
  }
  return level;
}

// Loops over indices of other factors that come back to the rows of a dense one, for each of their coordinates, three times and more: in
// A[i,r] += T[i,k,j] * F[k,r] * B[j,r] the one over i where T has three entries for a pair of i and j. Fewer suffice where the heavy slices
// of T are counted, in which most entries lie: an i of debian_contents has 1.65 entries for a file in the mean, a heavy one far more.
IndexSet StatementModels::returning(Statement& statement, const AccessModel& access) const {
  constexpr double least_visits = 3;
  const IndexSet chosen = access.indices() & statement.filtered;
  const IndexSet others = statement.filtered & ~access.indices();
  if (access.sparse() || access.intermediate() || chosen == 0 || (others & (others - 1)) == 0) return 0;
  const auto entries = [&](IndexSet indices) {
    double count = combinations(indices);
    for (const auto& factor : statement.factors) count *= factor->fill(indices);
    return count;
  };
  const double visits = entries(statement.filtered);
  const auto is_sparse = [](const auto& factor) { return factor->sparse(); };
  const auto sparse = std::ranges::find_if(statement.factors, is_sparse);
  const bool alone = std::ranges::count_if(statement.factors, is_sparse) == 1;
  IndexSet found = 0;
  for (const IndexId index : members(others)) {
    const bool one_mode = alone && (chosen & (chosen - 1)) == 0;
    const double rows =
        one_mode ? (*sparse)->distinct_in_heavy_slices(index, static_cast<IndexId>(std::countr_zero(chosen))) : 0;
    if (rows > 0) statement.heavy_slices.push_back({&access, index, rows});
    if (rows > 0 || visits >= least_visits * entries(chosen | one_index(index))) found |= one_index(index);
  }
  return found;
}

// Of a dense factor's rows that sparse factors choose, the share that occurs below the loops over `bound`, whatever their order: in
// A[i,r] += T[i,k,j] * F[k,r] * B[j,r] below i, and below i and k, the rows of those j. 1 outside of all loops that come back to rows.
double StatementModels::occurring(const Statement& statement, const AccessModel& access, IndexSet bound) {
  const IndexSet chosen = access.indices() & ~bound & statement.filtered;
  if (chosen == 0) return 1;
  const auto factor = std::ranges::find(statement.factors, &access, [](const auto& each) { return each.access.get(); });
  if (factor == statement.factors.end() || (factor->returning & bound) == 0) return 1;
  const double outside = statement.fill(bound & statement.indices);
  return outside > 0 ? std::min(1.0, statement.fill((bound & statement.indices) | chosen) / outside) : 1;
}

// Bytes that these rows ask of a cache: twice their mean, for where many entries are there are more. Of 182 days 107 occur below an origin
// and an hour, but for most flights nearly all. Where heavy slices are counted, those of the slice that an entry lies in.
double StatementModels::occurring_bytes(const Statement& statement, const AccessModel& access, IndexSet bound, double bytes) const {
  constexpr double skew = 2;
  const IndexSet chosen = access.indices() & statement.filtered;
  double share = 1;
  IndexSet counted = 0;
  for (const Statement::HeavySlices& slices : statement.heavy_slices) {
    if (slices.access != &access || !contains(bound, slices.index) || (chosen & bound) != 0) continue;
    share = std::min(share, slices.rows / combinations(chosen));
    counted |= one_index(slices.index);
  }
  return bytes * std::min(share, skew * occurring(statement, access, bound & ~counted));
}

// The cache that the rows of a factor come from below `bound`: the one that holds those that occur there.
std::size_t StatementModels::rows_from(const Statement& statement, const AccessModel& access, IndexSet bound, const Prefix& below) const {
  const IndexSet inner = access.indices() & ~bound;
  return cache_level(access, inner, occurring_bytes(statement, access, bound, spread(access, inner)), below.occurring_bytes);
}

// A block of the array is fetched when an index of it is bound: from the cache that holds the block of the loops
// outside, into the one that holds the smaller block; nothing moves where both are the same cache. The element itself
// is read in the last loop. Blocks one behind the other come ahead of the loops inside, and so do columns, whose elements
// do not wait for each other.
Movement StatementModels::move_dense(const DescribedLoop& loop, const AccessModel& access) {
  const auto& [number, statement, bound, index, shared, outside, inside] = loop;
  if (!contains(access.indices(), index)) return move_again(loop, access);
  const Machine& machine = options_.machine;
  const IndexSet inner = access.indices() & ~bound;
  const IndexSet rest = loop.left(access);
  const double unit = access.scalar_bytes();
  const IndexSet scattered = statement.scattered;
  // What else is gone over tells where rows come from; single elements of many lines do not wait for each other.
  const bool rows = (inner & access.contiguous() & ~scattered) != 0;
  const std::size_t from = rows ? rows_from(statement, access, bound, outside) : cache_level(access, inner, spread(access, inner), 0);
  if (rest == 0) {
    if (rows) return {unit, unit / machine.stream[from]};
    // Of coordinates that rise, so many that each line has several of them: R(i) += T[i,j] over rows most of which are used.
    const double visited = outside.density > 0 ? inside.density / outside.density : 0;
    const bool in_order = from > 0 && contains(access.contiguous(), index) && visited * machine.line_bytes >= unit;
    if (in_order) return {unit / visited, unit / visited / machine.stream[from], machine.gather[0]};
    return {machine.line_bytes, 0, machine.gather[from]};
  }
  const double elements = touched(loop, rest);
  double bytes = elements * unit;
  const bool columns = (rest & access.contiguous()) == 0;
  if ((rest & access.contiguous() & ~scattered) == 0) {
    bytes = elements * machine.line_bytes;
    if (!columns) bytes = std::min(bytes, combinations(rest) * unit);
  }
  // Every line comes once, whether or not it stays.
  if (machine.cache_level(bytes) >= from) return {};
  if (columns) return {bytes, 0, 0, 0, std::max(bytes / machine.stream[from], elements * machine.gather[from])};
  if (from == 1 && (rest & scattered) == 0 && access.adjacent(index, rest)) return {bytes, 0, 0, 0, bytes / machine.stream_ahead};
  return {bytes, bytes / machine.stream[from]};
}

// Rows that a loop over an index of others comes back to: fetched once for an iteration, from the cache that holds those of all
// iterations into the one that holds those of one, from which the loops inside read them. Of 229 airports those below an origin stay in the
// first cache, 512 bytes each, for all its days; below a day they are all.
Movement StatementModels::move_again(const DescribedLoop& loop, const AccessModel& access) const {
  const Statement& statement = loop.statement;
  const IndexSet inner = access.indices() & ~loop.bound;
  if (!contains(statement.filtered, loop.index) || (inner & access.contiguous() & ~statement.scattered) == 0) return {};
  const std::size_t into = rows_from(statement, access, loop.below(), loop.inside);
  // Nothing is gained by rows that do not occur: all of them are where those that do are.
  if (into >= cache_level(access, inner, spread(access, inner), loop.inside.dense_bytes)) return {};
  const std::size_t from = rows_from(statement, access, loop.bound, loop.outside);
  if (into >= from) return {};
  const double bytes = spread(access, inner) * occurring(statement, access, loop.below());
  return {bytes, bytes / options_.machine.stream[from]};
}

// A vector of the target that fits into the registers stays there during the loops that sum into it; it is read and
// written back where the last of its other modes is bound, element by element where they are not adjacent.
Movement StatementModels::write_dense(const DescribedLoop& loop) {
  const Machine& machine = options_.machine;
  const Statement& statement = loop.statement;
  const AccessModel& target = *statement.target;
  const IndexSet inner = target.indices() & ~loop.bound;
  const IndexSet rest = loop.left(target);
  const bool one_vector = rest != 0 && (rest & (rest - 1)) == 0 && fits_registers(combinations(rest) * target.scalar_bytes());
  if (!contains(inner, loop.index) || !one_vector) {
    Movement written = move_dense(loop, target);
    // Lines of memory are written back one by one, whatever else goes on meanwhile.
    const bool from_memory = written.gather_ns > 0 && cache_level(target, inner, spread(target, inner), 0) == 3;
    if (from_memory) written.update_ns += 2 * std::exchange(written.gather_ns, 0);
    return written;
  }
  const double elements = combinations(rest);
  const bool adjacent = (rest & target.contiguous()) != 0;
  // Of a row that is shorter than a line all of it comes, unless the next rows stand in it: C[i,k_0,k_1] below k_0, two columns wide.
  const bool own_lines = !adjacent || !target.adjacent(loop.index, rest);
  const double row = elements * (adjacent ? target.scalar_bytes() : machine.line_bytes);
  const double bytes = own_lines ? std::max(row, machine.line_bytes) : row;
  const double block = std::min(target.bytes(), extent(loop.index) * bytes);
  const std::size_t from = cache_level(target, inner, block, adjacent ? loop.outside.dense_bytes : 0);
  if (!adjacent) return {bytes, 0, elements * machine.gather[from]};
  const double stream_ns = bytes / machine.stream[from];
  // Loaded, added to and stored for every entry, unless loops that sum into it are inside.
  const bool chosen = contains(statement.filtered, loop.index) && loop.left() == rest;
  const double updating = std::max(0.0, machine.row_update - 1) * elements * statement.flops * machine.vector_flop;
  const double update_ns = chosen ? updating : 0;
  if (from > 0) return {bytes, stream_ns, 0, 0, 0, update_ns};
  // The exit of a fiber inside is mispredicted, and the next row waits for that.
  const bool waits = (statement.filtered & loop.left()) != 0;
  return waits ? Movement{bytes, 0, stream_ns, 0, 0, update_ns} : Movement{bytes, 0, 0, stream_ns, 0, update_ns};
}

Movement StatementModels::move_sparse(const DescribedLoop& loop, std::size_t factor) {
  const Machine& machine = options_.machine;
  const Statement& statement = loop.statement;
  const AccessModel& access = *statement.factors[factor];
  const BoundState before = loop.outside.factors[factor].state;
  const BoundState after = loop.inside.factors[factor].state;
  if (before == after) return {};
  const double all_bytes = access.bytes_read(statement.unasked);
  const auto bytes_below = [&](BoundState state) {
    return access.positions(state) > 0 ? all_bytes / std::max(1.0, access.positions(state)) : 0;
  };
  const std::size_t from = machine.cache_level(bytes_below(before));
  if (loop.left(access) == 0) {
    const double above = statement.walks ? static_cast<double>(access.walked(before)) : 0;
    const double bytes = access.scalar_bytes() + (contains(statement.unasked, loop.index) ? 0 : 4) + 4 * above;
    const bool picked = loop.left() == 0 && contains(statement.few & access.dense_below() & ~access.contiguous(), loop.index);
    const double picking = picked ? picked_column / std::max(1.0, extent(loop.index)) : 0;
    return {bytes, bytes / machine.stream[from], walked_level * above + picking};
  }
  const double share = share_below(loop, access, after);
  const double bytes = bytes_below(after) * share;
  const bool walks = statement.walks && !(loop.shared && access.begins_walk(before));
  const double again = walks && access.walked(after) > 0 ? walked_rows(loop, access, after) * share : 0;
  const double again_ns = again * walked_row / machine.stream[0];
  if (machine.cache_level(bytes) >= from) return {again, 0, again_ns};
  return {bytes + again, bytes / machine.stream[from], again_ns};
}

// Bytes of rows that a walk reads again in a run of l entries, whose coordinate it reads for every one of them: the rows of C in
// A[i,r] += T[i,j,k] * C[j,r] * B[k,r] l - 1 times more for a pair of i and j than a loop over its k.
double StatementModels::walked_rows(const DescribedLoop& loop, const AccessModel& access, BoundState after) const {
  double bytes = 0;
  const auto read_again = [&](const AccessModel& dense, double hidden) {
    if (dense.sparse() || !contains(dense.indices(), loop.index)) return;
    const double row = combinations(loop.left(dense)) * dense.scalar_bytes();
    if (fits_registers(row)) bytes += std::max(0.0, row - hidden * options_.machine.line_bytes);
  };
  const IndexSet rest = loop.left(access);
  if ((rest & (rest - 1)) == 0)
    for (const auto& factor : loop.statement.factors) read_again(*factor, hidden_lines);
  read_again(*loop.statement.target, 0);
  return std::max(0.0, access.entries_below(after) - 1) * bytes;
}

// Of the entries below a position, those that the statement goes over.
double StatementModels::share_below(const DescribedLoop& loop, const AccessModel& access, BoundState after) {
  const double below = access.entries_below(after);
  return below > 0 ? std::min(1.0, touched(loop, loop.left(access)) / below) : 0;
}

// Branches at the ends of fibers. Wherever loops go over the same entries again before they come to others, a processor
// remembers how long each fiber was, so that ends cost where a part of the operand is entered that is small enough to be
// remembered, once for all of it, whatever the loops around the parts of that are; like its bytes. Two loops over short fibers
// took 7.2 ns instead of 3.6 per inner one where the rows around them came back to others each time.
double StatementModels::unforeseen_ns(const DescribedLoop& loop, std::size_t factor) {
  const Statement& statement = loop.statement;
  const AccessModel& access = *statement.factors[factor];
  const BoundState before = loop.outside.factors[factor].state;
  const BoundState after = loop.inside.factors[factor].state;
  const bool kept = statement.walks && loop.shared && access.begins_walk(before);
  if (statement.walks && access.walked(after) > 0 && !kept) return 0;
  if (loop.left(access) == 0 || !statement.ends_alone(access, loop.below())) return 0;
  const bool in_range = contains(statement.unasked, loop.index);
  const double entered_ns = options_.machine.loop_entry + options_.machine.fiber_entry;
  // Loops inside that are priced as parts of a walk, which they are not where others share the first of them.
  double entering = kept ? entered_ns * access.fibers_inside(after) * share_below(loop, access, after) : 0;
  // Of a converted operand: below an index that is asked for, inside others that are not, a range ends and another begins. x[l] +=
  // T[i,j,k,l] with loops l,i,j,k goes over a range for each l, with loops i,l,j,k over one for each pair of i and l.
  if (!in_range && access.is_converted() && (access.innermost(before) & statement.unasked) != 0) entering += entered_ns;
  const double ns = options_.machine.branch_miss;
  if (access.is_converted() && (statement.unasked & access.indices()) != 0) {
    // By the loops themselves: which of them run into each other depends on their order.
    const bool pays = !in_range && !access.is_remembered(0);
    return (pays ? ns * access.unforeseen_end_below(after, statement.unasked) : 0) + entering;
  }
  if (access.is_remembered(before) && statement.ends_alone(access, loop.bound)) return entering;
  if (!access.is_remembered(after) || (statement.walks && access.begins_walk(after))) return (in_range ? 0 : ns) + entering;
  return ns * access.unforeseen_ends(after, statement.unasked, in_range) * share_below(loop, access, after) + entering;
}

// Bytes of rows that vector code inside the loop reads from the first cache: of factors in every iteration, but for those
// that are the same for a whole row of the target, and a row of an intermediate that is the same for the whole loop, which
// is in registers; of the target each element once.
double StatementModels::least_streamed(const DescribedLoop& loop) const {
  const Statement& statement = loop.statement;
  const AccessModel& target = *statement.target;
  const double iterations = loop.inside.iterations_below;
  const IndexSet row = target.contiguous() & ~loop.below();
  double bytes = 0;
  for (const auto& factor : statement.factors) {
    const IndexSet inner = loop.left(*factor);
    if (factor->sparse() || inner == 0) continue;
    // A statement that reads it below a dense loop of its own has it stored.
    const bool kept = factor->intermediate() && !contains(factor->indices(), loop.index) && (inner & (inner - 1)) == 0 &&
                      (factor->indices() & ~inner & ~statement.chosen) == 0 && fits_registers(combinations(inner) * factor->scalar_bytes());
    if (kept) continue;
    const bool same = (row & (row - 1)) == 0 && (inner & row) == 0;
    bytes += iterations * factor->scalar_bytes() / (same ? std::max(1.0, combinations(row)) : 1);
  }
  // A row of the target that stays in registers comes here or further out.
  const IndexSet written = loop.left(target);
  if ((written & (written - 1)) != 0) bytes += std::min(iterations, combinations(written)) * target.scalar_bytes();
  return bytes;
}

// The last vector of a row is computed whole; where only a part of it is stored, who adds to it next waits for that.
double StatementModels::row_end(const Statement& statement, IndexId row, bool stays) const {
  const Machine& machine = options_.machine;
  const double lanes = machine.line_bytes / statement.target->scalar_bytes();
  const double idle = std::ceil(extent(row) / lanes) * lanes - extent(row);
  if (idle == 0) return 0;
  return statement.flops * idle * machine.vector_flop + (statement.sums(row) || stays ? 0 : machine.part_stored);
}

// Whether a vector loop over rows is one with the dense loop around it: every access goes on, from row to row, where the
// row before ended, or has neither index.
bool StatementModels::joins(const Statement& statement, IndexId outer, IndexId row) {
  const auto goes_on = [&](const AccessModel& access) {
    if (!contains(access.indices(), row)) return !contains(access.indices(), outer);
    return !access.sparse() && contains(access.indices(), outer) && access.adjacent(outer, one_index(row));
  };
  // In which order an intermediate has what sparse operands filter is not known.
  return !contains(statement.chosen, outer) && goes_on(*statement.target) &&
         std::ranges::all_of(statement.factors, [&](const auto& factor) { return goes_on(*factor); });
}

// How often a statement that has no sparse factor itself runs for one iteration of a loop that it shares with all that its
// intermediates are made from: where these run. Infinite for others.
double CostModel::visits_below(std::size_t statement, const PricedLoop& shared) const {
  const StatementModels::Statement& model = *statements_[statement].model;
  const std::vector<std::size_t>& makers = statements_[statement].flow->makers;
  const IndexSet inside = shared.inside();
  if (model.filtered != 0 || makers.empty() || makers.front() < shared.range.first) return std::numeric_limits<double>::infinity();
  double visits = combinations(model.indices & ~inside);
  for (const std::size_t maker : makers) {
    const double before = models_->density(statements_[maker].number, inside);
    if (before > 0) visits *= models_->density(statements_[maker].number, inside | model.indices) / before;
  }
  return visits;
}

// Loop-exit mispredicts of fibers inside the loop: no more than another statement lets through of the loops over them,
// which it shares where it filters more.
double CostModel::ends_inside(std::size_t statement, const StatementLoop& loop, const PricedLoop& shared) const {
  const auto let_through = [&](std::size_t number, IndexSet more) {
    const double before = statements_[number].model->fill(shared.inside());
    return before > 0 ? statements_[number].model->fill(shared.inside() | more) / before : 0;
  };
  double ns = 0;
  for (const AdvancedAccess& access : loop.advanced) {
    double reached = 1;
    for (std::size_t other = shared.range.first; other <= shared.range.last && access.ends_inside_ns > 0; ++other) {
      const IndexSet both = access.open & statements_[other].model->filtered;
      if (other == statement || both == 0) continue;
      const double own = let_through(statement, both);
      if (own > 0) reached = std::min(reached, let_through(other, both) / own);
    }
    ns += access.ends_inside_ns * reached;
  }
  return ns;
}

Movement CostModel::movement(std::size_t number, const StatementLoop& loop, const PricedLoop& shared, bool vector,
                             double visited_share) const {
  const Machine& machine = options_.machine;
  const StatementModels::Statement& statement = *statements_[number].model;
  // Negative before it is asked for, which most loops do not.
  double visits = -1;
  // The part of the elements that the loops inside could touch.
  const auto visited = [&](const Movement& all, const AccessModel& access) {
    const IndexSet rest = access.indices() & ~shared.inside();
    if (rest == 0) return all;
    if (visits < 0) visits = visits_below(number, shared);
    return std::isinf(visits) ? all : all.share(std::min(1.0, visits / combinations(rest)));
  };
  // Of blocks that a fiber chooses, those lie one behind the other whose neighbour it chooses too.
  const double jumping = (1 - visited_share) * machine.stream_ahead / machine.stream[1];
  Movement moved;
  for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
    // An intermediate is not stored over the loops that its writer and its reader share.
    if (loop.factors[factor].bytes == 0 || is_made_there(number, factor, shared.range)) continue;
    const Movement read = visited(loop.factors[factor], *statement.factors[factor]);
    moved.bytes += read.bytes;
    moved.stream_ns += read.stream_ns + jumping * read.ahead_ns;
    moved.gather_ns += read.gather_ns;
    moved.beside_ns += read.beside_ns;
    moved.ahead_ns += visited_share * read.ahead_ns;
  }
  if (!leaves(statements_[number], shared.range) || statement.keyed != 0) return moved;
  // Read, added to, written back; beyond the first cache the line that it replaces is written to the cache behind. What is written out adds
  // to registers where a sum is around it, as vectors do.
  const bool sums_around = (statement.indices & shared.outside.indices & ~statement.target->indices()) != 0;
  const bool in_registers = (vector || (loop.written_out && sums_around)) && loop.row_stays;
  Movement written;
  if (writes_sparse(number)) written = write_sparse(shared);
  else if (!in_registers && loop.written.bytes != 0) written = visited(loop.written, *statement.target);
  if (written.bytes == 0) return moved;
  // The block is read and written once for all products that wait.
  if (shared.outside.batch != Batch::none) written = written.share(1 / products_together(shared));
  moved.bytes += 2 * written.bytes;
  // A first cache stores beside what it loads.
  const bool stored_beside = written.stream_ns * machine.stream[0] <= written.bytes;
  moved.stream_ns += (stored_beside ? 1 : 3) * written.stream_ns + 3 * jumping * written.ahead_ns;
  moved.gather_ns += 2 * written.gather_ns;
  moved.beside_ns += written.beside_ns;
  moved.update_ns += written.update_ns;
  moved.ahead_ns += 2 * visited_share * written.ahead_ns;
  return moved;
}

}  // namespace weft
