#include "engine/plan/cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/network/code_forms.h"
#include "engine/plan/cost/batch_size.h"
#include "engine/plan/cost/conversion.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "runtime/dense_levels.h"

namespace weft {

namespace {

constexpr double walk_share = 0.5;  // of steps, gathers and arithmetic, where entries of a walk are summed

JoinSet whole(const StatementModels::Statement::FilteringModes& modes) {
  JoinSet set = 0;
  for (const auto& [bit, index] : modes) set |= bit;
  return set;
}

// What rows and lines take beyond the loops inside, while which they come.
double exceeding(const StatementLoop& loop, const Movement& moved) {
  const double least = std::max(loop.inside_stream_ns, loop.inside_vector_ns);
  return std::max({loop.inside_stream_ns + moved.beside_ns, loop.inside_vector_ns, moved.ahead_ns}) - least;
}

// Of a right matrix whose columns are copied as rows: 256 x 256 x 256 takes 595 us, 590 with rows that lie together.
constexpr double transposed_element = 0.08;

// The index of the operand's first level that the result does not share with it.
std::optional<IndexId> behind_shared_levels(const Contractions& contractions, const ContractedTensor& result) {
  if (!result.like) return std::nullopt;
  const std::size_t shared = appended_levels(result.layout.levels);
  for (const Contraction& step : contractions.steps) {
    const auto lender = std::ranges::find(step.factors, *result.like, &ScheduledAccess::tensor);
    if (lender == step.factors.end() || shared >= lender->indices.size()) continue;
    return lender->indices[contractions.tensors[*result.like].mode(shared)];
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const SparseTarget> sparse_target(const Contractions& contractions, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const ScheduledAccess& written = contractions.steps.back().target;
  const ContractedTensor& result = contractions.tensors[written.tensor];
  if (!result.sparse()) return nullptr;
  ProductEstimate product = estimate_of(contractions, contractions.steps.size() - 1, network, operands, options.joins, options.entries);
  return std::make_shared<const SparseTarget>(result, written.indices, std::move(product), behind_shared_levels(contractions, result));
}

StatementFlow StatementFlow::of(const Contractions& contractions, const std::vector<OperandFacts>& operands) {
  StatementFlow flow;
  flow.statements.reserve(contractions.steps.size());
  flow.intermediates.reserve(contractions.steps.size());
  // The tensors on the way from the operand whose positions the result has.
  std::set<std::uint32_t> carrying;
  if (const auto lender = result_of(contractions).like) carrying.insert(*lender);
  for (std::size_t number = 0; number < contractions.steps.size(); ++number) {
    const Contraction& step = contractions.steps[number];
    Statement statement;
    const bool carries = std::ranges::any_of(step.factors, [&](const ScheduledAccess& factor) { return carrying.contains(factor.tensor); });
    if (carries) carrying.insert(step.target.tensor);
    statement.reader = reader_of(contractions, step.target.tensor);
    statement.writers.reserve(step.factors.size());
    for (const ScheduledAccess& factor : step.factors) {
      statement.writers.push_back(writer_of(contractions, factor.tensor));
      if (statement.writers.back() >= number) continue;
      const std::vector<std::size_t>& inner = flow.statements[statement.writers.back()].makers;
      statement.makers.insert(statement.makers.end(), inner.begin(), inner.end());
      statement.makers.push_back(statement.writers.back());
    }
    std::ranges::sort(statement.makers);
    if (statement.reader < contractions.steps.size()) {
      const auto is_harmless = [&](const ScheduledAccess& other) {
        return other.tensor == step.target.tensor || is_finite(contractions, other.tensor, operands);
      };
      flow.intermediates.push_back({.writer = number,
                                    .reader = statement.reader,
                                    .modes = index_set(step.target.indices),
                                    .scalar_bytes = static_cast<double>(scalar_bytes(contractions.tensors[step.target.tensor].scalar)),
                                    .others_finite = std::ranges::all_of(contractions.steps[statement.reader].factors, is_harmless),
                                    .carries_pattern = carries});
    }
    flow.statements.push_back(std::move(statement));
  }
  // A tensor computed from it may annihilate further on.
  for (auto intermediate = flow.intermediates.rbegin(); intermediate != flow.intermediates.rend(); ++intermediate) {
    for (const Intermediate& next : flow.intermediates) {
      if (next.writer == intermediate->reader) intermediate->others_finite = intermediate->others_finite && next.others_finite;
    }
  }
  return flow;
}

CostModel::CostModel(const Contractions& contractions, const Problem& problem, const AccessPaths& paths)
    : options_(problem.options),
      models_(std::make_shared<StatementModels>(problem)),
      flow_(std::make_shared<const StatementFlow>(StatementFlow::of(contractions, problem.operands))),
      result_(sparse_target(contractions, problem)) {
  for (std::size_t number = 0; number < contractions.steps.size(); ++number) {
    std::vector<std::uint32_t> earlier;
    for (const Placed& statement : statements_) earlier.push_back(statement.number);
    place(models_->add(contractions, number, earlier, paths));
  }
}

CostModel::CostModel(std::shared_ptr<const StatementFlow> flow, std::shared_ptr<const SparseTarget> result,
                     std::shared_ptr<StatementModels> models, const std::vector<std::uint32_t>& numbers)
    : options_(models->options()), models_(std::move(models)), flow_(std::move(flow)), result_(std::move(result)) {
  statements_.reserve(numbers.size());
  for (const std::uint32_t number : numbers) place(number);
}

void CostModel::place(std::uint32_t number) {
  statements_.push_back({&models_->statement(number), &flow_->statements[statements_.size()], number});
  ordered_ = ordered_ || !statements_.back().model->compressed.empty();
}

// Independence (facts.md, "What predicts the time of a loop order"): extents times the density of every access; times
// what counted joins are off.
double CostModel::iterations(IndexSet bound, StatementRange range) const {
  double count = combinations(bound);
  JoinSet filters = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const auto& factors = statements_[number].model->factors;
    for (std::size_t factor = 0; factor < factors.size(); ++factor) {
      if (is_made_there(number, factor, range)) continue;
      const BoundState state = factors[factor]->bound(bound);
      count *= factors[factor]->density(state);
      if (const double before = models_->any_repeats() ? let_through_before(number, factor, bound, range) : 1; before > 0) count /= before;
      filters |= models_->filtering(statements_[number].number, factor, state, bound);
    }
  }
  return count * models_->join_ratio(filters);
}

// Of what a factor lets through, what those in front of it in these statements do (StatementModels::let_through_before).
double CostModel::let_through_before(std::size_t statement, std::size_t factor, IndexSet bound, StatementRange range) const {
  const StatementModels::Statement& own = *statements_[statement].model;
  double density = 1;
  for (std::size_t number = range.first; number <= statement; ++number) {
    const StatementModels::Statement& beside = *statements_[number].model;
    const std::size_t before = number < statement ? beside.factors.size() : factor;
    density = std::min(density, StatementModels::let_through_before(own, factor, beside, before, bound));
  }
  return density;
}

// An entry of a sparse intermediate is where all that it is made from meets, whatever was summed: from the first of its
// modes on that its writer's filters restrict and that is not bound outside of both its writer and its reader, where
// those filters are among others'.
JoinSet CostModel::stored_joins(std::size_t statement, IndexSet bound, StatementRange range, JoinSet others) const {
  const StatementModels::Statement& model = *statements_[statement].model;
  JoinSet met = 0;
  for (std::size_t factor = 0; factor < model.factors.size(); ++factor) {
    const StatementModels::Statement::Factor& read = model.factors[factor];
    if (read.made_of.empty() || is_made_there(statement, factor, range)) continue;
    const Placed& writer = statements_[statements_[statement].flow->writers[factor]];
    JoinSet restricting = models_->filters(writer.number, bound);
    for (const auto& inner : writer.model->factors) restricting |= whole(inner.made_of);
    IndexSet restricted = 0;
    IndexSet shared = 0;
    for (const auto& [bit, index] : read.made_of) {
      if ((restricting & bit) != 0) restricted |= one_index(index);
      if ((others & bit) != 0) shared |= one_index(index);
    }
    if ((read->indices() & bound & restricted & ~shared) != 0) met |= whole(read.made_of);
  }
  return met;
}

JoinSet CostModel::filters(IndexSet bound, StatementRange range) const {
  JoinSet found = 0;
  for (const Placed& statement : placed(range)) found |= models_->filters(statement.number, bound);
  return found;
}

JoinSet CostModel::others(const Schedule& schedule, StatementRange range) const {
  if (!models_->any_joins()) return 0;
  JoinSet found = 0;
  for (std::size_t number = 0; number < statements_.size(); ++number) {
    if (range.contains(number)) continue;
    const IndexSet shared = shared_indices(schedule, std::min(number, range.first), std::max(number, range.first));
    found |= filters(shared, {number, number});
  }
  return found;
}

JoinSet CostModel::joined_with(JoinSet others, StatementRange range) const {
  IndexSet indices = 0;
  for (const Placed& statement : placed(range)) indices |= statement.model->filtered;
  return models_->joined_with(others, indices);
}

LoopEstimate CostModel::loop(Outside outside, IndexId index, StatementRange range, JoinSet others,
                             const LoopDecision* given) const {
  LoopEstimate estimate;
  static_cast<LoopPrice&>(estimate) = priced({outside, index, range}, others, given, &estimate);
  return estimate;
}

CostModel::Advance CostModel::advance(const PricedLoop& shared, JoinSet others) const {
  const auto& [outside, index, range] = shared;
  auto& [loops, participants, participant_filters] = models_->pricing();
  loops.clear();
  participants.clear();
  participant_filters.clear();
  const IndexSet bound = outside.indices;
  // An entry of the result is appended inside, in the order of this loop.
  const bool ordered = makes_entries(range.last) && !outside.gathers && (index_set(result_->order()) & ~bound) != 0 &&
                       !result_->departs(bound, index);
  Advance all;
  all.met = extent(index);
  all.outside = others;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const StatementModels::Statement& statement = *statements_[number].model;
    const StatementLoop& loop = models_->loop(statements_[number].number, bound, index, !shared.alone());
    loops.push_back(&loop);
    const JoinSet stored = statement.reads_stored ? stored_joins(number, bound, range, others) : 0;
    all.outside |= loop.outside | stored;
    for (const AdvancedAccess& access : loop.advanced) {
      if (is_made_there(number, access.factor, range)) continue;
      if (access.drives) {
        all.only_driver = participants.empty() ? &access : nullptr;
        participants.push_back({{static_cast<std::uint32_t>(number), access.factor, true, false},
                                access.length,
                                access.table,
                                probe_ns(access.kind),
                                access.table == Table::none || has_bits(access.kind),
                                gaps_ns(options_.machine, access.kind, access.length, extent(index), ordered) +
                                    (access.run > 0 ? run_end_ns(access.run) * access.length : 0)});
        participant_filters.push_back(access.first);
        all.ends += access.ends;
      }
      all.met *= access.direct;
      all.late_density *= access.late_density;
      if (models_->any_repeats()) {
        const double with = let_through_before(number, access.factor, shared.inside(), range);
        if (with > 0) all.met = std::min(extent(index), all.met * let_through_before(number, access.factor, bound, range) / with);
      }
      all.late_ns += access.late_ns;
      all.tables += access.tables;
      all.added_first |= access.first;
      all.added |= access.all;
      if (statement.reads_stored) {
        const JoinSet made_of = whole(statement.factors[access.factor].made_of);
        // How often that meets is in the intermediate's own figures; by how much it is off with all that filters here, they are not.
        const double counted = (made_of & ~stored) != 0 ? models_->join_ratio(made_of) : 1;
        if (access.drives) participant_filters.back() |= made_of;
        if (access.drives && counted > 0) participants.back().length /= counted;
        if (counted > 0) all.met /= counted;
        all.added_first |= made_of;
        all.added |= made_of;
      }
    }
  }
  all.iterations = all.met * all.late_density;
  if (models_->any_joins()) correct_by_joins(all, index);
  return all;
}

void CostModel::correct_by_joins(Advance& all, IndexId index) const {
  auto& [loops, participants, participant_filters] = models_->pricing();
  const double entered = models_->join_ratio(all.outside);
  const auto relative = [&](JoinSet more) { return entered > 0 ? models_->join_ratio(all.outside | more) / entered : 1; };
  for (std::size_t number = 0; number < participants.size(); ++number) {
    participants[number].length = std::min(extent(index), participants[number].length * relative(participant_filters[number]));
  }
  all.met = std::min(extent(index), all.met * relative(all.added_first));
  // Nor more than the fibers that drive have: the count of a stored intermediate is that of the terms summed into it.
  for (const Participant& participant : participants) all.met = std::min(all.met, participant.length);
  all.iterations = std::min(all.met, all.iterations * relative(all.added));
}

// Fibers that are often empty, below a dense level: whether the loop runs at all is a branch that is guessed wrong as often as
// the rarer case comes (Poisson lengths).
double CostModel::entering_ns(const Advance& all, bool root) const {
  const Machine& machine = options_.machine;
  const std::vector<Participant>& participants = models_->pricing().participants;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Participant& participant : participants) shortest = std::min(shortest, participant.length);
  double ns = 0;
  if (shortest < 1) {
    const double empty = std::exp(-shortest);
    ns += machine.branch_miss * std::min(empty, 1 - empty);
  }
  if (!root) {
    const double entry = machine.fiber_entry * static_cast<double>(participants.size()) + machine.branch_miss * all.ends;
    ns += entry * std::min(1.0, shortest);
  }
  return ns;
}

// Whether a coordinate that is looked up is there, or two fingers meet, is a branch that is guessed wrong as often as the rarer case
// comes: of 13 million searches in a masked A * A of a web graph 0.38 find something, and the nest takes 56 ms, predicted without this 42.
double CostModel::finding_ns(const Advance& all) const {
  const std::vector<Participant>& participants = models_->pricing().participants;
  const auto missed = [](double tried, double found) { return std::max(0.0, std::min(found, tried - found)); };
  double branches = all.late_ns > 0 ? missed(all.met, all.iterations) : 0;
  if (participants.size() > 1) {
    const bool tables = std::ranges::any_of(participants, [](const Participant& each) { return each.table != Table::none; });
    const auto is_asked = [&](const Participant& each) { return each.branches && !(tables && each.part.drive); };
    double tried = std::ranges::min(participants, {}, &Participant::length).length;
    for (const Participant& each : participants) {
      if (tables && each.part.drive) tried = each.length;
    }
    if (std::ranges::any_of(participants, is_asked)) branches += missed(tried, all.met);
  }
  return options_.machine.branch_miss * branches;
}

double CostModel::fiber_sum(const PricedLoop& loop, bool vector, const Advance& all) const {
  const auto& [loops, participants, participant_filters] = models_->pricing();
  if (vector || !loop.alone() || participants.size() != 1) return 1;
  // Of y[i,r] += B[i,j,r] * x[j] over groups of four rows, too: a vector of y in registers, and elements of x that do not wait for it.
  if (!loops.front()->innermost && !loops.front()->sums_short_row) return 1;
  const auto& [outside, index, range] = loop;
  const StatementModels::Statement& statement = *statements_[range.first].model;
  // No loop of its own, unless rows side by side are written out; or a search for each entry.
  if ((all.one_entry() && statement.lanes == 0) || all.late_ns > 0) return 1;
  const bool is_made = writes_sparse(range.last) && !outside.gathers && result_->completes(outside.indices, index);
  const bool scatters = (statement.dense_target || is_made) && !statement.sums(index) && statement.lanes == 0;
  // Entries of a walk do not wait for each other either, but for the sum: y(i) = T(i,j,k) * B(j) * C(k) over 2 million in duq takes 0.85 to
  // 1.4 ns for each.
  const AdvancedAccess& driver = *all.only_driver;
  if (driver.walked && !driver.of_range) {
    if (driver.sums_walk) return walk_share;
    if (scatters) return scatter_share;
    return driver.repeats > 1 && statement.lanes == 0 ? repeat_share + (1 - repeat_share) / driver.repeats : 1;
  }
  // Vectors, where neighbours are adjacent in all that lies along the loop: not in rows of X[d,i,k] and A[i,k] below d.
  const auto in_vectors = [&](const auto& access) {
    return access->sparse() || !contains(access->indices(), index) || contains(access->contiguous(), index);
  };
  const bool adjacent = (driver.adjacent || contains(statement.unasked, index)) && !options_.strict_fp && loops.front()->innermost;
  if (adjacent && in_vectors(statement.target) && std::ranges::all_of(statement.factors, in_vectors)) return adjacent_share;
  const Participant& only = participants.front();
  const bool one_fiber = only.table == Table::none && only.scan_ns == 0;
  if (!one_fiber) return 1;
  return scatters ? scatter_share : statement.dense_target && statement.sums(index) ? options_.machine.fiber_sum : 1;
}

double CostModel::body_ns(const PricedLoop& shared, bool vector, double share, double iterations, LoopEstimate* details) const {
  const auto& [outside, index, range] = shared;
  const auto& [loops, participants, participant_filters] = models_->pricing();
  const double visited_share = participants.empty() ? 1 : std::min(1.0, iterations / std::max(1.0, extent(index)));
  double body = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const StatementModels::Statement& statement = *statements_[number].model;
    const StatementLoop& loop = *loops[number - range.first];
    const Movement moved = movement(number, loop, shared, vector, visited_share);
    // Streams run beside the arithmetic; gathers keep it waiting.
    double arithmetic = 0;
    if (loop.innermost) {
      const double apart = outside.batch_of(number) == Batch::tile && statement.sums_apart(index) ? options_.machine.vector_sum : 0;
      arithmetic = vector                                    ? (loop.vector_ns - apart) / std::max(1.0, extent(index))
                   : contains(statement.side_by_side, index) ? statement.flops * options_.machine.vector_flop
                                                             : statement.scalar_body_ns * share;
    }
    body += std::max(arithmetic, moved.stream_ns) + moved.gather_ns * share + moved.update_ns + exceeding(loop, moved);
    if (loop.ends_inside) body += ends_inside(number, loop, shared);
    if (!loop.joins || !shared.alone() || !participants.empty()) body += loop.row_end_ns;
    if (details == nullptr) continue;
    details->bytes += moved.bytes * iterations;
    if (loop.innermost) details->flops += statement.flops * iterations;
  }
  return body;
}

// With those of the factors that are read by this one.
void CostModel::add_parts(const Intersection::Part& part, std::vector<Intersection::Part>& parts) const {
  const auto& factors = statements_[part.statement].model->factors;
  for (std::uint32_t factor = part.factor; factor < factors.size(); ++factor) {
    if (factors[factor].read_by != part.factor) continue;
    parts.push_back(part);
    parts.back().factor = factor;
  }
}

LoopPrice CostModel::priced(const PricedLoop& loop, JoinSet others, const LoopDecision* given, LoopEstimate* details) const {
  const auto& [outside, index, range] = loop;
  const Machine& machine = options_.machine;
  const Advance all = advance(loop, others);
  auto& [loops, participants, participant_filters] = models_->pricing();
  const bool appends = makes_entries(range.last) && contains(index_set(result_->order()), index);
  const bool vector = given != nullptr ? given->vector : loop.alone() && loops.front()->vector && !appends;
  // A short vector loop is unrolled: there is no loop to enter.
  const bool unrolled = vector && extent(index) * sizeof(double) <= machine.register_bytes;
  // Rows that wait go through a tile of the block in registers.
  const bool waits = products_together(loop) > 1;
  const bool alone_undriven = loop.alone() && participants.empty();
  const bool written_out = alone_undriven && loops.front()->written_out;
  // Positions of a dense level whose coordinates nothing asks for.
  const bool passes = alone_undriven && !vector && !loops.front()->innermost &&
                      contains(statements_[range.first].model->unasked, index);
  const double share = fiber_sum(loop, vector, all);
  double ns = waits ? waiting_ns(loop) : unrolled || written_out || passes ? 0 : machine.loop_entry;
  double steps = extent(index);
  if (details != nullptr) details->decision.vector = vector;
  if (in_product(loop)) {
    if (details != nullptr) {
      details->steps = steps;
      details->flops = loops.front()->innermost ? statements_[range.last].model->flops * all.iterations : 0;
    }
    return {all.iterations, product_ns(loop, details)};
  }
  if (all.one_entry()) {
    ns = 0;
    steps = 1;
  } else if (all.walked()) {
    steps = participants.front().length;
    ns = all.only_driver->last_of_walk ? steps * machine.drive_step * share : 0;
  } else if (!participants.empty()) {
    ns += entering_ns(all, outside.root());
    const CoIteration co_iteration = given != nullptr ? given_co_iteration(machine, participants, given->parts)
                                                      : cheapest_co_iteration(machine, participants);
    steps = co_iteration.steps;
    ns += co_iteration.ns * share;
    if (details != nullptr && given == nullptr) details->drives_copy = drives_copy(co_iteration, participants);
    if (details != nullptr && co_iteration.looked_up) {
      for (const Participant& participant : participants) add_parts(participant.part, details->decision.parts);
    }
  } else if (!vector && !waits && !written_out && !passes) {
    ns += extent(index) * machine.range_step;
  }
  // Neighbours in a dense level lie side by side: a vector is found as a whole.
  const double lookups = written_out || passes ? 0 : vector ? std::min(1.0, all.met) : all.met;
  ns += all.met * all.late_ns + lookups * all.tables * machine.table_lookup + finding_ns(all);
  if (details != nullptr) details->steps = steps + (all.late_ns > 0 ? all.met : 0);
  return {all.iterations, ns + all.iterations * body_ns(loop, vector, share, all.iterations, details)};
}

double CostModel::materialising_ns(IndexSet shared, StatementRange writers, std::size_t last) const {
  double ns = 0;
  for (const StatementFlow::Intermediate& intermediate : flow_->intermediates) {
    if (!is_between(intermediate, writers, last)) continue;
    if (is_keyed(intermediate.writer, shared)) {
      ns += workspace(intermediate.writer, shared).ns;
      continue;
    }
    // One vector starts as zeros in registers; anything else is cleared in memory.
    const IndexSet stored = intermediate.modes & ~shared;
    const double bytes = combinations(stored) * intermediate.scalar_bytes;
    const bool in_registers = (stored & (stored - 1)) == 0 && bytes <= options_.machine.register_bytes;
    if (!in_registers) ns += options_.machine.reset_entry + bytes / options_.machine.stream[options_.machine.cache_level(bytes)];
  }
  return ns;
}

double CostModel::clearing(StatementRange range) const {
  if (range.last + 1 < statements_.size()) return 0;
  if (result_ != nullptr) return result_->finishing_ns(options_.calls);
  const StatementModels::Statement& writer = *statements_.back().model;
  const double bytes = writer.target->bytes();
  return bytes / options_.machine.stream[options_.machine.cache_level(bytes)] + reordering_ns(writer.handing_over, options_.machine);
}

RootEstimate CostModel::root(IndexId index, StatementRange range, double iterations, double work,
                             const RootReduction* given) const {
  const double count = std::max(1.0, iterations);
  double share = std::max(1.0 / options_.machine.threads, std::ceil(count / options_.machine.threads) / count);
  // Slices of rows and of private copies are cut (engine/slice_parts.h).
  bool cuts = !appends(range) && !options_.strict_fp;
  for (const Placed& statement : placed(range)) {
    cuts = cuts && (!leaves(statement, range) || statement.model->sums(index) || statement.model->target->has_rows(index));
  }
  for (const Placed& statement : placed(range)) {
    for (const auto& factor : statement.model->factors) {
      if (!cuts || !factor->shares_slices(index)) share = std::max(share, factor->largest_share(index));
    }
  }
  const double cleared = clearing(range);
  // On all threads, whatever the nest runs on.
  const double converted = writes_sparse(range.last) ? result_->converting_ns(options_.machine) : 0;
  const double owned = work * share + cleared / options_.machine.threads + converted + options_.machine.start_parallel;
  const double bytes = leaving_bytes(range);
  // Each thread clears its copy; then all threads add up the copies of a part each.
  const double copies = 3 * bytes / options_.machine.stream[options_.machine.cache_level(bytes * options_.machine.threads)];
  const auto time = [&](RootReduction reduction) {
    switch (reduction) {
      case RootReduction::owner: return owned + copying_ns(range);
      case RootReduction::counted: return owned + counting_ns(range, share);
      case RootReduction::private_copies: return owned + copies;
      case RootReduction::serial: break;
    }
    return work + cleared + converted + options_.machine.start_serial;
  };
  if (given != nullptr) return {*given, time(*given)};
  RootEstimate best{RootReduction::serial, time(RootReduction::serial)};
  const bool own = may_own(index, range);
  if (own && makes_entries(range.last)) {
    // Where memory is scarce, the result is charged before it is computed, and nothing but it. The two are compared by
    // themselves: beside the work, which may be any, they round away.
    const bool scarce = result_->bytes() * 2 > static_cast<double>(options_.memory_limit);
    if (counting_ns(range, share) < copying_ns(range) || scarce) {
      const double counted = time(RootReduction::counted);
      return counted < best.ns || scarce ? RootEstimate{RootReduction::counted, counted} : best;
    }
  }
  const bool private_allowed = !own && !options_.strict_fp && !appends(range) &&
                               bytes * 2 <= static_cast<double>(options_.memory_limit);
  const RootReduction reduction = own ? RootReduction::owner : RootReduction::private_copies;
  if ((own || private_allowed) && time(reduction) < best.ns) best = {reduction, time(reduction)};
  return best;
}

Outside CostModel::bound_by(const Schedule& schedule, std::size_t statement, std::size_t depth) const {
  const std::vector<IndexId>& loops = schedule.statements[statement].loops;
  Outside outside;
  for (std::size_t loop = 0; loop < std::min(depth, loops.size()); ++loop) {
    outside = inside(outside, loops[loop], {first_sharer(schedule, statement, loop), last_sharer(schedule, statement, loop)});
  }
  return outside;
}

// Entries of the shortest fiber that drives the loop, in the mean; without one the extent.
double CostModel::fiber_entries(const PricedLoop& shared) const {
  const auto& [outside, index, range] = shared;
  double shortest = extent(index);
  for (std::size_t number = range.first; number <= range.last; ++number) {
    for (const AdvancedAccess& access : models_->loop(statements_[number].number, outside.indices, index, !shared.alone()).advanced) {
      if (access.drives && !is_made_there(number, access.factor, range)) shortest = std::min(shortest, access.length);
    }
  }
  return shortest;
}

// In for i: for j: { for k: for s: x[s] += T * C; for r: for s: A[i,r,s] += B[j,r] * x[s] } the products of the j of a row wait: the loop
// over r is one over their rows, that over s one over their columns. The statement is the last one inside j, and the only one of its kind.
Batch CostModel::batch_begun(const PricedLoop& loop) const {
  const Batch before = loop.batch();
  if (before == Batch::tile || (loop.alone() && keeps_tile(loop))) return Batch::tile;
  if (before != Batch::none) return products_together(loop) > 1 ? Batch::columns : Batch::none;
  const auto adds_block = [&](const Placed& statement) { return statement.model->adds_block(loop.inside(), loop.index); };
  const std::span<const Placed> statements = placed(loop.range);
  if (!adds_block(statements.back()) || std::ranges::any_of(statements.first(statements.size() - 1), adds_block)) return Batch::none;
  // Rows and columns are told apart by the loops inside.
  constexpr double rows = 8;
  constexpr double columns = 8;
  return batch_size(fiber_entries(loop), rows, columns) > 0 ? Batch::rows : Batch::none;
}

// In for i: for j: for r: for c: for s: Y[i,r,s] += B[i,j,r,c] * X[j,c,s] of blocks of 3 x 3 the three rows of Y stay in registers while j
// goes on, and in for i: for j: for c: y[i] += B[i,j,c] * x[j,c] of blocks of 1 x 4 one vector, which is added up once j is through
// (lower/registers.cpp).
bool CostModel::keeps_tile(const PricedLoop& loop) const {
  const StatementModels::Statement& statement = *statements_[loop.range.last].model;
  const IndexSet rest = statement.indices & ~loop.inside();
  const bool sums = statement.sums(loop.index) && !contains(statement.few, loop.index);
  if (loop.outside.root() || !sums || !statement.is_written_out(rest)) return false;
  const IndexSet tile = statement.target->indices() & rest;
  const bool one_loop = (rest & (rest - 1)) == 0;
  if (one_loop != (tile == 0) || (rest & ~statement.few & ~tile) != 0) return false;
  // Of B in y[i] += T[i,j] * B[j,c] the sum over c is better taken apart from T: there are no blocks.
  const auto has_blocks = [&](const auto& factor) { return factor->sparse() && (rest & factor->indices()) != 0; };
  if (one_loop && std::ranges::none_of(statement.factors, has_blocks)) return false;
  const double row = std::ceil(combinations(rest & ~statement.few) * statement.target->scalar_bytes() / options_.machine.line_bytes);
  return combinations(tile) * statement.target->scalar_bytes() <= register_row_bytes &&
         row * combinations(rest & statement.few) <= written_parts;
}

// Products whose sum the loop adds to its block at once: 1 but for batches.
double CostModel::products_together(const PricedLoop& loop) const {
  const Batch batch = loop.batch();
  if (batch == Batch::none || batch == Batch::product) return 1;
  if (batch == Batch::tile) return std::numeric_limits<double>::infinity();
  const StatementModels::Statement& statement = *statements_[loop.range.last].model;
  const IndexSet open = statement.indices & ~loop.outside.indices;
  if (batch == Batch::rows && !statement.multiplies_rows(loop.outside.indices, loop.index)) return 1;
  // The loop around has iterations enough, and that there are rows enough was seen outside the columns.
  constexpr double enough = 8;
  const double rows = batch == Batch::rows ? extent(loop.index) : enough;
  const IndexSet columns = batch == Batch::rows ? open & ~one_index(loop.index) : open;
  return std::max(1.0, static_cast<double>(batch_size(enough, rows, combinations(columns))));
}

// Tiles use what they load often enough that only the matrices themselves are moved, once, where the product begins; it is computed in
// the last of its loops, columns in whole vectors. Orders of its loops are the same code, but for checked kernels and others without
// tiles, which would rather have columns last.
double CostModel::product_ns(const PricedLoop& loop, LoopEstimate* details) const {
  const Machine& machine = options_.machine;
  const StatementModels::Statement& statement = *statements_[loop.range.last].model;
  double ns = 0;
  if (loop.batch() != Batch::product) {
    const IndexSet rest = statement.indices & ~loop.outside.indices;
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
  if ((statement.indices & ~loop.inside()) == 0) {
    const double columns = combinations(statement.column);
    const double lanes = machine.line_bytes / statement.target->scalar_bytes();
    const double preferred = contains(statement.column, loop.index) ? 1 : 1.02;
    ns += preferred * extent(loop.index) * statement.flops * machine.vector_flop * std::ceil(columns / lanes) * lanes / columns;
  }
  return ns;
}

// A row of an intermediate whose elements are taken one by one is not in registers: it begins as zeros in memory. TTMc with x[r] as that
// row takes 1.2 times as long as with x[s] over columns.
double CostModel::waiting_ns(const PricedLoop& loop) const {
  if (loop.batch() != Batch::rows) return 0;
  double ns = 0;
  for (const auto& factor : statements_[loop.range.last].model->factors) {
    if (!factor->intermediate() || !contains(factor->indices(), loop.index)) continue;
    ns += options_.machine.reset_entry + extent(loop.index) * factor->scalar_bytes() / options_.machine.stream[0];
  }
  return ns;
}

}  // namespace weft
