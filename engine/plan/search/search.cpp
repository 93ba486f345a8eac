#include "engine/plan/search/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/cost/tree_bound.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/space/access_paths.h"
#include "engine/plan/space/fitting_trees.h"
#include "engine/plan/space/partial_sums.h"
#include "engine/plan/space/sparse_intermediates.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

constexpr std::size_t wanted_candidates = 2;  // that fit: the best, and what it is compared with

// How far the search goes. Work is counted in loops priced.
struct Budget {
  double work = usual_work;
  std::size_t orders = 8;        // of the statements of one tree
  std::size_t refined_trees = 4; // have all their layouts tried, unless there is only one to choose
  std::size_t converted_sets = 64;  // up to six convertible occurrences are tried in every combination,
  std::size_t fill_limit_sets = 8;     // up to three with every choice of dense levels
};
constexpr Budget usual;
constexpr Budget for_proofs{2'000'000, 64, 100'000, 1024, 1024};

class Search {
 public:
  Search(const Problem& problem, bool fused, bool transposes)
      : network_(problem.network),
        operands_(problem.operands),
        options_(problem.options),
        fused_(fused),
        transposes_(transposes),
        budget_(problem.options.prove ? for_proofs : usual),
        co_iterates_(sparse_operands_co_iterate(problem.network, problem.operands)),
        memory_(usable_memory(problem.options)),
        priced_(std::make_shared<AlternativeModels>(problem)),
        models_(*priced_),
        formats_(priced_->formats()),
        space_(problem) {
    const auto& [network, operands, options] = problem;
    const double work = work_of_proof(options, budget_.work);
    if (work < usual_work) budget_ = usual;  // nor is there memory for the statements of so many trees
    budget_.work = work;
    if (options.prove) models_.table().most_bytes = bytes_of_proof(options);
    plainest_.push_back({});
    if (everything().converts()) plainest_.push_back(everything());
    if (transposes && !space_.transposed().empty()) {
      for (std::size_t number = 0, others = plainest_.size(); number < others; ++number) {
        plainest_.push_back(plainest_[number]);
        plainest_.back().transposed = space_.transposed().front();
      }
    }
  }

  SearchResult run() {
    TreeChoice choice = choose_trees(Problem{network_, operands_, options_});
    const std::size_t nodes = network_.assignments.front().terms.front().factors.size() + 1;
    const auto product = std::ranges::find_if(choice.trees, [&](const ContractionTree& tree) { return tree.nodes.size() == nodes; });
    if (product != choice.trees.end()) result_.product = *product;
    if (!fused_) keep_storing(choice.trees);
    result_.trees_too_large = leave_out_too_large(choice.trees, Problem{network_, operands_, options_}, formats_.front());
    if (!choice.complete) result_.frontier.left_out_trees(Why::layouts_untried);
    result_.trees = choice.trees.size();
    search(choice.trees);
    refine();
    judge_the_best();
    for (const std::size_t number : undecided_) {
      const Record& record = records_[number];
      if (record.least_ns >= best_ns_ * (1 - accuracy)) continue;
      // Where memory binds the solver is asked anyway.
      if (result_.memory_binds) result_.open.push_back(alternative(record));
      else leave_out(record.tree);
    }
    if (options_.budget) options_.budget->take_work(work_ + models_.described() * work_of_statement);
    result_.models = std::move(priced_);
    return std::move(result_);
  }

 private:
  struct Tree {
    double least_ns = 0;  // without conversions
    std::vector<StatementOrder> orders;
    std::size_t frontier = 0;  // its number there
  };
  // What the interval program found for one alternative; conversions are the least that it pays.
  struct Record {
    std::size_t tree = 0;
    std::size_t order = 0;
    PathChoice choice;
    double least_ns = 0;
    IntervalProgram::Nests nests;
    bool judged = false;
  };

  // Of every tree that its bound does not rule out the plainest choices of paths.
  void search(const std::vector<ContractionTree>& trees) {
    TreeBound bound(Problem{network_, operands_, options_});
    for (const ContractionTree& tree : trees) {
      if (is_spent(1) || is_cancelled(options_)) {
        result_.frontier.left_out_trees(Why::search_budget);
        break;
      }
      // Not before there is something to beat: the bound may ask for statistics that a large tensor is slow to give.
      const double least = std::isfinite(best_ns_) ? bound.least_ns(tree, best_ns_) : 0;
      if (least >= best_ns_) {
        ++result_.trees_bounded;
        continue;
      }
      if (options_.progress) options_.progress("planning", static_cast<double>(trees_.size()) / static_cast<double>(2 * trees.size()));
      add(tree, least);
      const std::size_t number = trees_.size() - 1;
      // Trees are told apart as far as the best of them have all their layouts tried.
      const bool all_refined = space_.convertible() < 2 || trees.size() <= budget_.refined_trees;
      const double limit = all_refined                              ? limit_
                           : ranked_.size() < budget_.refined_trees ? infinity
                                                                    : std::max(limit_, ranked_[budget_.refined_trees - 1].first);
      double ns = infinity;
      for (const PathChoice& choice : plainest_) {
        if (!choice.converts() || pays(number, choice)) ns = std::min(ns, solve(number, choice, limit));
      }
      const std::pair<double, std::size_t> place{ns, number};
      ranked_.insert(std::ranges::upper_bound(ranked_, place), place);
    }
  }

  void add(const ContractionTree& tree, double least) {
    trees_.push_back({least, {}, 0});
    const bool every_order = options_.prove || (std::isfinite(best_ns_) && work_in_budget() > work_of_every_order);
    std::size_t tried = 0;
    for (const std::vector<std::uint32_t>& order : statement_orders(tree, budget_.orders + 1)) {
      if (tried++ == budget_.orders) break;
      for (const ResultFormat& format : formats_) {
        Schedule statements = statements_of(network_, tree, order, operands_, format);
        const std::size_t contractions = statements.statements.size();
        for (Schedule& variant : statement_variants(std::move(statements), Problem{network_, operands_, options_}, every_order, !fused_)) {
          sums_first_ = sums_first_ || variant.statements.size() > contractions;
          trees_.back().orders.push_back(models_.order_of(std::move(variant)));
        }
      }
    }
    trees_.back().frontier = result_.frontier.looks_at(trees_.back().orders.front().statements.tree);
    if (tried > budget_.orders) leave_out(trees_.size() - 1);
  }

  // Of the trees that promise most the other choices of layouts.
  void refine() {
    for (std::size_t place = 0; place < ranked_.size() && !is_cancelled(options_); ++place) {
      const double share = static_cast<double>(ranked_.size() + place) / static_cast<double>(2 * ranked_.size());
      if (options_.progress) options_.progress("planning", share);
      const std::size_t number = ranked_[place].second;
      if (place < budget_.refined_trees || space_.convertible() < 2) refine(number);
      else if (may_pay(number)) leave_out(number);
    }
  }

  void leave_out(std::size_t tree) {
    result_.frontier.left_out(trees_[tree].frontier, trees_[tree].least_ns, result_.spent ? Why::search_budget : Why::layouts_untried);
  }

  // Planning that takes longer than what it could save ends, but a proof was asked for.
  bool is_spent(double times) {
    const bool spent = models_.is_full() || static_cast<double>(work_ + models_.described() * work_of_statement) > times * work_in_budget();
    result_.spent = result_.spent || spent;
    return spent;
  }

  double work_in_budget() const {
    const double usual_share = weft::work_in_budget(best_ns_, options_, budget_.work, co_iterates_);
    return sums_first_ ? std::min(usual_share * share_with_partial_sums, budget_.work) : usual_share;
  }

  bool sparse_result() const { return !formats_.front().format.all_dense(); }

  // Whether any conversion could pay for a tree.
  bool may_pay(std::size_t tree) const {
    for (std::size_t number = 0; number < space_.convertible(); ++number) {
      if (pays(tree, {std::uint64_t{1} << number})) return true;
    }
    return false;
  }

  // The cheapest choice of paths of one tree so far, upon which others are built.
  struct Refined {
    PathChoice choice;
    double ns = infinity;
  };

  void refine(std::size_t tree) {
    Refined best;
    refine_converted(tree, best);
    refine_transposed(tree, best);
  }

  bool attempt(std::size_t tree, const PathChoice& choice, Refined& best) {
    if (!pays(tree, choice)) return false;
    if (is_spent(1.5)) {
      if (choice.transposed == 0) leave_out(tree);
      return false;
    }
    const double ns = solve(tree, choice, std::max(limit_, best.ns));
    if (ns >= best.ns) return false;
    best = {choice, ns};
    return true;
  }

  // All choices of converted occurrences where they are few, else one change at a time as long as it helps.
  void refine_converted(std::size_t tree, Refined& best) {
    if (space_.convertible() == 0) return;
    const std::uint64_t sets = std::uint64_t{1} << std::min<std::size_t>(space_.convertible(), 63);
    const auto with = [&](std::uint64_t converted, std::size_t fill_limit) {
      return attempt(tree, {converted, dense_fill_limits[fill_limit]}, best);
    };
    if (sets <= budget_.converted_sets) {
      for (std::uint64_t converted = 1; converted < sets && !is_cancelled(options_); ++converted) {
        for (std::size_t fill_limit = 0; fill_limit < std::size(dense_fill_limits); ++fill_limit) {
          if (fill_limit == 0 ? converted != sets - 1 : sets <= budget_.fill_limit_sets && space_.differs(converted, fill_limit)) {
            with(converted, fill_limit);
          }
        }
      }
    } else {
      if (may_pay(tree)) leave_out(tree);
      for (bool better = true; better;) {
        better = false;
        const std::uint64_t from = best.choice.converted;
        for (std::size_t number = 0; number < space_.convertible(); ++number) {
          better = with(from ^ std::uint64_t{1} << number, 0) || better;
        }
      }
    }
    if (sets <= budget_.fill_limit_sets) return;
    if (may_pay(tree)) leave_out(tree);
    for (std::size_t fill_limit = 1; fill_limit < std::size(dense_fill_limits); ++fill_limit) {
      if (space_.differs(best.choice.converted, fill_limit)) with(best.choice.converted, fill_limit);
      if (space_.differs(sets - 1, fill_limit)) with(sets - 1, fill_limit);
    }
  }

  // Dense operands in another order, beside what is best of the others and beside none; all of them were tried in the beginning.
  void refine_transposed(std::size_t tree, Refined& best) {
    if (!transposes_ || space_.transposed().empty()) return;
    const PathChoice others = best.choice;
    for (const std::uint64_t transposed : space_.transposed()) {
      const bool tried = transposed == space_.transposed().front();
      if (!tried) attempt(tree, {0, dense_fill_limits[0], transposed}, best);
      if (others.converted == 0 || (tried && others == everything())) continue;
      attempt(tree, {others.converted, others.fill_limit, transposed}, best);
    }
  }

  PathChoice everything() const { return {space_.all_converted()}; }

  // A choice of conversions that alone takes as long as the best schedule cannot pay.
  bool pays(std::size_t tree, const PathChoice& choice) const {
    return space_.least_ns(choice) + trees_[tree].least_ns < best_ns_;
  }

  // Infinite where it takes no less than the limit. The order that promises most comes first, and bounds the others: nothing
  // is wanted of them that takes longer than it and than the second best schedule.
  double solve(std::size_t tree, const PathChoice& choice, double limit) {
    struct Promise {
      double least_ns = 0;
      std::size_t order = 0;
      std::vector<std::uint32_t> numbers;
      std::unique_ptr<const CostModel> model;
    };
    std::vector<Promise> promises;
    for (std::size_t order = 0; order < trees_[tree].orders.size(); ++order) {
      const StatementOrder& statements = trees_[tree].orders[order];
      Promise promise{0, order, models_.numbers(statements, space_.paths(statements.statements, choice)), {}};
      promise.model = std::make_unique<const CostModel>(models_.model(statements, promise.numbers));
      if (trees_[tree].orders.size() > 1 || std::isfinite(limit)) promise.least_ns = promise.model->least_ns();
      promises.push_back(std::move(promise));
    }
    std::ranges::stable_sort(promises, {}, &Promise::least_ns);
    double best = infinity;
    for (const Promise& promise : promises) {
      const double below = std::min(limit, std::max(limit_, best));
      ++result_.tried;
      work_ += work_of_model;
      if (promise.least_ns + space_.least_ns(choice) < below) {
        if (!stores_as_priced(trees_[tree].orders[promise.order].statements)) leave_out(tree);
        best = std::min(best, solve({tree, promise.order, choice, 0, {}}, promise.numbers, *promise.model, below));
      }
    }
    return best;
  }

  AccessPaths paths(const Record& record) const { return space_.paths(statements(record), record.choice); }

  const StatementOrder& order_of(const Record& record) const { return trees_[record.tree].orders[record.order]; }
  const Schedule& statements(const Record& record) const { return order_of(record).statements; }
  std::size_t number_of(const Record& record) const { return static_cast<std::size_t>(&record - records_.data()); }
  Alternative alternative(const Record& record) const { return {statements(record), paths(record)}; }

  double solve(Record record, const std::vector<std::uint32_t>& numbers, const CostModel& model, double limit) {
    const double conversions_ns = space_.least_ns(record.choice);
    IntervalProgram program(model, fused_, models_.table(), numbers);
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

  void judge_the_best() {
    std::vector<std::size_t> order(records_.size());
    for (std::size_t number = 0; number < order.size(); ++number) order[number] = number;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
      return records_[left].least_ns < records_[right].least_ns;
    });
    for (const std::size_t number : order) {
      Record& record = records_[number];
      const auto beaten = std::count_if(result_.candidates.begin(), result_.candidates.end(), [&](const Candidate& known) {
        return known.cost.announced_bytes <= memory_ && known.cost.ns <= record.least_ns;
      });
      if (static_cast<std::size_t>(beaten) >= wanted_candidates) break;
      if (record.judged) continue;
      judge(record, models_.model(order_of(record), models_.numbers(order_of(record), paths(record))));
    }
    std::sort(result_.candidates.begin(), result_.candidates.end(), [&](const Candidate& left, const Candidate& right) {
      if (left.cost.ns != right.cost.ns) return left.cost.ns < right.cost.ns;
      const auto [left_line, right_line] = first_different_lines(left.schedule, right.schedule, network_);
      return left_line < right_line;
    });
    for (const std::size_t number : open_) {
      if (records_[number].least_ns < best_ns_ * (1 - accuracy)) result_.open.push_back(alternative(records_[number]));
    }
    if (!winner_) return;
    result_.transposed = records_[*winner_].choice.transposed;
    if (options_.prove && result_.transposed == 0) result_.winner = alternative(records_[*winner_]);
  }

  void judge(Record& record, const CostModel& model) {
    record.judged = true;
    Schedule schedule = statements(record);
    for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
      schedule.statements[number].loops = record.nests.loops[number];
      schedule.statements[number].fused = record.nests.fused[number];
    }
    Candidate candidate{complete(std::move(schedule), network_, model, paths(record), operands_), {}};
    if (!record.choice.converts() && is_of_model(statements(record)) && is_of_model(candidate.schedule)) {
      candidate.cost = with_memory(time_cost(candidate.schedule, Problem{network_, operands_, options_}, model), candidate.schedule,
                                   Problem{network_, operands_, options_});
    } else {
      candidate.cost = cost(candidate.schedule, Problem{network_, operands_, options_});
    }
    const bool too_large = candidate.cost.announced_bytes > memory_;
    if (too_large) {
      result_.memory_binds = true;
      serialize(candidate);
      if (candidate.cost.announced_bytes <= memory_) ++result_.serialized;
    }
    const bool fits = candidate.cost.announced_bytes <= memory_;
    // The program's figure is a bound: what the alternative really can do is for the solver to say. About layouts on the
    // way to a sparse result, which are priced before they are known, it is asked for a proof only.
    // Where it is not legal, another order of the same loops might be.
    const bool known = std::any_of(result_.candidates.begin(), result_.candidates.end(),
                                   [&](const Candidate& other) { return other.schedule == candidate.schedule; });
    const bool legal = known || check(candidate.schedule, Problem{network_, operands_, options_});
    // Nothing is claimed of transposed operands.
    if (record.choice.transposed == 0 && (!fits || !legal || candidate.cost.ns > record.least_ns * (1 + accuracy))) {
      if (!sparse_result() || too_large || !legal || options_.prove) {
        open_.push_back(number_of(record));
      } else {
        undecided_.push_back(number_of(record));
      }
    }
    // Some intermediates on the way to a sparse result are priced before their layout is known.
    const bool overpriced = !record.choice.converts() && candidate.cost.ns < record.least_ns * (1 - accuracy);
    if (sparse_result() && overpriced) leave_out(record.tree);
    if (known || !legal) return;
    if (fits && candidate.cost.ns < best_ns_) {
      limit_ = best_ns_;
      best_ns_ = candidate.cost.ns;
      winner_ = number_of(record);
    }
    if (fits && candidate.cost.ns > best_ns_) limit_ = std::min(limit_, candidate.cost.ns);
    result_.candidates.push_back(std::move(candidate));
  }

  // Whether the model that the loops were chosen by has the layouts that the schedule has, in the end as in the beginning.
  static bool is_of_model(const Schedule& schedule) {
    return std::ranges::all_of(schedule.tensors, [](const ScheduledTensor& tensor) {
      return tensor.role == TensorRole::operand || tensor.format.all_dense();
    });
  }

  // Private copies go first: the same loops on one thread.
  void serialize(Candidate& candidate) const {
    Schedule serial = candidate.schedule;
    std::replace(serial.roots.begin(), serial.roots.end(), RootReduction::private_copies, RootReduction::serial);
    Cost less = cost(serial, Problem{network_, operands_, options_});
    if (less.announced_bytes < candidate.cost.announced_bytes) candidate = {std::move(serial), std::move(less)};
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  bool fused_;
  bool transposes_;
  Budget budget_;
  bool co_iterates_;  // several sparse operands
  bool sums_first_ = false;  // some alternatives have partial sums
  std::uint64_t memory_;
  std::shared_ptr<AlternativeModels> priced_;
  AlternativeModels& models_;
  const std::vector<ResultFormat>& formats_;
  PathSpace space_;
  std::vector<PathChoice> plainest_;  // all as they are stored, all converted; the same with dense operands transposed
  std::vector<Tree> trees_;
  std::vector<Record> records_;
  std::vector<std::pair<double, std::size_t>> ranked_;  // trees by the best of their plainest choices
  std::vector<std::size_t> open_;       // records that the solver is asked about
  std::optional<std::size_t> winner_;   // the record of the best schedule that fits
  std::vector<std::size_t> undecided_;  // records of what might be cheaper, about which the solver need not be asked
  SearchResult result_;
  double best_ns_ = infinity;  // of what fits
  double limit_ = infinity;    // the second best: nothing dearer is looked for
  std::uint64_t work_ = 0;
};

}  // namespace

SearchResult search_schedules(const Problem& problem, bool fused, bool transposes) {
  return Search(problem, fused, transposes).run();
}

}  // namespace weft
