#include "engine/plan/search/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/cost/tree_bound.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/search/alternative_search.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

constexpr double least_marked_ns = 20'000;     // a run that is over sooner has nothing to gain
constexpr std::size_t most_marked_trees = 4;   // of the best candidates, beside the product as a whole
constexpr std::size_t most_marked_orders = 2;  // of the steps of a tree
constexpr std::size_t most_marked_factors = 6;
constexpr double near = 1.5;            // of the best: what other layouts may still make the cheapest

// Looks for schedules with mark arrays that are cheaper than the best so far: of the trees of the best candidates and of the product as
// a whole, each with one mark array, and with further ones as long as they help; loops are decided anew for all, and of what comes near
// the best the paths, one by one.
class MarkArraySearch {
 public:
  MarkArraySearch(AlternativeSearch& search, const Problem& problem)
      : search_(search), problem_(problem), work_before_(search.work()) {}

  void run(const std::optional<ContractionTree>& product) {
    const double best_ns = search_.best_ns();
    if (!std::isfinite(best_ns) || best_ns < least_marked_ns || !sparse_operands_co_iterate(problem_.network, problem_.operands)) return;
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
      if (wanted.size() == most_marked_trees) break;
      if (std::ranges::find(wanted, candidate.schedule.tree) == wanted.end()) wanted.push_back(candidate.schedule.tree);
    }
    const std::size_t factors = problem_.network.assignments.front().terms.front().factors.size();
    const bool another = product && std::ranges::find(wanted, *product) == wanted.end();
    if (another && factors <= most_marked_factors) wanted.push_back(*product);
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
    for (const std::vector<std::uint32_t>& order : step_orders(tree, most_marked_orders)) {
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

namespace {

// How far the search goes. Work is counted in loops priced.
struct Budget {
  double work = usual_work;
  std::size_t orders = 8;        // of the steps of one tree
  std::size_t refined_trees = 4; // have all their layouts tried, unless there is only one to choose
  std::size_t converted_sets = 64;  // up to six convertible occurrences are tried in every combination,
  std::size_t fill_limit_sets = 8;     // up to three with every choice of dense levels
};
constexpr Budget usual;
constexpr Budget for_proofs{2'000'000, 64, 100'000, 1024, 1024};

// Trees, orders of their steps, ways to store intermediates, and paths to the operands.
class Search {
 public:
  Search(const Problem& problem, SearchScope scope, const Budget& budget)
      : problem_(problem), scope_(scope), budget_(budget), search_(problem, scope.fused, budget.work) {
    plainest_.push_back({});
    if (everything().converts()) plainest_.push_back(everything());
    if (!scope.chains || search_.space().transposed().empty()) return;
    for (std::size_t number = 0, others = plainest_.size(); number < others; ++number) {
      plainest_.push_back(plainest_[number]);
      plainest_.back().transposed = search_.space().transposed().front();
    }
  }

  SearchResult run() {
    SearchResult& result = search_.result();
    TreeChoice choice = choose_trees(problem_);
    const std::optional<ContractionTree> product = whole_product(choice.trees);
    if (!scope_.fused) keep_storing(choice.trees);
    result.trees_too_large = leave_out_too_large(choice.trees, problem_, search_.models().formats().front());
    if (!choice.complete) result.frontier.left_out_trees(Why::layouts_untried);
    result.trees = choice.trees.size();
    search(choice.trees);
    refine();
    if (scope_.opens) open();
    search_.judge_the_best();
    const std::uint64_t statements = search_.models().described() * work_of_statement;
    if (problem_.options.budget) problem_.options.budget->take_work(search_.work() + statements);
    if (scope_.marks) MarkArraySearch(search_, problem_).run(product);
    return search_.finish();
  }

 private:
  // The tree without intermediates, where it may be chosen.
  std::optional<ContractionTree> whole_product(const std::vector<ContractionTree>& trees) const {
    const std::size_t nodes = problem_.network.assignments.front().terms.front().factors.size() + 1;
    const auto found = std::ranges::find_if(trees, [&](const ContractionTree& tree) { return tree.nodes.size() == nodes; });
    return found == trees.end() ? std::nullopt : std::optional(*found);
  }

  // Of every tree that its bound does not rule out the plainest choices of paths.
  void search(const std::vector<ContractionTree>& trees) {
    const PlanOptions& options = problem_.options;
    TreeBound bound(problem_);
    for (const ContractionTree& tree : trees) {
      if (search_.is_spent(1) || is_cancelled(options)) {
        search_.result().frontier.left_out_trees(Why::search_budget);
        break;
      }
      // Not before there is something to beat: the bound may ask for statistics that a large tensor is slow to give.
      const double least = std::isfinite(search_.best_ns()) ? bound.least_ns(tree, search_.best_ns()) : 0;
      if (least >= search_.best_ns()) {
        ++search_.result().trees_bounded;
        continue;
      }
      if (options.progress) options.progress("planning", static_cast<double>(ranked_.size()) / static_cast<double>(2 * trees.size()));
      const std::size_t number = add(tree, least);
      // Trees are told apart as far as the best of them have all their layouts tried.
      const bool all_refined = search_.space().convertible() < 2 || trees.size() <= budget_.refined_trees;
      const double limit = all_refined                              ? search_.limit()
                           : ranked_.size() < budget_.refined_trees ? infinity
                                                                    : std::max(search_.limit(), ranked_[budget_.refined_trees - 1].first);
      PricedChoice plainest;
      for (const PathChoice& choice : plainest_) {
        if (choice.converts() && !search_.pays(number, choice)) continue;
        const double takes = search_.solve(number, choice, limit);
        if (takes < plainest.ns) plainest = {choice, takes};
      }
      const std::pair<double, std::size_t> place{plainest.ns, number};
      refined_.emplace_back(plainest, number);
      ranked_.insert(std::ranges::upper_bound(ranked_, place), place);
    }
  }

  std::size_t add(const ContractionTree& tree, double least) {
    const bool some = std::isfinite(search_.best_ns()) && search_.work_in_budget() > work_of_every_order;
    std::vector<std::vector<std::uint32_t>> orders = step_orders(tree, budget_.orders + 1);
    const bool more = orders.size() > budget_.orders;
    if (more) orders.pop_back();
    const bool every_order = problem_.options.prove || some;
    const std::size_t number = search_.add_tree(
        least, contraction_variants(problem_, tree, orders, search_.models().formats(), every_order, !scope_.fused));
    if (more) search_.leave_out(number);
    return number;
  }

  // Of the trees that promise most the other choices of paths.
  void refine() {
    for (std::size_t place = 0; place < ranked_.size() && !is_cancelled(problem_.options); ++place) {
      const double share = static_cast<double>(ranked_.size() + place) / static_cast<double>(2 * ranked_.size());
      if (problem_.options.progress) problem_.options.progress("planning", share);
      const std::size_t number = ranked_[place].second;
      if (place < budget_.refined_trees || search_.space().convertible() < 2) refine(number);
      else if (search_.may_pay(number)) search_.leave_out(number);
    }
  }

  void refine(std::size_t tree) {
    PricedChoice best;
    refine_converted(tree, best);
    refine_transposed(tree, best);
    refine_chained(tree, best);
    if (best.ns < refined_[tree].first.ns) refined_[tree].first = best;
  }

  bool attempt(std::size_t tree, const PathChoice& choice, PricedChoice& best) {
    if (!search_.pays(tree, choice)) return false;
    if (search_.is_spent(1.5)) {
      if (!choice.is_beyond()) search_.leave_out(tree);
      return false;
    }
    const double ns = search_.solve(tree, choice, std::max(search_.limit(), best.ns));
    if (ns >= best.ns) return false;
    best = {choice, ns};
    return true;
  }

  // All choices of converted occurrences where they are few, else one change at a time as long as it helps.
  void refine_converted(std::size_t tree, PricedChoice& best) {
    if (search_.space().convertible() == 0) return;
    const std::uint64_t sets = std::uint64_t{1} << std::min<std::size_t>(search_.space().convertible(), 63);
    const auto with = [&](std::uint64_t converted, std::size_t fill_limit) {
      return attempt(tree, {converted, dense_fill_limits[fill_limit]}, best);
    };
    if (sets <= budget_.converted_sets) {
      for (std::uint64_t converted = 1; converted < sets && !is_cancelled(problem_.options); ++converted) {
        for (std::size_t fill_limit = 0; fill_limit < std::size(dense_fill_limits); ++fill_limit) {
          if (fill_limit == 0 ? converted != sets - 1 : sets <= budget_.fill_limit_sets && search_.space().differs(converted, fill_limit)) {
            with(converted, fill_limit);
          }
        }
      }
    } else {
      if (search_.may_pay(tree)) search_.leave_out(tree);
      for (bool better = true; better;) {
        better = false;
        const std::uint64_t from = best.choice.converted;
        for (std::size_t number = 0; number < search_.space().convertible(); ++number) {
          better = with(from ^ std::uint64_t{1} << number, 0) || better;
        }
      }
    }
    if (sets <= budget_.fill_limit_sets) return;
    if (search_.may_pay(tree)) search_.leave_out(tree);
    for (std::size_t fill_limit = 1; fill_limit < std::size(dense_fill_limits); ++fill_limit) {
      if (search_.space().differs(best.choice.converted, fill_limit)) with(best.choice.converted, fill_limit);
      if (search_.space().differs(sets - 1, fill_limit)) with(sets - 1, fill_limit);
    }
  }

  // Dense operands in another order, beside what is best of the others and beside none; all of them were tried in the beginning.
  void refine_transposed(std::size_t tree, PricedChoice& best) {
    if (!scope_.chains || search_.space().transposed().empty()) return;
    const PathChoice others = best.choice;
    for (const std::uint64_t transposed : search_.space().transposed()) {
      const bool tried = transposed == search_.space().transposed().front();
      if (!tried) attempt(tree, {0, dense_fill_limits[0], transposed}, best);
      if (others.converted == 0 || (tried && others == everything())) continue;
      attempt(tree, {others.converted, others.fill_limit, transposed}, best);
    }
  }

  // Over a chain of levels.
  void refine_chained(std::size_t tree, PricedChoice& best) {
    if (!scope_.chains || !search_.space().chains()) return;
    for (std::size_t fill_limit = 0; fill_limit < std::size(dense_fill_limits); ++fill_limit) {
      if (fill_limit > 0 && !search_.space().differs(1, fill_limit)) continue;
      attempt(tree, {1, dense_fill_limits[fill_limit], 0, true}, best);
    }
  }

  // Of the trees that are the best now operands opened and marked: beside none that is converted, and instead of what is best.
  void open() {
    std::ranges::stable_sort(refined_, {}, [](const auto& refined) { return refined.first.ns; });
    if (refined_.size() > budget_.refined_trees) refined_.resize(budget_.refined_trees);
    std::vector<std::pair<std::size_t, PathChoice>> found;
    for (const auto& [best, tree] : refined_) {
      if (best.choice.converts()) found.emplace_back(tree, PathChoice{});
      found.emplace_back(tree, best.choice);
    }
    search_.open(found);
  }

  PathChoice everything() const { return {search_.space().all_converted()}; }

  const Problem problem_;
  SearchScope scope_;
  Budget budget_;
  AlternativeSearch search_;
  std::vector<std::pair<PricedChoice, std::size_t>> refined_;  // the cheapest so far of each tree, upon which others are built; its number
  std::vector<PathChoice> plainest_;  // all as they are stored, all converted; the same with dense operands transposed
  std::vector<std::pair<double, std::size_t>> ranked_;  // trees by the best of their plainest choices
};

// Where there is little memory for a proof, there is none for the statements of so many trees either.
Budget budget_for(const PlanOptions& options) {
  Budget budget = options.prove ? for_proofs : usual;
  const double work = work_of_proof(options, budget.work);
  if (work < usual_work) budget = usual;
  budget.work = work;
  return budget;
}

}  // namespace

SearchResult search_schedules(const Problem& problem, SearchScope scope) {
  return Search(problem, scope, budget_for(problem.options)).run();
}

void add_smaller_intermediates(SearchResult& found, const Problem& problem, SearchScope scope) {
  const auto& [network, operands, options] = problem;
  const std::uint64_t limit = usable_memory(options);
  if (!found.memory_binds || found.candidates.empty() || found.candidates.front().cost.announced_bytes <= limit) return;
  double left = memory_beside(problem, result_of(found.candidates.front().schedule).format.all_dense());
  scope.marks = false;  // what they save is not memory
  constexpr int most_halvings = 6;
  for (int halving = 0; halving <= most_halvings && left >= 1 && !is_cancelled(options); ++halving, left /= 2) {
    PlanOptions bounded = options;
    bounded.memory_limit = static_cast<std::uint64_t>(left);
    bounded.prove = false;
    SearchResult smaller = search_schedules(Problem{network, operands, bounded}, scope);
    found.tried += smaller.tried;
    for (Candidate& candidate : smaller.candidates) {
      // Judged with the limit that there is: it says how many private copies there are.
      candidate.cost = cost(candidate.schedule, problem);
      if (candidate.cost.announced_bytes <= limit) add_candidate(found.candidates, candidate);
    }
    if (!smaller.candidates.empty() && smaller.candidates.front().cost.announced_bytes <= limit) break;
  }
}

void add_candidate(std::vector<Candidate>& candidates, Candidate candidate) {
  const auto place = std::ranges::upper_bound(candidates, candidate.ns(), {}, &Candidate::ns);
  candidates.insert(place, std::move(candidate));
}

void give_up_private_copies(Candidate& candidate, const Problem& problem) {
  Schedule serial = without_private_copies(candidate.schedule);
  if (serial == candidate.schedule) return;
  Cost less = cost(serial, problem);
  if (less.announced_bytes < candidate.cost.announced_bytes) candidate = {std::move(serial), std::move(less)};
}

}  // namespace weft
