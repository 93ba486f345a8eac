#include "engine/plan/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/plan/binding.h"
#include "engine/plan/check.h"
#include "engine/plan/lookups.h"
#include "engine/plan/meeting.h"

namespace weft {
namespace {

std::size_t cache_level(const Machine& machine, double bytes) {
  std::size_t level = 0;
  while (level < 3 && bytes > machine.cache_bytes[level]) ++level;
  return level;
}

// The layout of an intermediate follows the loops of its writer, which are not known before they are chosen. The innermost
// should be an index that no sparse operand filters, for its reader runs over it in a vector loop too.
IndexSet contiguous_in(IndexSet modes, IndexSet filtered) { return (modes & ~filtered) != 0 ? modes & ~filtered : modes; }

IndexSet filtered_indices(const Schedule& schedule) {
  IndexSet filtered = 0;
  for (const ScheduledStatement& statement : schedule.statements) {
    for (const ScheduledAccess& factor : statement.factors) {
      const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
      if (tensor.role == TensorRole::operand && has_sparse_level(tensor.format)) filtered |= index_set(factor.indices);
    }
  }
  return filtered;
}

bool is_sparse_intermediate(const Schedule& schedule, std::uint32_t tensor) {
  return schedule.tensors[tensor].role == TensorRole::intermediate && has_sparse_level(schedule.tensors[tensor].format);
}

}  // namespace

double conversion_ns(const OperandFacts& operand, const Machine& machine) {
  return operand.statistics.nnz() * machine.convert_entry + static_cast<double>(operand.bytes) * 2 / machine.stream[3];
}

CostModel::CostModel(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                     const PlanOptions& options, const std::vector<bool>& free, double room)
    : options_(options) {
  for (const Index& index : network.indices) extents_.push_back(static_cast<double>(index.extent));
  // Several assignments number their operands each for themselves.
  if (network.assignments.size() == 1) occurrences_ = occurrences(network, operands);
  if (occurrences_.size() < 2) occurrences_.clear();
  const IndexSet filtered = filtered_indices(schedule);
  for (const ScheduledStatement& scheduled : schedule.statements) {
    Statement statement;
    statement.indices = indices_of(scheduled);
    for (const ScheduledAccess& factor : scheduled.factors) {
      const std::size_t writer = writer_of(schedule, factor.tensor);
      const bool keyed = writer < statements_.size() && statements_[writer].keyed != 0;
      const auto access = keyed ? sparse_factor(schedule, factor, statements_[writer], room, network, operands)
                                : std::make_shared<AccessModel>(factor, schedule.tensors[factor.tensor],
                                                                free[factor.tensor], room, network, operands);
      if (access->sparse()) statement.filtered |= index_set(factor.indices);
      if (writer < statements_.size()) {
        access->set_contiguous(statements_[writer].target->contiguous());
      }
      statement.writers.push_back(writer);
      // A copy for lookups filters as the operand does.
      const bool copied = writer < statements_.size() && is_lookup_copy(schedule, writer);
      const ScheduledTensor& filter = schedule.tensors[copied ? schedule.statements[writer].factors.front().tensor : factor.tensor];
      const auto occurrence = std::ranges::find_if(occurrences_, [&](const Occurrence& one) {
        return filter.role == TensorRole::operand && one.tensor == filter.tensor && one.indices == factor.indices;
      });
      statement.first_bits.push_back(occurrence == occurrences_.end() ? -1 : static_cast<int>(occurrence->first_bit));
      statement.factors.push_back(access);
    }
    const auto target = std::make_shared<AccessModel>(scheduled.target, schedule.tensors[scheduled.target.tensor], false,
                                                      room, network, operands);
    if (schedule.tensors[scheduled.target.tensor].role == TensorRole::intermediate) {
      target->set_contiguous(contiguous_in(index_set(scheduled.target.indices), filtered));
    }
    statement.target = target;
    if (is_sparse_intermediate(schedule, scheduled.target.tensor)) {
      add_sparse_target(schedule, scheduled, network, operands, statement);
    }
    statement.reader = reader_of(schedule, scheduled.target.tensor);
    statement.flops = static_cast<double>(scheduled.factors.size());
    if (std::abs(scheduled.coefficient) != 1) statement.flops += 1;
    if (statement.reader < schedule.statements.size()) {
      Intermediate intermediate;
      intermediate.writer = statements_.size();
      intermediate.reader = statement.reader;
      intermediate.modes = index_set(scheduled.target.indices);
      intermediate.scalar_bytes = statement.target->scalar_bytes();
      for (const ScheduledAccess& other : schedule.statements[statement.reader].factors) {
        if (other.tensor == scheduled.target.tensor) continue;
        intermediate.others_finite = intermediate.others_finite && is_finite(schedule, other.tensor, operands);
      }
      intermediates_.push_back(intermediate);
    }
    statements_.push_back(std::move(statement));
  }
  const ScheduledAccess& written = schedule.statements.back().target;
  if (has_sparse_level(schedule.tensors[written.tensor].format)) {
    const std::size_t last = schedule.statements.size() - 1;
    result_ = std::make_shared<SparseTarget>(schedule, written, estimate_of(schedule, last, network, operands));
  }
}

double CostModel::combinations(IndexSet indices) const {
  double product = 1;
  for (; indices != 0; indices &= indices - 1) product *= extent(static_cast<IndexId>(std::countr_zero(indices)));
  return product;
}

JoinSet CostModel::filtering(std::size_t statement, std::size_t factor, BoundState state) const {
  const int first = statements_[statement].first_bits[factor];
  return first < 0 ? 0 : JoinSet{statements_[statement].factors[factor]->filtering_modes(state)} << first;
}

double CostModel::join_ratio(JoinSet set) const {
  if (set == 0) return 1;
  const auto [found, added] = ratios_.try_emplace(set, 1.0);
  if (!added) return found->second;
  double ratio = 1;
  for (const JoinSet join : joins_in(set, occurrences_)) {
    if (const auto counted = options_.joins.find(join); counted != options_.joins.end()) ratio *= counted->second;
  }
  return ratios_[set] = ratio;
}

std::vector<JoinSet> CostModel::uncounted() const {
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

// Independence (facts.md, "What predicts the time of a loop order"): extents times the density of every access; times
// what counted joins are off.
double CostModel::iterations(IndexSet bound, StatementRange range) const {
  double count = combinations(bound);
  JoinSet filters = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      // What it was made from filters these loops already.
      if (statement.writers[factor] >= range.first && statement.writers[factor] < number) continue;
      const BoundState state = statement.factors[factor]->bound(bound);
      count *= statement.factors[factor]->density(state);
      filters |= filtering(number, factor, state);
    }
  }
  return count * join_ratio(filters);
}

// Distinct combinations of `more` that one statement visits below `bound`: those that its sparse factors let through
// when nothing else is bound, and no more than it has iterations there.
double CostModel::touched(std::size_t statement, IndexSet bound, IndexSet more) const {
  double count = combinations(more);
  for (const auto& factor : statements_[statement].factors) {
    if (!factor->sparse()) continue;
    const double before = factor->density(factor->bound(bound));
    count *= before > 0 ? factor->density(factor->bound(bound | more)) / before : 0;
  }
  return std::min(count, iterations_below(statement, bound));
}

// Iterations of the innermost loop of one statement for one iteration of the loops of `bound`.
double CostModel::iterations_below(std::size_t statement, IndexSet bound) const {
  double count = combinations(statements_[statement].indices & ~bound);
  for (const auto& factor : statements_[statement].factors) {
    if (!factor->sparse()) continue;
    const double before = factor->density(factor->bound(bound));
    count *= before > 0 ? factor->density(factor->bound(statements_[statement].indices)) / before : 0;
  }
  return count;
}

// A block of the array is fetched when an index of it is bound: from the cache that holds the block of the loops
// outside, into the one that holds the smaller block; nothing moves where both are the same cache. The element itself
// is read in the last loop.
CostModel::Movement CostModel::move_dense(std::size_t statement, const AccessModel& access, IndexSet bound,
                                          IndexId index) const {
  if (!contains(access.indices(), index)) return {};
  const Machine& machine = options_.machine;
  const IndexSet inner = access.indices() & ~bound;
  const IndexSet rest = inner & ~one_index(index);
  const double unit = access.scalar_bytes();
  const IndexSet filtered = statements_[statement].filtered;
  // Columns of a row-major array drag whole lines along.
  const double spread = (inner & access.contiguous()) != 0 ? unit : machine.line_bytes;
  const std::size_t from = cache_level(machine, std::min(access.bytes(), combinations(inner) * spread));
  if (rest == 0) {
    const bool streamed = contains(access.contiguous() & ~filtered, index);
    if (streamed) return {unit, unit / machine.stream[from], 0};
    return {machine.line_bytes, 0, machine.gather[from]};
  }
  const double elements = touched(statement, bound | one_index(index), rest);
  double bytes = elements * unit;
  if ((rest & access.contiguous() & ~filtered) == 0) {
    bytes = elements * machine.line_bytes;
    if ((rest & access.contiguous()) != 0) bytes = std::min(bytes, combinations(rest) * unit);
  }
  if (cache_level(machine, bytes) >= from) return {};
  return {bytes, bytes / machine.stream[from], 0};
}

// A vector of the target that fits into the registers stays there during the loops that sum into it; it is read and
// written back where the last of its other modes is bound, element by element where they are not adjacent.
CostModel::Movement CostModel::write_dense(std::size_t statement, IndexSet bound, IndexId index, bool vector) const {
  const Machine& machine = options_.machine;
  const AccessModel& target = *statements_[statement].target;
  const IndexSet inner = target.indices() & ~bound;
  const IndexSet rest = inner & ~one_index(index);
  const auto fits_registers = [&](IndexSet row) { return combinations(row) * target.scalar_bytes() <= machine.register_bytes; };
  if (rest == 0 && vector && fits_registers(inner)) return {};
  const bool one_vector = rest != 0 && (rest & (rest - 1)) == 0 && fits_registers(rest);
  if (!contains(inner, index) || !one_vector) return move_dense(statement, target, bound, index);
  const double elements = combinations(rest);
  const bool adjacent = (rest & target.contiguous()) != 0;
  const double bytes = elements * (adjacent ? target.scalar_bytes() : machine.line_bytes);
  const std::size_t from = cache_level(machine, std::min(target.bytes(), combinations(inner) * target.scalar_bytes()));
  if (!adjacent) return {bytes, 0, elements * machine.gather[from]};
  return {bytes, bytes / machine.stream[from], 0};
}

CostModel::Movement CostModel::move_sparse(std::size_t statement, const AccessModel& access, IndexSet bound,
                                           IndexId index) const {
  const BoundState before = access.bound(bound);
  const BoundState after = access.bound(bound | one_index(index));
  if (before == after) return {};
  const auto bytes_below = [&](BoundState state) {
    const double positions = access.positions(state);
    return positions > 0 ? access.bytes() / std::max(1.0, positions) : 0;
  };
  const std::size_t from = cache_level(options_.machine, bytes_below(before));
  const IndexSet rest = access.indices() & ~(bound | one_index(index));
  if (rest == 0) {
    const double bytes = access.scalar_bytes() + 4;
    return {bytes, bytes / options_.machine.stream[from], 0};
  }
  const double below = access.entries() / std::max(1.0, access.positions(after));
  const double share = below > 0 ? std::min(1.0, touched(statement, bound | one_index(index), rest) / below) : 0;
  const double bytes = bytes_below(after) * share;
  if (cache_level(options_.machine, bytes) >= from) return {};
  return {bytes, bytes / options_.machine.stream[from], 0};
}

bool CostModel::may_be_vector(IndexSet bound, IndexId index, StatementRange range) const {
  if (range.first != range.last) return false;
  const Statement& statement = statements_[range.first];
  const IndexSet inside = bound | one_index(index);
  if (statement.indices != (statement.indices & inside)) return false;
  if (options_.strict_fp && statement.sums(index)) return false;
  if (contains(statement.keyed, index)) return false;
  if (makes_entries() && range.last + 1 == statements_.size() && contains(index_set(result_->order()), index)) return false;
  for (const auto& factor : statement.factors) {
    if (!factor->sparse()) continue;
    bool sparse = false;
    factor->for_each_step(factor->bound(bound), factor->bound(inside),
                          [&](const LevelStep& step) { sparse = sparse || step.sparse; });
    if (sparse) return false;
  }
  return true;
}

LoopEstimate CostModel::loop(IndexSet outer, IndexId index, StatementRange range, const LoopDecision* given) const {
  LoopEstimate estimate;
  const IndexSet bound = result_ == nullptr ? outer : outer & ~drained_loops;
  const IndexSet inside = bound | one_index(index);
  estimate.decision.vector = given != nullptr ? given->vector : may_be_vector(bound, index, range);

  std::vector<Meeter> candidates;
  double met = extent(index);  // iterations before late levels filter
  double late_density = 1;
  double late_ns = 0;
  double tables = 0;
  // What filters outside the loop, and what the first level, or all levels, that it binds add to that.
  JoinSet outside = 0;
  JoinSet added_first = 0;
  JoinSet added = 0;
  std::vector<JoinSet> added_by;  // per candidate
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      const AccessModel& access = *statement.factors[factor];
      if (!access.sparse()) continue;
      if (statement.writers[factor] >= range.first && statement.writers[factor] < number) continue;
      const BoundState before = access.bound(bound);
      const BoundState after = access.bound(inside);
      outside |= filtering(number, factor, before);
      if (before == after) continue;
      const double all = access.density(before) > 0 ? access.density(after) / access.density(before) : 0;
      double direct = 1;
      BoundState first = before;
      access.for_each_step(before, after, [&](const LevelStep& step) {
        if (step.direct) first = step.state;
        if (!step.sparse) {
          tables += 1;
        } else if (step.direct) {
          candidates.push_back({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(factor), true, false},
                                step.length,
                                statement.writers[factor] < number ? table_of(statement.writers[factor], bound) : Table::none});
          added_by.push_back(filtering(number, factor, first));
          direct = extent(index) > 0 ? std::min(1.0, step.length / extent(index)) : 0;
        } else {
          late_ns += search_ns(options_.machine, step.length);
        }
      });
      added_first |= filtering(number, factor, first);
      added |= filtering(number, factor, after);
      met *= direct;
      late_density *= direct > 0 ? all / direct : 0;
    }
  }
  estimate.iterations = met * late_density;
  if (!occurrences_.empty()) {
    const double entered = join_ratio(outside);
    const auto relative = [&](JoinSet more) { return entered > 0 ? join_ratio(outside | more) / entered : 1; };
    for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
      candidates[candidate].length = std::min(extent(index), candidates[candidate].length * relative(added_by[candidate]));
    }
    met = std::min(extent(index), met * relative(added_first));
    estimate.iterations = std::min(met, estimate.iterations * relative(added));
  }

  const Machine& machine = options_.machine;
  // A short vector loop is unrolled: there is no loop to enter.
  const bool unrolled = estimate.decision.vector && extent(index) * sizeof(double) <= machine.register_bytes;
  double ns = unrolled ? 0 : machine.loop_entry;
  if (candidates.empty()) {
    estimate.steps = extent(index);
    if (!estimate.decision.vector) ns += extent(index) * machine.range_step;
  } else {
    double shortest = std::numeric_limits<double>::infinity();
    for (const Meeter& candidate : candidates) shortest = std::min(shortest, candidate.length);
    // Fibers that are often empty, below a dense level: whether the loop runs at all is a branch that is guessed wrong
    // as often as the rarer case comes (Poisson lengths).
    if (shortest < 1) ns += machine.branch_miss * std::min(std::exp(-shortest), 1 - std::exp(-shortest));
    if (bound != 0) ns += machine.fiber_entry * static_cast<double>(candidates.size()) * std::min(1.0, shortest);
    Meeting meeting = given != nullptr ? given_meeting(machine, std::move(candidates), given->parts)
                                       : cheapest_meeting(machine, std::move(candidates));
    estimate.steps = meeting.steps;
    estimate.decision.parts = std::move(meeting.parts);
    ns += meeting.ns;
  }
  estimate.steps += late_ns > 0 ? met : 0;
  ns += met * (late_ns + tables * machine.table_lookup);

  double body = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    Movement moved;
    const auto add = [&moved](const Movement& one, double times) {
      moved.bytes += times * one.bytes;
      moved.stream_ns += times * one.stream_ns;
      moved.gather_ns += times * one.gather_ns;
    };
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      // An intermediate is not stored over the loops that its writer and its reader share.
      if (statement.writers[factor] >= range.first && statement.writers[factor] < number) continue;
      const AccessModel& access = *statement.factors[factor];
      add(access.sparse() ? move_sparse(number, access, bound, index) : move_dense(number, access, bound, index), 1);
    }
    // Read, added to, written back; beyond the first cache the line that it replaces is written to the cache behind.
    if (statement.reader == statements_.size() || statement.reader > range.last) {
      const bool sparse = result_ != nullptr && number + 1 == statements_.size();
      const Movement written = statement.keyed != 0 ? Movement{} : sparse ? write_sparse(number, bound, index, outer != bound)
                                      : write_dense(number, bound, index, estimate.decision.vector);
      add(written, 2);
      if (written.stream_ns * machine.stream[0] > written.bytes) moved.stream_ns += written.stream_ns;
    }
    estimate.bytes += moved.bytes * estimate.iterations;
    // What streams does so beside the arithmetic; what is gathered keeps it waiting.
    double arithmetic = 0;
    if ((statement.indices & ~inside) == 0 && contains(statement.indices, index)) {
      estimate.flops += statement.flops * estimate.iterations;
      arithmetic = estimate.decision.vector ? vector_ns(number, index) / std::max(1.0, extent(index)) : scalar_body(number);
    }
    body += std::max(arithmetic, moved.stream_ns) + moved.gather_ns;
  }
  estimate.ns = ns + estimate.iterations * body;
  return estimate;
}

// One pass of a vector loop over the whole extent; the last vector is computed whole.
double CostModel::vector_ns(std::size_t statement, IndexId index) const {
  const Machine& machine = options_.machine;
  const double lanes = machine.line_bytes / statements_[statement].target->scalar_bytes();
  const double computed = std::ceil(extent(index) / lanes) * lanes;
  const double sum = statements_[statement].sums(index) ? machine.vector_sum : 0;
  return statements_[statement].flops * computed * machine.vector_flop + sum;
}

double CostModel::scalar_body(std::size_t statement) const {
  return options_.machine.scalar_body + options_.machine.scalar_factor * static_cast<double>(statements_[statement].factors.size());
}

double CostModel::crossing(IndexSet outer, StatementRange writers, std::size_t last) const {
  double ns = 0;
  const IndexSet shared = result_ == nullptr ? outer : outer & ~drained_loops;
  for (const Intermediate& intermediate : intermediates_) {
    const bool written = intermediate.writer >= writers.first && intermediate.writer <= writers.last;
    if (!written || intermediate.reader <= writers.last || intermediate.reader > last) continue;
    if (is_keyed(intermediate.writer, shared)) {
      const KeyedPrice price = workspace(intermediate.writer, shared);
      const double copies = shared == 0 ? 1 : options_.machine.threads;
      if (price.bytes * copies > static_cast<double>(options_.memory_limit)) return std::numeric_limits<double>::infinity();
      ns += price.ns;
      continue;
    }
    const bool harmless = intermediate.others_finite && (!makes_entries() || (intermediate.modes & ~shared) == 0);
    if (!harmless && !provably_present(intermediate, shared, writers)) return std::numeric_limits<double>::infinity();
    const double bytes = combinations(intermediate.modes & ~shared) * intermediate.scalar_bytes;
    const double copies = shared == 0 ? 1 : options_.machine.threads;
    if (bytes * copies > static_cast<double>(options_.memory_limit)) return std::numeric_limits<double>::infinity();
    // One vector starts as zeros in registers; anything else is cleared in memory.
    const IndexSet stored = intermediate.modes & ~shared;
    const bool in_registers = (stored & (stored - 1)) == 0 && bytes <= options_.machine.register_bytes;
    if (!in_registers) ns += options_.machine.reset_entry + bytes / options_.machine.stream[cache_level(options_.machine, bytes)];
  }
  return ns;
}

double CostModel::clearing(StatementRange range) const {
  double ns = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    if (statement.reader < statements_.size()) continue;
    if (result_ != nullptr) {
      ns += result_->finishing_ns(options_.machine);
      continue;
    }
    const double bytes = statement.target->bytes();
    ns += bytes / options_.machine.stream[cache_level(options_.machine, bytes)];
  }
  return ns;
}

RootEstimate CostModel::root(IndexId index, StatementRange range, double iterations, double work,
                             const RootReduction* given) const {
  const double count = std::max(1.0, iterations);
  double share = std::max(1.0 / options_.machine.threads, std::ceil(count / options_.machine.threads) / count);
  for (std::size_t number = range.first; number <= range.last; ++number) {
    for (const auto& factor : statements_[number].factors) share = std::max(share, factor->largest_share(index));
  }
  const double cleared = clearing(range);
  const double owned = work * share + cleared / options_.machine.threads + options_.machine.start_parallel;
  const double bytes = leaving_bytes(range);
  // Each thread clears its copy; then all threads add up the copies of a part each.
  const double copies = 3 * bytes / options_.machine.stream[cache_level(options_.machine, bytes * options_.machine.threads)];
  const auto time = [&](RootReduction reduction) {
    switch (reduction) {
      case RootReduction::owner: return owned;
      case RootReduction::private_copies: return owned + copies;
      case RootReduction::serial: break;
    }
    return work + cleared + options_.machine.start_serial;
  };
  if (given != nullptr) return {*given, time(*given)};
  RootEstimate best{RootReduction::serial, time(RootReduction::serial)};
  const bool own = may_own(index, range);
  const bool private_allowed = !own && !options_.strict_fp && !appends(range) &&
                               bytes * 2 <= static_cast<double>(options_.memory_limit);
  const RootReduction reduction = own ? RootReduction::owner : RootReduction::private_copies;
  if ((own || private_allowed) && time(reduction) < best.ns) best = {reduction, time(reduction)};
  return best;
}

}  // namespace weft
