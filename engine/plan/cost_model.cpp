#include "engine/plan/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/plan/binding.h"
#include "engine/plan/check.h"

namespace weft {
namespace {

std::size_t cache_level(const Machine& machine, double bytes) {
  std::size_t level = 0;
  while (level < 3 && bytes > machine.cache_bytes[level]) ++level;
  return level;
}

double search_ns(const Machine& machine, double length) {
  return machine.search_base + machine.search_halving * std::log2(std::max(1.0, length));
}

double gallop_ns(const Machine& machine, double length, double lookups) {
  return machine.gallop_base + machine.gallop_doubling * std::log2(1 + std::max(1.0, length / std::max(1.0, lookups)));
}

// A sparse access that can drive the loop.
struct Meeter {
  Intersection::Part part;
  double length = 0;
};

struct Meeting {
  double steps = 0;
  double ns = 0;
  std::vector<Intersection::Part> parts;
};

// Two fingers advance through every fiber until the shortest ends.
Meeting merge_all(const Machine& machine, const std::vector<Meeter>& candidates) {
  Meeting meeting;
  for (const Meeter& candidate : candidates) meeting.steps += candidate.length;
  meeting.ns = meeting.steps * (candidates.size() == 1 ? machine.drive_step : machine.merge_step);
  return meeting;
}

// Drivers are merged; what they have in common, at most the shortest of them, is looked up in the others.
Meeting price(const Machine& machine, const std::vector<Meeter>& candidates) {
  Meeting meeting;
  std::size_t drivers = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Meeter& candidate : candidates) {
    if (!candidate.part.drive) continue;
    ++drivers;
    meeting.steps += candidate.length;
    shortest = std::min(shortest, candidate.length);
  }
  meeting.ns = meeting.steps * (drivers == 1 ? machine.drive_step : machine.merge_step);
  for (const Meeter& candidate : candidates) {
    meeting.parts.push_back(candidate.part);
    if (candidate.part.drive) continue;
    meeting.steps += shortest;
    meeting.ns += shortest * (candidate.part.gallop ? gallop_ns(machine, candidate.length, shortest) : search_ns(machine, candidate.length));
  }
  return meeting;
}

// The shortest fiber drives and the others are looked up, unless two fingers are cheaper.
Meeting cheapest_meeting(const Machine& machine, std::vector<Meeter> candidates) {
  const Meeting merged = merge_all(machine, candidates);
  if (candidates.size() < 2) return merged;
  std::size_t shortest = 0;
  for (std::size_t number = 1; number < candidates.size(); ++number) {
    if (candidates[number].length < candidates[shortest].length) shortest = number;
  }
  for (std::size_t number = 0; number < candidates.size(); ++number) {
    Intersection::Part& part = candidates[number].part;
    part.drive = number == shortest;
    part.gallop = number != shortest && gallop_ns(machine, candidates[number].length, candidates[shortest].length) <
                                            search_ns(machine, candidates[number].length);
  }
  const Meeting looked_up = price(machine, candidates);
  return looked_up.ns < merged.ns ? looked_up : merged;
}

Meeting given_meeting(const Machine& machine, std::vector<Meeter> candidates, const std::vector<Intersection::Part>& parts) {
  if (parts.empty() || candidates.size() < 2) return merge_all(machine, candidates);
  for (Meeter& candidate : candidates) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Intersection::Part& part) {
      return part.statement == candidate.part.statement && part.factor == candidate.part.factor;
    });
    if (found != parts.end()) candidate.part = *found;
  }
  return price(machine, candidates);
}

}  // namespace

double conversion_ns(const OperandFacts& operand, const Machine& machine) {
  return operand.statistics.nnz() * machine.convert_entry + static_cast<double>(operand.bytes) * 2 / machine.stream[3];
}

CostModel::CostModel(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                     const PlanOptions& options, const std::vector<bool>& free, double room)
    : options_(options) {
  for (const Index& index : network.indices) extents_.push_back(static_cast<double>(index.extent));
  for (const ScheduledStatement& scheduled : schedule.statements) {
    Statement statement;
    statement.indices = indices_of(scheduled);
    for (const ScheduledAccess& factor : scheduled.factors) {
      statement.factors.push_back(std::make_shared<const AccessModel>(factor, schedule.tensors[factor.tensor],
                                                                      free[factor.tensor], room, network, operands));
      if (statement.factors.back()->sparse()) statement.filtered |= index_set(factor.indices);
      statement.writers.push_back(writer_of(schedule, factor.tensor));
    }
    statement.target = std::make_shared<const AccessModel>(scheduled.target, schedule.tensors[scheduled.target.tensor],
                                                           false, room, network, operands);
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
}

double CostModel::combinations(IndexSet indices) const {
  double product = 1;
  for (; indices != 0; indices &= indices - 1) product *= extent(static_cast<IndexId>(std::countr_zero(indices)));
  return product;
}

// Independence (facts.md, "What predicts the time of a loop order"): extents times the density of every access.
double CostModel::iterations(IndexSet bound, StatementRange range) const {
  double count = combinations(bound);
  for (std::size_t number = range.first; number <= range.last; ++number) {
    for (const auto& factor : statements_[number].factors) count *= factor->density(factor->bound(bound));
  }
  return count;
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
  const IndexSet inner = access.indices() & ~bound;
  const IndexSet rest = inner & ~one_index(index);
  const double unit = access.scalar_bytes();
  const IndexSet filtered = statements_[statement].filtered;
  // Columns of a row-major array drag whole lines along.
  const double spread = (inner & access.contiguous()) != 0 ? unit : options_.machine.line_bytes;
  const std::size_t from = cache_level(options_.machine, std::min(access.bytes(), combinations(inner) * spread));
  if (rest == 0) {
    const bool streamed = contains(access.contiguous() & ~filtered, index);
    if (streamed) return {unit, unit / options_.machine.stream[from]};
    return {options_.machine.line_bytes, options_.machine.gather[from]};
  }
  const double elements = touched(statement, bound | one_index(index), rest);
  double bytes = elements * unit;
  if ((rest & access.contiguous() & ~filtered) == 0) {
    bytes = elements * options_.machine.line_bytes;
    if ((rest & access.contiguous()) != 0) bytes = std::min(bytes, combinations(rest) * unit);
  }
  if (cache_level(options_.machine, bytes) >= from) return {};
  return {bytes, bytes / options_.machine.stream[from]};
}

// A vector of the target that fits into the registers stays there during the loops that sum into it; it is read and
// written back where the last of its other modes is bound.
CostModel::Movement CostModel::write_dense(std::size_t statement, IndexSet bound, IndexId index, bool vector) const {
  const AccessModel& target = *statements_[statement].target;
  const IndexSet inner = target.indices() & ~bound;
  const IndexSet rest = inner & ~one_index(index);
  const auto fits_registers = [&](IndexSet row) { return combinations(row) * target.scalar_bytes() <= options_.machine.register_bytes; };
  if (rest == 0 && vector && fits_registers(inner)) return {};
  const bool one_vector = rest != 0 && (rest & (rest - 1)) == 0 && fits_registers(rest);
  if (!contains(inner, index) || !one_vector) return move_dense(statement, target, bound, index);
  const double bytes = combinations(rest) * target.scalar_bytes();
  const std::size_t from = cache_level(options_.machine, std::min(target.bytes(), combinations(inner) * target.scalar_bytes()));
  return {bytes, bytes / options_.machine.stream[from]};
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
    return {bytes, bytes / options_.machine.stream[from]};
  }
  const double below = access.entries() / std::max(1.0, access.positions(after));
  const double share = below > 0 ? std::min(1.0, touched(statement, bound | one_index(index), rest) / below) : 0;
  const double bytes = bytes_below(after) * share;
  if (cache_level(options_.machine, bytes) >= from) return {};
  return {bytes, bytes / options_.machine.stream[from]};
}

bool CostModel::may_be_vector(IndexSet bound, IndexId index, StatementRange range) const {
  if (range.first != range.last) return false;
  const Statement& statement = statements_[range.first];
  const IndexSet inside = bound | one_index(index);
  if (statement.indices != (statement.indices & inside)) return false;
  if (options_.strict_fp && statement.sums(index)) return false;
  for (const auto& factor : statement.factors) {
    if (!factor->sparse()) continue;
    bool sparse = false;
    factor->for_each_step(factor->bound(bound), factor->bound(inside),
                          [&](const LevelStep& step) { sparse = sparse || step.sparse; });
    if (sparse) return false;
  }
  return true;
}

LoopEstimate CostModel::loop(IndexSet bound, IndexId index, StatementRange range, const LoopDecision* given) const {
  LoopEstimate estimate;
  const IndexSet inside = bound | one_index(index);
  estimate.decision.vector = given != nullptr ? given->vector : may_be_vector(bound, index, range);

  std::vector<Meeter> candidates;
  double met = extent(index);  // iterations before late levels filter
  double late_density = 1;
  double late_ns = 0;
  double tables = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      const AccessModel& access = *statement.factors[factor];
      if (!access.sparse()) continue;
      const BoundState before = access.bound(bound);
      const BoundState after = access.bound(inside);
      if (before == after) continue;
      const double all = access.density(before) > 0 ? access.density(after) / access.density(before) : 0;
      double direct = 1;
      access.for_each_step(before, after, [&](const LevelStep& step) {
        if (!step.sparse) {
          tables += 1;
        } else if (step.direct) {
          candidates.push_back({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(factor), true, false},
                                step.length});
          direct = extent(index) > 0 ? std::min(1.0, step.length / extent(index)) : 0;
        } else {
          late_ns += search_ns(options_.machine, step.length);
        }
      });
      met *= direct;
      late_density *= direct > 0 ? all / direct : 0;
    }
  }
  estimate.iterations = met * late_density;

  // A short vector loop is unrolled: there is no loop to enter.
  const bool unrolled = estimate.decision.vector && extent(index) * sizeof(double) <= options_.machine.register_bytes;
  double ns = unrolled ? 0 : options_.machine.loop_entry;
  if (candidates.empty()) {
    estimate.steps = extent(index);
    if (!estimate.decision.vector) ns += extent(index) * options_.machine.range_step;
  } else {
    double shortest = std::numeric_limits<double>::infinity();
    for (const Meeter& candidate : candidates) shortest = std::min(shortest, candidate.length);
    // Fibers that are often empty, below a dense level: whether the loop runs at all is a branch that is guessed wrong
    // as often as the rarer case comes (Poisson lengths).
    if (shortest < 1) ns += options_.machine.branch_miss * std::min(std::exp(-shortest), 1 - std::exp(-shortest));
    Meeting meeting = given != nullptr ? given_meeting(options_.machine, std::move(candidates), given->parts)
                                       : cheapest_meeting(options_.machine, std::move(candidates));
    estimate.steps = meeting.steps;
    estimate.decision.parts = std::move(meeting.parts);
    ns += meeting.ns;
  }
  estimate.steps += late_ns > 0 ? met : 0;
  ns += met * (late_ns + tables * options_.machine.table_lookup);

  double body = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    Movement moved;
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      // An intermediate is not stored over the loops that its writer and its reader share.
      if (statement.writers[factor] >= range.first && statement.writers[factor] < number) continue;
      const AccessModel& access = *statement.factors[factor];
      const Movement one = access.sparse() ? move_sparse(number, access, bound, index)
                                           : move_dense(number, access, bound, index);
      moved.bytes += one.bytes;
      moved.ns += one.ns;
    }
    if (statement.reader == statements_.size() || statement.reader > range.last) {
      const Movement written = write_dense(number, bound, index, estimate.decision.vector);
      moved.bytes += 2 * written.bytes;  // read, added to, written back
      moved.ns += 3 * written.ns;        // and the line that it replaces is written to the cache behind
    }
    estimate.bytes += moved.bytes * estimate.iterations;
    body += moved.ns;
    if ((statement.indices & ~inside) != 0 || !contains(statement.indices, index)) continue;
    estimate.flops += statement.flops * estimate.iterations;
    body += estimate.decision.vector
                ? statement.flops * options_.machine.vector_flop
                : options_.machine.scalar_body + options_.machine.scalar_factor * static_cast<double>(statement.factors.size());
  }
  estimate.ns = ns + estimate.iterations * body;
  return estimate;
}

double CostModel::scalar_body(std::size_t statement) const {
  return options_.machine.scalar_body + options_.machine.scalar_factor * static_cast<double>(statements_[statement].factors.size());
}

double CostModel::crossing(IndexSet shared, StatementRange writers, std::size_t last) const {
  double ns = 0;
  for (const Intermediate& intermediate : intermediates_) {
    const bool written = intermediate.writer >= writers.first && intermediate.writer <= writers.last;
    if (!written || intermediate.reader <= writers.last || intermediate.reader > last) continue;
    if (!intermediate.others_finite && !provably_present(intermediate, shared, writers)) {
      return std::numeric_limits<double>::infinity();
    }
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

RootEstimate CostModel::root(IndexId index, StatementRange range, double iterations, double work,
                             const RootReduction* given) const {
  const double count = std::max(1.0, iterations);
  double share = std::max(1.0 / options_.machine.threads, std::ceil(count / options_.machine.threads) / count);
  for (std::size_t number = range.first; number <= range.last; ++number) {
    for (const auto& factor : statements_[number].factors) share = std::max(share, factor->largest_share(index));
  }
  const double owned = work * share + options_.machine.start_parallel;
  const double bytes = leaving_bytes(range);
  // Each thread clears its copy; then all threads add up the copies of a part each.
  const double copies = 3 * bytes / options_.machine.stream[cache_level(options_.machine, bytes * options_.machine.threads)];
  const auto time = [&](RootReduction reduction) {
    switch (reduction) {
      case RootReduction::owner: return owned;
      case RootReduction::private_copies: return owned + copies;
      case RootReduction::serial: break;
    }
    return work + options_.machine.start_serial;
  };
  if (given != nullptr) return {*given, time(*given)};
  RootEstimate best{RootReduction::serial, time(RootReduction::serial)};
  const bool own = may_own(index, range);
  const bool private_allowed = !own && !options_.strict_fp &&
                               bytes * 2 <= static_cast<double>(options_.memory_limit);
  const RootReduction reduction = own ? RootReduction::owner : RootReduction::private_copies;
  if ((own || private_allowed) && time(reduction) < best.ns) best = {reduction, time(reduction)};
  return best;
}

}  // namespace weft
