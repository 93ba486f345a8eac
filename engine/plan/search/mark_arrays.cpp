#include "engine/plan/search/mark_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/search/open_layouts.h"
#include "engine/plan/space/access_paths.h"
#include "engine/plan/space/partial_sums.h"
#include "engine/plan/space/sparse_intermediates.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

constexpr double least_ns = 20'000;     // what is over sooner is not worth looking further
constexpr std::size_t most_mark_arrays = 3;  // of one schedule
constexpr std::size_t most_trees = 4;   // of the best candidates, beside the product as a whole
constexpr std::size_t most_orders = 2;  // of the statements of a tree
constexpr std::size_t most_factors = 6;
constexpr double near = 1.5;            // of the best: what other layouts may still make the cheapest

bool is_sparse_operand(const Schedule& schedule, const ScheduledAccess& access) {
  const ScheduledTensor& tensor = schedule.tensors[access.tensor];
  return tensor.role == TensorRole::operand && has_sparse_level(tensor.format);
}

// "M_row" of M[i,j]: what is looked up is a fiber of M.
std::string unused_name(const Schedule& schedule, const std::string& operand) {
  std::set<std::string> taken;
  for (const ScheduledTensor& tensor : schedule.tensors) taken.insert(tensor.name);
  for (std::size_t number = 1;; ++number) {
    const std::string name = number == 1 ? operand + "_row" : fmt::format("{}_row{}", operand, number);
    if (!taken.contains(name)) return name;
  }
}

// The statements of one alternative, without loops. Occurrences have the same numbers with and without copies.
struct Statements {
  Schedule schedule;
  PathChoice choice;
};

class MarkArraySearch {
 public:
  MarkArraySearch(const Problem& problem, AlternativeModels& models)
      : network_(problem.network),
        operands_(problem.operands),
        options_(problem.options),
        memory_(usable_memory(problem.options)),
        models_(models),
        space_(problem) {}

  std::optional<Candidate> cheapest(const SearchResult& found) {
    for (const Candidate& candidate : found.candidates) {
      if (candidate.cost.announced_bytes <= memory_) best_ns_ = std::min(best_ns_, candidate.cost.ns);
    }
    if (!std::isfinite(best_ns_) || best_ns_ < least_ns || !sparse_operands_co_iterate(network_, operands_)) return std::nullopt;
    least_opening_ns_ = least_opening_ns(operands_, options_);
    transposed_ = found.transposed;
    for (const Statements& statements : alternatives(trees(found), conversion_pays())) {
      if (is_spent()) break;
      if (is_second_thought(statements.schedule)) {
        static_cast<void>(improves(statements));
      } else {
        extend(statements, 0);
      }
    }
    refine();
    return std::move(best_);
  }

  std::vector<Schedule> all() {
    std::vector<Schedule> schedules;
    std::vector<Statements> open = alternatives(choose_trees(Problem{network_, operands_, options_}).trees, true);
    for (std::size_t number = 0; number < open.size(); ++number) {
      if (is_second_thought(open[number].schedule)) {
        if (auto made = scheduled(open[number], infinity)) schedules.push_back(std::move(made->schedule));
        continue;
      }
      for (Statements& next : extensions(open[number])) {
        if (auto made = scheduled(next, infinity)) schedules.push_back(std::move(made->schedule));
        const auto copies = static_cast<std::size_t>(std::ranges::count_if(next.schedule.tensors, [](const ScheduledTensor& tensor) {
          return tensor.role == TensorRole::intermediate;
        }));
        if (copies < most_mark_arrays) open.push_back(std::move(next));
      }
    }
    return schedules;
  }

 private:
  bool is_spent() const {
    if (models_.is_full()) return true;
    const double all = work_in_budget(best_ns_, options_, usual_work, true);
    return static_cast<double>(work_) > (options_.prove ? all : share_of_mark_arrays * all);
  }

  std::vector<ContractionTree> trees(const SearchResult& found) const {
    std::vector<ContractionTree> wanted;
    for (const Candidate& candidate : found.candidates) {
      if (wanted.size() == most_trees) break;
      if (std::ranges::find(wanted, candidate.schedule.tree) == wanted.end()) wanted.push_back(candidate.schedule.tree);
    }
    const std::size_t factors = network_.assignments.front().terms.front().factors.size();
    const bool another = found.product && std::ranges::find(wanted, *found.product) == wanted.end();
    if (another && factors <= most_factors) wanted.push_back(*found.product);
    return wanted;
  }

  // Whether anything could be cheaper than the best that also converts an operand.
  bool conversion_pays() const {
    return std::ranges::any_of(operands_, [&](const OperandFacts& facts) {
      return may_be_converted(facts) && conversion_ns(facts, options_.machine) / std::max(1.0, options_.calls) < best_ns_;
    });
  }

  std::vector<Statements> alternatives(const std::vector<ContractionTree>& trees, bool converted) const {
    std::vector<Statements> all;
    for (const ContractionTree& tree : trees) {
      for (const std::vector<std::uint32_t>& order : statement_orders(tree, most_orders)) {
        for (const ResultFormat& format : models_.formats()) {
          for (Schedule& summed : with_partial_sums(statements_of(network_, tree, order, operands_, format), network_, options_)) {
            for (Schedule& one : with_keyed_intermediates(std::move(summed))) {
              PathChoice choice;
              choice.transposed = transposed_;
              choice.converted = converted ? space_.converted_in(one) : 0;
              if (choice.converted != 0) all.push_back({one, choice});
              choice.converted = 0;
              all.push_back({std::move(one), choice});
            }
          }
        }
      }
    }
    return all;
  }

  static std::vector<Statements> extensions(const Statements& from) {
    std::vector<Statements> found;
    for (std::size_t statement = 0; statement < from.schedule.statements.size(); ++statement) {
      for (std::size_t factor = 0; factor < from.schedule.statements[statement].factors.size(); ++factor) {
        auto copied = with_mark_array(from.schedule, statement, factor);
        if (copied) found.push_back({std::move(*copied), from.choice});
      }
    }
    return found;
  }

  // Every further copy that makes the schedule cheaper, the best one first.
  void extend(const Statements& from, std::size_t copies) {
    if (copies == most_mark_arrays) return;
    std::optional<Statements> better;
    for (Statements& next : extensions(from)) {
      if (is_spent()) break;
      if (improves(next)) better = std::move(next);
    }
    if (better) extend(*better, copies + 1);
  }

  // Takes the schedule of these statements if it is cheaper than what is known.
  bool improves(const Statements& statements) {
    // Other layouts, or opening those that are kept, may still make searches cheaper: what takes a little more than the best
    // is looked at.
    const bool converts = statements.choice.converted != 0;
    const bool opens = !converts && least_opening_ns_ < best_ns_;
    auto candidate = scheduled(statements, best_ns_ * (converts ? near : opens ? most_gained_by_opening : 1));
    if (!candidate || candidate->cost.announced_bytes > memory_) return false;
    if (converts) near_.emplace_back(candidate->cost.ns, statements);
    return takes(*candidate);
  }

  bool takes(Candidate& candidate) {
    if (candidate.cost.ns >= best_ns_) return false;
    best_ns_ = candidate.cost.ns;
    best_ = std::move(candidate);
    return true;
  }

  // So far all operands that may be converted were, to the same dense-fill limit, or none. Of what is near the best one layout at a time
  // is changed, as long as that helps.
  void refine() {
    std::ranges::stable_sort(near_, {}, &std::pair<double, Statements>::first);
    for (auto& [known_ns, statements] : near_) {
      double ns = known_ns;
      const auto attempt = [&](Statements changed) {
        if (changed.choice.converted == 0 || is_spent()) return false;
        auto candidate = scheduled(changed, std::min(ns, best_ns_ * near));
        if (!candidate || candidate->cost.announced_bytes > memory_ || candidate->cost.ns >= ns) return false;
        ns = candidate->cost.ns;
        statements = std::move(changed);
        takes(*candidate);
        return true;
      };
      const std::uint64_t all = space_.converted_in(statements.schedule);
      for (bool better = ns < best_ns_ * near; better;) {
        better = false;
        const Statements from = statements;
        for (std::uint64_t rest = all; rest != 0; rest &= rest - 1) {
          Statements changed = from;
          changed.choice.converted ^= rest & -rest;
          better = attempt(std::move(changed)) || better;
        }
        for (const double fill_limit : dense_fill_limits) {
          if (fill_limit == from.choice.fill_limit) continue;
          Statements changed = from;
          changed.choice.fill_limit = fill_limit;
          better = attempt(std::move(changed)) || better;
        }
      }
    }
  }

  // Intermediates with keys on the way to a dense result: the search did not price them.
  static bool is_second_thought(const Schedule& statements) {
    const ScheduledTensor& result = statements.tensors[statements.statements.back().target.tensor];
    if (has_sparse_level(result.format) && !result.like) return false;
    for (std::size_t number = 0; number + 1 < statements.statements.size(); ++number) {
      const ScheduledTensor& target = statements.tensors[statements.statements[number].target.tensor];
      if (has_sparse_level(target.format) && !is_mark_array_copy(statements, number)) return true;
    }
    return false;
  }

  // The legal schedule with the cheapest loops, if they take less than the limit.
  std::optional<Candidate> scheduled(const Statements& statements, double limit) {
    const AccessPaths paths = space_.paths(statements.schedule, statements.choice);
    StatementOrder order = models_.order_of(statements.schedule);
    const std::vector<std::uint32_t> numbers = models_.numbers(order, paths);
    const CostModel model = models_.model(order, numbers);
    work_ += work_of_mark_arrays;
    if (model.least_ns() >= limit) return std::nullopt;
    IntervalProgram program(model, true, models_.table(), numbers);
    const auto nests = program.solve(limit);
    work_ += program.work();
    if (!nests) return std::nullopt;
    Schedule schedule = std::move(order.statements);
    for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
      schedule.statements[number].loops = nests->loops[number];
      schedule.statements[number].fused = nests->fused[number];
    }
    schedule = complete(std::move(schedule), network_, model, paths, operands_);
    if (!copies_are_looked_up(schedule) || !check(schedule, Problem{network_, operands_, options_})) return std::nullopt;
    Candidate candidate{std::move(schedule), {}};
    candidate.cost = cost(candidate.schedule, Problem{network_, operands_, options_});
    return statements.choice.converted != 0 ? candidate : with_open_layouts(std::move(candidate), Problem{network_, operands_, options_});
  }

  // A copy in a nest of its own would be a conversion, and one that drives where the operand could saves nothing.
  static bool copies_are_looked_up(const Schedule& schedule) {
    for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
      if (!is_mark_array_copy(schedule, number)) continue;
      const std::uint32_t copy = schedule.statements[number].target.tensor;
      const std::size_t reader = reader_of(schedule, copy);
      if (shared_loops(schedule, number, reader) == 0) return false;
      bool found = false;
      for (const ScheduledStatement& statement : schedule.statements) {
        for (const Intersection& intersection : statement.intersections) {
          for (const Intersection::Part& part : intersection.parts) {
            found = found || (!part.drive && schedule.statements[part.statement].factors[part.factor].tensor == copy);
          }
        }
      }
      if (!found) return false;
    }
    return true;
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  std::uint64_t memory_;
  AlternativeModels& models_;
  PathSpace space_;
  std::uint64_t transposed_ = 0;  // as in what is best without copies
  double least_opening_ns_ = infinity;
  double best_ns_ = infinity;
  std::uint64_t work_ = 0;
  std::optional<Candidate> best_;
  std::vector<std::pair<double, Statements>> near_;  // with layouts that may be changed
};

}  // namespace

std::optional<Schedule> with_mark_array(const Schedule& statements, std::size_t statement, std::size_t factor) {
  const ScheduledStatement& reading = statements.statements[statement];
  const ScheduledAccess access = reading.factors[factor];
  const IndexSet indices = index_set(access.indices);
  if (!is_sparse_operand(statements, access) || access.indices.size() < 2) return std::nullopt;
  if (members(indices).size() < access.indices.size() || is_mark_array_copy(statements, statement)) return std::nullopt;
  if (statements.tensors.back().like == access.tensor) return std::nullopt;
  const bool meets = std::ranges::any_of(reading.factors, [&](const ScheduledAccess& other) {
    const ScheduledTensor& tensor = statements.tensors[other.tensor];
    return &other != &reading.factors[factor] && has_sparse_level(tensor.format) && (index_set(other.indices) & indices) != 0;
  });
  if (!meets) return std::nullopt;

  // The result stays the last tensor.
  Schedule schedule = statements;
  const auto copy = static_cast<std::uint32_t>(schedule.tensors.size() - 1);
  const ScheduledTensor& operand = statements.tensors[access.tensor];
  ScheduledTensor made{unused_name(statements, operand.name), TensorRole::intermediate, 0, access.indices,
                       dense_format(access.indices.size(), operand.format.scalar)};
  for (Level& level : made.format.levels) level.kind = LevelKind::accumulator;
  schedule.tensors.insert(schedule.tensors.begin() + copy, std::move(made));
  for (ScheduledStatement& one : schedule.statements) {
    if (one.target.tensor >= copy) ++one.target.tensor;
  }
  schedule.statements[statement].factors[factor] = {copy, access.indices};
  ScheduledStatement filling;
  filling.target = {copy, access.indices};
  filling.factors = {access};
  schedule.statements.insert(schedule.statements.begin() + static_cast<std::ptrdiff_t>(statement), std::move(filling));
  return schedule;
}

std::optional<Candidate> cheapest_mark_arrays(const SearchResult& found, const Problem& problem) {
  return MarkArraySearch(problem, *found.models).cheapest(found);
}

std::vector<Schedule> mark_array_schedules(const Problem& problem) {
  AlternativeModels models(problem);
  return MarkArraySearch(problem, models).all();
}

}  // namespace weft
