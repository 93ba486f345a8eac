#include "engine/plan/search/alternative_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/contraction_variants.h"

namespace weft {
namespace {

constexpr std::size_t wanted_candidates = 2;  // that fit: the best, and what it is compared with

bool same_loops(const Schedule& left, const Schedule& right) {
  return left.tree == right.tree && std::ranges::equal(left.statements, right.statements, [](const auto& one, const auto& other) {
           return one.loops == other.loops && one.fused == other.fused;
         });
}

// Whether the loops around an occurrence bind its modes in the order in which it is given, whatever it is converted to.
bool in_given_order(const Contractions& contractions, const LoopNests& nests, std::uint32_t factor,
                    const std::vector<OperandFacts>& operands) {
  const std::vector<std::uint32_t>& modes = facts_of(operands, contractions.tensors[factor].tensor).format.mode_order;
  for (std::size_t step = 0; step < contractions.steps.size(); ++step) {
    const std::vector<IndexId>& loops = nests.loops[step];
    for (const ScheduledAccess& read : contractions.steps[step].factors) {
      const auto place = [&](std::uint32_t mode) { return std::ranges::find(loops, read.indices[mode]); };
      if (read.tensor == factor && !std::ranges::is_sorted(modes, {}, place)) return false;
    }
  }
  return true;
}

// Whether all that is written is dense, so that loops decide nothing about it that the model would have to know.
bool writes_dense(const Contractions& contractions) {
  return std::ranges::all_of(contractions.tensors, [](const ContractedTensor& tensor) {
    return tensor.role == TensorRole::operand || tensor.dense();
  });
}

}  // namespace

AlternativeSearch::AlternativeSearch(const Problem& problem, bool fused, double most_work)
    : problem_(problem),
      fused_(fused),
      co_iterates_(sparse_operands_co_iterate(problem.network, problem.operands)),
      most_work_(most_work),
      memory_(usable_memory(problem.options)),
      priced_(std::make_shared<AlternativeModels>(problem)),
      models_(*priced_),
      space_(problem),
      best_ns_(looked_for_below(problem.options)),
      limit_(best_ns_) {
  if (problem.options.prove) models_.table().most_bytes = bytes_of_proof(problem.options);
}

std::size_t AlternativeSearch::add_tree(double least_ns, std::vector<Contractions> orders) {
  Tree tree{least_ns, {}, result_.frontier.looks_at(orders.front().tree)};
  const std::size_t steps = orders.front().steps.size();
  for (Contractions& contractions : orders) {
    sums_first_ = sums_first_ || contractions.steps.size() > steps;
    tree.orders.push_back(models_.order_of(std::move(contractions)));
  }
  trees_.push_back(std::move(tree));
  return trees_.size() - 1;
}

bool AlternativeSearch::may_pay(std::size_t tree) const {
  for (std::size_t number = 0; number < space_.convertible(); ++number) {
    if (pays(tree, {std::uint64_t{1} << number})) return true;
  }
  return false;
}

void AlternativeSearch::leave_out(std::size_t tree) {
  result_.frontier.left_out(trees_[tree].frontier, trees_[tree].least_ns, result_.spent ? Why::search_budget : Why::layouts_untried);
}

bool AlternativeSearch::is_spent(double times) {
  const bool spent = models_.is_full() || static_cast<double>(work_ + models_.described() * work_of_statement) > times * work_in_budget();
  result_.spent = result_.spent || spent;
  return spent;
}

double AlternativeSearch::work_in_budget() const {
  const double usual_share = weft::work_in_budget(best_ns_, problem_.options, most_work_, co_iterates_);
  return sums_first_ ? std::min(usual_share * share_with_partial_sums, most_work_) : usual_share;
}

// The order that promises most comes first, and bounds the others: nothing is wanted of them that takes longer than it and than the
// second best schedule.
double AlternativeSearch::solve(std::size_t tree, const PathChoice& choice, double limit) {
  struct Promise {
    double least_ns = 0;
    std::size_t order = 0;
    std::vector<std::uint32_t> numbers;
    std::unique_ptr<const CostModel> model;
  };
  const std::vector<PricedOrder>& orders = trees_[tree].orders;
  std::vector<Promise> promises;
  for (std::size_t order = 0; order < orders.size(); ++order) {
    Promise promise{0, order, models_.numbers(orders[order], space_.paths(orders[order].contractions, choice)), {}};
    promise.model = std::make_unique<const CostModel>(models_.model(orders[order], promise.numbers));
    if (orders.size() > 1 || std::isfinite(limit)) promise.least_ns = promise.model->least_ns();
    promises.push_back(std::move(promise));
  }
  std::ranges::stable_sort(promises, {}, &Promise::least_ns);
  double best = infinity;
  for (const Promise& promise : promises) {
    const double below = std::min(limit, std::max(limit_, best));
    ++result_.tried;
    work_ += work_of_model;
    if (promise.least_ns + space_.least_ns(choice) >= below) continue;
    if (!stores_as_priced(orders[promise.order].contractions)) leave_out(tree);
    best = std::min(best, solve({.tree = tree, .order = promise.order, .choice = choice}, promise.numbers, *promise.model, below));
  }
  return best;
}

double AlternativeSearch::solve(Record record, const std::vector<std::uint32_t>& numbers, const CostModel& model, double limit) {
  const double conversions_ns = space_.least_ns(record.choice);
  IntervalProgram program(model, fused_, &models_.table(), numbers);
  auto nests = program.solve(limit - conversions_ns);
  work_ += program.work();
  if (!program.exact()) leave_out(record.tree);
  if (!nests) return infinity;
  record.nests = std::move(*nests);
  record.least_ns = record.nests.ns + conversions_ns;
  records_.push_back(std::move(record));
  Record& solved = records_.back();
  if (solved.nests.ns + space_.most_ns(solved.choice) < limit_) judge(solved, model);
  return solved.least_ns;
}

void AlternativeSearch::open(std::span<const std::pair<std::size_t, PathChoice>> found) {
  std::vector<std::pair<PricedChoice, Record>> promises;
  for (const auto& [tree, choice] : found) {
    const Record* best = nullptr;
    for (const Record& record : records_) {
      if (record.tree != tree || record.choice != choice) continue;
      if (best == nullptr || record.least_ns < best->least_ns) best = &record;
    }
    if (best == nullptr || !best->judged_ns || *best->judged_ns > best_ns_ * most_gained_by_opening) continue;
    const PricedChoice more = opened(order_of(*best), best->nests, {choice, *best->judged_ns});
    if (more.choice != choice) promises.push_back({more, {.tree = tree, .order = best->order, .choice = more.choice}});
  }
  std::ranges::stable_sort(promises, {}, [](const auto& promise) { return promise.first.ns; });
  for (auto& [more, record] : promises) {
    if (more.ns >= limit_) break;
    const PricedOrder& order = order_of(record);
    const std::vector<std::uint32_t> numbers = models_.numbers(order, paths(record));
    solve(std::move(record), numbers, models_.model(order, numbers), more.ns * (1 + accuracy));
  }
}

PricedChoice AlternativeSearch::opened(const PricedOrder& order, const LoopNests& nests, PricedChoice best) {
  for (std::size_t number = 0; number < space_.convertible(); ++number) {
    const bool converted = (best.choice.converted >> number & 1) != 0;
    if (converted && !in_given_order(order.contractions, nests, space_.factor(number), problem_.operands)) continue;
    for (const PathChoice& more : space_.openings(best.choice, number)) {
      if (space_.least_ns(more) >= best.ns) continue;
      const AccessPaths paths = space_.paths(order.contractions, more);
      const CostModel model = model_of(order, paths);
      work_ += work_of_model;
      const Schedule schedule = complete(order.contractions, nests, problem_.network, model, paths, problem_.operands);
      if (const double ns = time_cost(schedule, problem_, model).ns; ns < best.ns) best = {more, ns};
    }
  }
  return best;
}

double AlternativeSearch::solve_marked(const Contractions& contractions, const PathChoice& choice, double limit) {
  const PricedOrder order = models_.order_of(contractions);
  const AccessPaths paths = space_.paths(contractions, choice);
  const std::vector<std::uint32_t> numbers = models_.numbers(order, paths);
  const CostModel model = models_.model(order, numbers);
  work_ += work_of_mark_arrays;
  limit -= space_.least_ns(choice);
  if (model.least_ns() >= limit) return infinity;
  IntervalProgram program(model, true, &models_.table(), numbers);
  const auto nests = program.solve(limit);
  work_ += program.work();
  if (!nests) return infinity;
  Candidate candidate{complete(contractions, *nests, problem_.network, model, paths, problem_.operands), {}};
  if (!marks_are_looked_up(candidate.schedule) || !check(candidate.schedule, problem_)) return infinity;
  candidate.cost = cost(candidate.schedule, problem_);
  if (choice.converted == 0 && choice.opened == 0) {
    const PricedChoice more = opened(order, *nests, {choice, candidate.cost.ns});
    const double ns = more.choice == choice ? infinity : solve_marked(contractions, more.choice, more.ns * (1 + accuracy));
    if (std::isfinite(ns)) return ns;
  }
  if (candidate.cost.announced_bytes > memory_) return infinity;
  const double ns = candidate.cost.ns;
  if (ns < best_ns_) {
    limit_ = std::exchange(best_ns_, ns);
    add_candidate(result_.candidates, std::move(candidate));
  }
  return ns;
}

void AlternativeSearch::judge_the_best() {
  std::vector<std::size_t> order(records_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t number) { return records_[number].least_ns; });
  for (const std::size_t number : order) {
    Record& record = records_[number];
    const auto beaten = std::ranges::count_if(result_.candidates, [&](const Candidate& known) {
      return known.cost.announced_bytes <= memory_ && known.cost.ns <= record.least_ns;
    });
    if (static_cast<std::size_t>(beaten) >= wanted_candidates) break;
    if (!record.judged_ns) judge(record, model_of(order_of(record), paths(record)));
  }
  std::ranges::sort(result_.candidates, [&](const Candidate& left, const Candidate& right) {
    if (left.cost.ns != right.cost.ns) return left.cost.ns < right.cost.ns;
    const auto [left_line, right_line] = first_different_lines(left.schedule, right.schedule, problem_.network);
    return left_line < right_line;
  });
}

SearchResult AlternativeSearch::finish() {
  const auto close = [&](const std::vector<std::size_t>& records, bool asks) {
    for (const std::size_t number : records) {
      const Record& record = records_[number];
      if (record.least_ns >= best_ns_ * (1 - accuracy)) continue;
      if (asks) result_.open.push_back(alternative(record));
      else leave_out(record.tree);
    }
  };
  // Where memory binds the solver is asked anyway.
  close(open_, result_.memory_binds || pays_for_solver(best_ns_, problem_.options));
  close(undecided_, result_.memory_binds);
  if (winner_ && problem_.options.prove && !records_[*winner_].choice.is_beyond()) result_.winner = alternative(records_[*winner_]);
  result_.models = std::move(priced_);
  return std::move(result_);
}

void AlternativeSearch::judge(Record& record, const CostModel& model) {
  Candidate candidate{complete(contractions(record), record.nests, problem_.network, model, paths(record), problem_.operands), {}};
  const bool modelled = record.choice.converted == 0 && writes_dense(contractions(record));
  candidate.cost = modelled ? with_memory(time_cost(candidate.schedule, problem_, model), candidate.schedule, problem_)
                            : cost(candidate.schedule, problem_);
  const bool too_large = candidate.cost.announced_bytes > memory_;
  // What is given takes less memory than what is opened, with the same loops.
  const bool gives_up_copies = too_large && record.choice.opened == 0;
  if (gives_up_copies) {
    result_.memory_binds = true;
    give_up_private_copies(candidate, problem_);
    if (candidate.cost.announced_bytes <= memory_) ++result_.serialized;
  }
  record.judged_ns = candidate.cost.ns;
  if (too_large && !gives_up_copies) return;
  const bool known = std::ranges::find(result_.candidates, candidate.schedule, &Candidate::schedule) != result_.candidates.end();
  const bool legal = known || check(candidate.schedule, problem_);
  keep_open(record, candidate, too_large, legal);
  // Some intermediates on the way to a sparse result are priced before their layout is known.
  const bool overpriced = !record.choice.converts() && candidate.cost.ns < record.least_ns * (1 - accuracy);
  if (sparse_result() && overpriced) leave_out(record.tree);
  if (known || !legal) return;
  const bool fits = candidate.cost.announced_bytes <= memory_;
  if (fits && record.choice.opened == 0 && candidate.cost.ns < unopened_ns()) winner_ = number_of(record);
  if (fits && candidate.cost.ns < best_ns_) limit_ = std::exchange(best_ns_, candidate.cost.ns);
  if (fits && candidate.cost.ns > best_ns_) limit_ = std::min(limit_, candidate.cost.ns);
  // What it is compared with are other loops, not the same ones before an operand was opened.
  if (record.choice.opened != 0) {
    std::erase_if(result_.candidates, [&](const Candidate& other) {
      return other.cost.ns >= candidate.cost.ns && same_loops(other.schedule, candidate.schedule);
    });
  }
  result_.candidates.push_back(std::move(candidate));
}

// The program's figure is a bound: what the alternative really can do is for the solver to say. About layouts on the way to a sparse
// result, which are priced before they are known, it is asked for a proof only. Where it is not legal, another order of the same loops
// might be. Nothing is claimed of transposed operands and chains.
void AlternativeSearch::keep_open(const Record& record, const Candidate& candidate, bool too_large, bool legal) {
  const bool fits = candidate.cost.announced_bytes <= memory_;
  if (record.choice.is_beyond() || (fits && legal && candidate.cost.ns <= record.least_ns * (1 + accuracy))) return;
  const bool asked = !sparse_result() || too_large || !legal || problem_.options.prove;
  (asked ? open_ : undecided_).push_back(number_of(record));
}

}  // namespace weft
