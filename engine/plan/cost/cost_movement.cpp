// What the statements that share a loop move there: only what they do not keep among themselves, and only where they run.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/plan/cost/cost_model.h"

namespace weft {

// How often a statement that has no sparse factor itself runs for one iteration of a loop that it shares with all that its
// intermediates are made from: where these run. Infinite for others.
double CostModel::visits_below(std::size_t statement, IndexSet inside, StatementRange range) const {
  const StatementModels::Statement& model = *statements_[statement].model;
  const std::vector<std::size_t>& makers = flow_->statements[statement].makers;
  if (model.filtered != 0 || makers.empty() || makers.front() < range.first) return std::numeric_limits<double>::infinity();
  double visits = combinations(model.indices & ~inside);
  for (const std::size_t maker : makers) {
    const double before = models_->density(statements_[maker].number, inside);
    if (before > 0) visits *= models_->density(statements_[maker].number, inside | model.indices) / before;
  }
  return visits;
}

// Loop-exit mispredicts of fibers inside the loop: no more than another statement lets through of the loops over them,
// which it shares where it filters more.
double CostModel::ends_inside(std::size_t statement, const StatementLoop& loop, IndexSet inside, StatementRange range) const {
  const auto let_through = [&](std::size_t number, IndexSet more) {
    const double before = models_->fill(statements_[number].number, inside);
    return before > 0 ? models_->fill(statements_[number].number, inside | more) / before : 0;
  };
  double ns = 0;
  for (const AdvancedAccess& access : loop.advanced) {
    double reached = 1;
    for (std::size_t other = range.first; other <= range.last && access.ends_inside_ns > 0; ++other) {
      const IndexSet shared = access.open & statements_[other].model->filtered;
      if (other == statement || shared == 0) continue;
      const double own = let_through(statement, shared);
      if (own > 0) reached = std::min(reached, let_through(other, shared) / own);
    }
    ns += access.ends_inside_ns * reached;
  }
  return ns;
}

Movement CostModel::movement(std::size_t number, const StatementLoop& loop, Outside outside, IndexId index, StatementRange range,
                             bool vector, double visited_share) const {
  const Machine& machine = options_.machine;
  const StatementModels::Statement& statement = *statements_[number].model;
  const std::vector<std::size_t>& writers = statements_[number].flow->writers;
  const IndexSet bound = outside.indices;
  const IndexSet inside = bound | one_index(index);
  // Negative before it is asked for, which most loops do not.
  double visits = -1;
  // The part of the elements that the loops inside could touch.
  const auto visited = [&](const Movement& all, const AccessModel& access) {
    const IndexSet rest = access.indices() & ~inside;
    if (rest == 0) return all;
    if (visits < 0) visits = visits_below(number, inside, range);
    return std::isinf(visits) ? all : all.share(std::min(1.0, visits / combinations(rest)));
  };
  // Of blocks that a fiber chooses, those lie one behind the other whose neighbour it chooses too.
  const double jumping = (1 - visited_share) * machine.stream_ahead / machine.stream[1];
  Movement moved;
  for (std::size_t factor = 0; factor < writers.size(); ++factor) {
    // An intermediate is not stored over the loops that its writer and its reader share.
    if (writers[factor] >= range.first && writers[factor] < number) continue;
    if (loop.factors[factor].bytes == 0) continue;
    const Movement read = visited(loop.factors[factor], *statement.factors[factor]);
    moved.bytes += read.bytes;
    moved.stream_ns += read.stream_ns + jumping * read.ahead_ns;
    moved.gather_ns += read.gather_ns;
    moved.beside_ns += read.beside_ns;
    moved.ahead_ns += visited_share * read.ahead_ns;
  }
  if (!leaves(number, range)) return moved;
  // Read, added to, written back; beyond the first cache the line that it replaces is written to the cache behind.
  const bool sparse = result_ != nullptr && number + 1 == statements_.size();
  // What is written out adds to registers where a sum is around it, as vectors do.
  const bool sums_around = (statement.indices & bound & ~statement.target->indices()) != 0;
  Movement written = statement.keyed != 0 ? Movement{}
                           : sparse ? write_sparse(number, bound, index, outside.gathers)
                           : (vector || (loop.written_out && sums_around)) && loop.row_stays ? Movement{}
                           : loop.written.bytes == 0  ? Movement{}
                                                      : visited(loop.written, *statement.target);
  if (written.bytes == 0) return moved;
  // The block is read and written once for all products that wait.
  if (outside.batch != Batch::none) written = written.share(1 / products_together(outside, index, range));
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
