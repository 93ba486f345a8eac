#include "engine/plan/search/search_mark_arrays.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/mark_arrays.h"
#include "engine/plan/space/partial_sums.h"
#include "engine/plan/space/sparse_intermediates.h"

namespace weft {
namespace {

constexpr double least_ns = 20'000;     // a run that is over sooner has nothing to gain
constexpr std::size_t most_trees = 4;   // of the best candidates, beside the product as a whole
constexpr std::size_t most_orders = 2;  // of the steps of a tree
constexpr std::size_t most_factors = 6;
constexpr double near = 1.5;            // of the best: what other layouts may still make the cheapest

class MarkArraySearch {
 public:
  MarkArraySearch(AlternativeSearch& search, const Problem& problem)
      : search_(search), problem_(problem), work_before_(search.work()) {}

  void run(const std::optional<ContractionTree>& product) {
    for (const MarkedContractions& start : marked_starts(problem_, search_, trees(product), conversion_pays())) {
      if (is_spent()) break;
      if (keys_intermediates(start.contractions)) static_cast<void>(improves(start));
      else extend(start, 0);
    }
    refine();
  }

 private:
  bool is_spent() const {
    if (search_.models().is_full()) return true;
    const double all = work_in_budget(search_.best_ns(), problem_.options, usual_work, true);
    const auto work = static_cast<double>(search_.work() - work_before_);
    return work > (problem_.options.prove ? all : share_of_mark_arrays * all);
  }

  // What other paths may still make the cheapest: so far no operand is opened.
  double unopened_ns() const { return std::max(search_.best_ns(), search_.unopened_ns()); }
  double near_ns() const { return near * unopened_ns(); }

  std::vector<ContractionTree> trees(const std::optional<ContractionTree>& product) const {
    std::vector<ContractionTree> wanted;
    for (const Candidate& candidate : search_.result().candidates) {
      if (wanted.size() == most_trees) break;
      if (std::ranges::find(wanted, candidate.schedule.tree) == wanted.end()) wanted.push_back(candidate.schedule.tree);
    }
    const std::size_t factors = problem_.network.assignments.front().terms.front().factors.size();
    const bool another = product && std::ranges::find(wanted, *product) == wanted.end();
    if (another && factors <= most_factors) wanted.push_back(*product);
    return wanted;
  }

  // Whether anything could be cheaper than the best that also converts an operand.
  bool conversion_pays() const {
    const auto& [network, operands, options] = problem_;
    return std::ranges::any_of(operands, [&](const OperandFacts& facts) {
      return may_be_converted(facts) && conversion_ns(facts, options.machine) / std::max(1.0, options.calls) < search_.best_ns();
    });
  }

  // Every further copy that makes the schedule cheaper, the best one first.
  void extend(const MarkedContractions& from, std::size_t copies) {
    if (copies == most_mark_arrays) return;
    std::optional<MarkedContractions> better;
    for (MarkedContractions& next : with_another_mark(from)) {
      if (is_spent()) break;
      if (improves(next)) better = std::move(next);
    }
    if (better) extend(*better, copies + 1);
  }

  // Whether they are the cheapest so far. Other layouts may still make searches cheaper: what takes a little more than the best is looked
  // at.
  bool improves(const MarkedContractions& marked) {
    const double best_ns = search_.best_ns();
    const bool converts = marked.choice.converted != 0;
    const double limit = unopened_ns() * (converts ? near : most_gained_by_opening);
    const double ns = search_.solve_marked(marked.contractions, marked.choice, limit);
    if (std::isfinite(ns) && converts) near_.emplace_back(ns, marked);
    return ns < best_ns;
  }

  // So far all operands that may be converted were, to the same dense-fill limit, or none. Of what is near the best one path at a time
  // is changed, as long as that helps.
  void refine() {
    std::ranges::stable_sort(near_, {}, &std::pair<double, MarkedContractions>::first);
    for (auto& [known_ns, marked] : near_) {
      double ns = known_ns;
      const auto attempt = [&](const PathChoice& choice) {
        if (choice.converted == 0 || is_spent()) return false;
        const double changed = search_.solve_marked(marked.contractions, choice, std::min(ns, near_ns()));
        if (changed >= ns) return false;
        ns = changed;
        marked.choice = choice;
        return true;
      };
      const std::uint64_t all = search_.space().converted_in(marked.contractions);
      for (bool better = ns < near_ns(); better;) {
        better = false;
        const PathChoice from = marked.choice;
        for (std::uint64_t rest = all; rest != 0; rest &= rest - 1) {
          PathChoice changed = from;
          changed.converted ^= rest & -rest;
          better = attempt(changed) || better;
        }
        for (const double fill_limit : dense_fill_limits) {
          PathChoice changed = from;
          changed.fill_limit = fill_limit;
          if (fill_limit != from.fill_limit) better = attempt(changed) || better;
        }
      }
    }
  }

  AlternativeSearch& search_;
  const Problem problem_;
  std::uint64_t work_before_;
  std::vector<std::pair<double, MarkedContractions>> near_;  // with paths that may be changed
};

}  // namespace

std::vector<MarkedContractions> marked_starts(const Problem& problem, AlternativeSearch& search, const std::vector<ContractionTree>& trees,
                                            bool converted) {
  std::vector<MarkedContractions> all;
  for (const ContractionTree& tree : trees) {
    for (const std::vector<std::uint32_t>& order : step_orders(tree, most_orders)) {
      for (const ResultFormat& format : search.models().formats()) {
        Contractions plain = contractions_of(problem.network, tree, order, problem.operands, format);
        for (Contractions& summed : with_partial_sums(std::move(plain), problem.network, problem.options)) {
          for (Contractions& one : with_keyed_intermediates(std::move(summed))) {
            PathChoice choice;
            choice.transposed = search.transposed();
            choice.converted = converted ? search.space().converted_in(one) : 0;
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

std::vector<MarkedContractions> with_another_mark(const MarkedContractions& from) {
  std::vector<MarkedContractions> found;
  for (std::size_t step = 0; step < from.contractions.steps.size(); ++step) {
    for (std::size_t factor = 0; factor < from.contractions.steps[step].factors.size(); ++factor) {
      auto copied = with_mark_array(from.contractions, step, factor);
      if (copied) found.push_back({std::move(*copied), from.choice});
    }
  }
  return found;
}

bool keys_intermediates(const Contractions& contractions) {
  const ContractedTensor& result = result_of(contractions);
  if (result.sparse() && !result.like) return false;
  for (std::size_t number = 0; number + 1 < contractions.steps.size(); ++number) {
    const ContractedTensor& target = contractions.tensors[contractions.steps[number].target.tensor];
    if (target.sparse() && !is_mark_array_copy(contractions, number)) return true;
  }
  return false;
}

void search_mark_arrays(AlternativeSearch& search, const Problem& problem, const std::optional<ContractionTree>& product) {
  const double best_ns = search.best_ns();
  if (!std::isfinite(best_ns) || best_ns < least_ns || !sparse_operands_co_iterate(problem.network, problem.operands)) return;
  MarkArraySearch(search, problem).run(product);
}

}  // namespace weft
