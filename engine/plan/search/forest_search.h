// Planning several assignments: which are stored, and a plan for each that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/estimate/joins.h"
#include "engine/plan/search/planned.h"

namespace weft {

/// Assignments that are planned one by one do not see that a converted operand may serve several of them, nor which
/// layout of a result its readers would like.
struct JointParts {
  std::vector<Plan> parts;  ///< per assignment; copies that it shares with others are converted operands in it
  double ns = std::numeric_limits<double>::infinity();  ///< of all parts together, as judged
  std::uint64_t candidates = 0;
  /// No other layouts of shared tensors are cheaper, if the plans of the assignments (`all` or `tree`) are the cheapest
  /// for the layouts that they were asked for.
  bool all_layouts = true;
  Optimal optimal = Optimal::all;  ///< of the least proven of those plans
};

/// What the joined schedule of the parts costs; an error where it is not legal or does not fit.
using JointJudge = std::function<Expected<double>(const std::vector<Plan>&)>;

/// Which results are wanted decides whose layout is free: an intermediate may be stored in any order of its modes. A
/// search over the layouts of results and copies, cut off by the sum of what each assignment takes at least if it bears
/// only its share of a conversion. Without `layouts` everything stays as planned one by one. Counted in alternatives
/// tried, never in time. Memory: every part is planned for what the dense results of later ones leave. `known_entries`: where nothing
/// else is legal, what later assignments alone read has compressed levels.
Expected<JointParts> plan_jointly(const Problem& problem, const Planner& planner, bool layouts,
                                  const JointJudge& judge, bool known_entries = false);

/// One choice of the results that are stored, and the plan for it.
struct ForestAttempt {
  std::vector<TensorId> dropped;  ///< results that are not stored
  Network stored;                 ///< what the schedule speaks of
  std::vector<Plan> parts;        ///< per assignment of `stored`
  Optimal optimal = Optimal::none;  ///< of the parts, for these stored results
  bool solver_asked = false;
  Plan plan;
};

/// The cheapest plan of a network of several assignments, over
///  * which results that are not asked for are stored: of up to four every choice, of more those that store every
///    assignment, what is read often, or nothing. The others are written into the products that read them, so that the
///    planner fuses across them or stores what is between (always legal beside NaN and Inf);
///  * with `layouts`, in which layouts results that are not asked for are stored, and which copies of operands several
///    assignments share (plan_jointly()).
/// Stored results are read by later assignments as operands, in loop nests of their own. What is neither wanted nor read
/// is not computed. A product that is inlined and cannot be merged with its reader (it is larger than
/// most_merged_factors, or parenthesised) keeps the tree that is best for it alone, unless no plan with it is legal
/// beside NaN and Inf.
///
///     explore() -> attempts() and unfitting() -> prove_forest() (prove/prove.h) -> chosen()
class ForestSearch {
 public:
  /// Refers to network and operands. `planner` plans one assignment.
  ForestSearch(const Problem& problem, const Planner& planner, bool layouts);
  ForestSearch(const ForestSearch&) = delete;
  ForestSearch& operator=(const ForestSearch&) = delete;

  /// Plans every choice that is worth it.
  void explore();
  /// The cheapest plan of all attempts, with its proof; the error that a user can do most about where there is none.
  Expected<Plan> chosen();

  // For the solver.
  const std::vector<OperandFacts>& operands() const { return problem_.operands; }
  const PlanOptions& options() const { return options_; }
  const std::vector<Occurrence>& counted() const { return counted_; }
  bool layouts() const { return layouts_; }
  /// Choices that no plan was found for, or none that fits, planned one assignment after the other.
  std::deque<ForestAttempt>& unfitting() { return unfitting_; }
  bool memory_binds() const { return too_large_ > 0; }
  void add(ForestAttempt made) { attempts_.push_back(std::move(made)); }
  /// Null without attempts; good until one is added.
  ForestAttempt* cheapest();
  JointJudge judge_of(const Network& stored);
  Plan joined_plan(const ForestAttempt& made) const;

 private:
  std::vector<TensorId> unread() const;
  std::vector<TensorId> read_once(const std::vector<TensorId>& dead) const;
  bool fits(const std::vector<TensorId>& dropped, std::size_t most) const;
  std::vector<std::vector<TensorId>> stored_sets(const std::vector<TensorId>& dead);
  std::uint64_t most_tried() const;
  void attempt_with_trees(const ForestAttempt& alone, const ForestAttempt& grouped);
  bool is_merged(const Network& stored) const;
  void attempt(const Network& network, const std::vector<TensorId>& dropped);
  void refuse(Error error);

  PlanOptions options_;
  const Problem problem_;  // with these options
  std::vector<Occurrence> counted_;
  Planner planner_;
  std::deque<ForestAttempt> attempts_;
  std::deque<ForestAttempt> unfitting_;
  std::optional<Error> refused_;
  std::uint64_t tried_ = 0;
  std::uint64_t too_large_ = 0;
  bool known_entries_ = false;  // where nothing else is legal, results in between have compressed levels
  bool layouts_;                // of shared operands and results are chosen too
  bool all_sets_ = true;        // of results that could be stored were planned
};

/// What the sentence about a proof begins with where fused plans were not looked at.
inline constexpr const char* among_unfused = "Only plans that store every intermediate between nests were compared. ";

}  // namespace weft
