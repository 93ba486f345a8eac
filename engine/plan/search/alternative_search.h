// Branch and bound over alternatives: orders of a tree's statements, and paths to their operands. search.cpp says which there are; this
// finds the cheapest loops of each, has them judged, and keeps the best, the open ones and a frontier of those left out, under one budget.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/search/search.h"
#include "engine/plan/space/alternatives.h"

namespace weft {

/// Paths, and what was found with them takes.
struct PricedChoice {
  PathChoice choice;
  double ns = infinity;
};

class AlternativeSearch {
 public:
  /// Prices `most_work` loops at most. Refers to the parts of the problem.
  AlternativeSearch(const Problem& problem, bool fused, double most_work);

  AlternativeModels& models() { return models_; }
  const PathSpace& space() const { return space_; }
  SearchResult& result() { return result_; }
  double best_ns() const { return best_ns_; }  ///< of what fits into memory
  /// The best that fits with no operand opened, without mark arrays: its time, and the operands that it transposes.
  double unopened_ns() const { return winner_ ? *records_[*winner_].judged_ns : infinity; }
  std::uint64_t transposed() const { return winner_ ? records_[*winner_].choice.transposed : 0; }
  double limit() const { return limit_; }      ///< the second best: nothing dearer is looked for
  std::uint64_t work() const { return work_; }

  /// A tree whose steps can be ordered and stored in these ways, none of which takes less than `least_ns` without conversions.
  /// Its number.
  std::size_t add_tree(double least_ns, std::vector<Contractions> orders);

  /// The least that the orders of a tree take with these paths; infinite where it is no less than `limit`.
  double solve(std::size_t tree, const PathChoice& choice, double limit);

  /// What was found of these trees and choices with operands opened and marked, one more at a time as long as the loops that were found
  /// get cheaper; what they are the cheapest with is looked for anew. Nothing is claimed of them.
  void open(std::span<const std::pair<std::size_t, PathChoice>> found);

  /// The least that contractions with mark arrays take, judged; operands are opened where none is converted. Infinite too where they are
  /// not legal or do not fit. Nothing is claimed of them.
  double solve_marked(const Contractions& contractions, const PathChoice& choice, double limit);

  /// A choice of conversions that alone takes as long as the best schedule cannot pay.
  bool pays(std::size_t tree, const PathChoice& choice) const { return space_.least_ns(choice) + trees_[tree].least_ns < best_ns_; }
  /// Whether any conversion could.
  bool may_pay(std::size_t tree) const;
  /// Something of the tree is not tried that might be cheaper.
  void leave_out(std::size_t tree);

  /// Planning that takes longer than what it could save ends, but where a proof is asked for: after so many times the budget.
  bool is_spent(double times);
  double work_in_budget() const;

  /// What was solved and may be among the best; nothing is solved after it but with mark arrays.
  void judge_the_best();
  /// Everything that was found; alternatives that might still be cheaper are open, or left out. Nothing is to be asked after it.
  SearchResult finish();

 private:
  struct Tree {
    double least_ns = 0;
    std::vector<PricedOrder> orders;
    std::size_t frontier = 0;  // its number there
  };
  // What the interval program found for one alternative; conversions are the least that it pays.
  struct Record {
    std::size_t tree = 0;
    std::size_t order = 0;
    PathChoice choice;
    double least_ns = 0;
    IntervalProgram::Nests nests = {};
    std::optional<double> judged_ns = {};
  };

  AccessPaths paths(const Record& record) const { return space_.paths(contractions(record), record.choice); }
  const PricedOrder& order_of(const Record& record) const { return trees_[record.tree].orders[record.order]; }
  const Contractions& contractions(const Record& record) const { return order_of(record).contractions; }
  std::size_t number_of(const Record& record) const { return static_cast<std::size_t>(&record - records_.data()); }
  Alternative alternative(const Record& record) const { return {contractions(record), paths(record)}; }
  CostModel model_of(const PricedOrder& order, const AccessPaths& paths) { return models_.model(order, models_.numbers(order, paths)); }
  bool sparse_result() const { return !models_.formats().front().format.all_dense(); }

  double solve(Record record, const std::vector<std::uint32_t>& numbers, const CostModel& model, double limit);
  void judge(Record& record, const CostModel& model);
  PricedChoice opened(const PricedOrder& order, const LoopNests& nests, PricedChoice best);
  void keep_open(const Record& record, const Candidate& candidate, bool too_large, bool legal);

  const Problem problem_;
  bool fused_;
  bool co_iterates_;  // several sparse operands
  bool sums_first_ = false;  // some alternatives have partial sums
  double most_work_;
  std::uint64_t memory_;
  std::shared_ptr<AlternativeModels> priced_;
  AlternativeModels& models_;
  PathSpace space_;
  std::vector<Tree> trees_;
  std::vector<Record> records_;
  std::vector<std::size_t> open_;       // records that the solver is asked about
  std::vector<std::size_t> undecided_;  // records of what might be cheaper, about which the solver need not be asked
  std::optional<std::size_t> winner_;   // the record of the best schedule that fits with no operand opened
  SearchResult result_;
  double best_ns_;  // of what fits; before there is any, what it has to stay below
  double limit_;    // of the second best
  std::uint64_t work_ = 0;
};

}  // namespace weft
