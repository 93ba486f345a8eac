// Plan: the schedule that was chosen or given, its price, and the claim that nothing is cheaper, by what was left out (Frontier).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/network/contraction_tree.h"
#include "engine/plan/cost/cost.h"

namespace weft {

/// Among which plans nothing is cheaper than the chosen one.
enum class Optimal : std::uint8_t {
  none,  ///< nothing is claimed
  tree,  ///< those of its contraction tree
  all,   ///< those of every tree
};

/// Why something was left out. The first of several is what a user is told.
enum class Why : std::uint8_t {
  solver_missing,
  effort_spent,
  priced_before_known,  ///< layouts on the way to the result
  too_many_nests,
  search_budget,
  layouts_untried,
};

/// What a search did not look at, and so what may be claimed of what it found.
class Frontier {
 public:
  /// A tree that is looked at: its number.
  std::size_t looks_at(const ContractionTree& tree);
  /// Plans of a tree, none of which takes less.
  void left_out(std::size_t tree, double least_ns, Why why) { left_out_.push_back({tree, least_ns, why, Scope::tree}); }
  /// Trees that are not looked at, all of whose plans may take anything.
  void left_out_trees(Why why) { left_out_.push_back({0, 0, why, Scope::other_trees}); }
  /// Plans of any tree.
  void left_out_any(Why why) { left_out_.push_back({0, 0, why, Scope::any_tree}); }

  /// Whether every tree was looked at, or ruled out by its bound.
  bool all_trees() const;

  /// What may be claimed of a plan of the chosen tree that takes `best_ns`. `beyond`: it has mark arrays, which are tried beside the
  /// proven choices, and its tree need not be among those that were looked at.
  Optimal claim(double best_ns, const ContractionTree& chosen, bool beyond = false) const;
  /// Why no more is claimed; nothing where all is.
  std::optional<Why> why_not(double best_ns) const;

 private:
  enum class Scope : std::uint8_t { tree, other_trees, any_tree };
  struct LeftOut {
    std::size_t tree = 0;
    double least_ns = 0;
    Why why = Why::layouts_untried;
    Scope scope = Scope::tree;
  };
  std::vector<ContractionTree> trees_;
  std::vector<LeftOut> left_out_;
};

/// Who found a schedule: the interval program, Z3, the user, or no search (baseline).
enum class Producer : std::uint8_t { search, solver, baseline, user };

/// The words of reports and plan files: dp, z3, baseline, user; false, tree, all. Nothing for other words.
std::string_view word(Producer producer);
std::string_view word(Optimal optimal);
std::optional<Producer> parse_producer(std::string_view from);
std::optional<Optimal> parse_optimal(std::string_view from);

/// Where a plan is from: made just now, or remembered.
enum class PlanOrigin : std::uint8_t { planned, memory, disk };

/// What Z3 was asked for a plan.
struct SolverReport {
  bool asked = false;
  std::uint64_t alternatives = 0;  ///< trees with their layouts that it was asked about
  std::uint64_t bounded = 0;       ///< others that the interval program rules out
  std::uint64_t effort = 0;        ///< in Z3's resource units
  bool effort_spent = false;       ///< before it had an answer: the best schedule known is kept
  std::string unavailable;         ///< why it could not be asked; empty if it could
};

struct Plan {
  Plan();
  Plan(const Plan&);
  Plan(Plan&&) noexcept;
  Plan& operator=(const Plan&);
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  Schedule schedule;
  Cost cost;
  Producer producer = Producer::search;
  /// Cheapest under the cost model and with intermediates in random access, within the memory limit: "all" over all
  /// trees, depth-first orders of statements, loop orders, fusions and choices of kept and converted operands; "tree"
  /// over those of the chosen tree.
  Optimal optimal = Optimal::none;
  /// What that says and what it does not, in one sentence: copies for lookups and levels opened in place may make a plan
  /// cheaper still, but not every choice of those is looked at.
  std::string proof;
  std::uint64_t candidates = 0;
  std::optional<Schedule> runner_up;
  std::optional<Cost> runner_up_cost;
  std::string why;          ///< one sentence: why the runner-up lost
  std::uint64_t too_large = 0;  ///< candidates that memory ruled out, or that gave up their private copies for it
  PlanOrigin origin = PlanOrigin::planned;
  std::uint64_t trees = 0;          ///< that were looked at
  std::uint64_t trees_bounded = 0;  ///< of them left out because a bound says that they take longer
  SolverReport solver;
};

/// plan(), or what stands for it.
using Planner = std::function<Expected<Plan>(const Problem&)>;

/// A user's schedule, checked and judged; producer "user".
Expected<Plan> plan_given(const Schedule& schedule, const Problem& problem);

/// Resource error: a schedule of this cost is the smallest that was found, and needs more than `limit` bytes. `why`: what keeps
/// everything smaller from being chosen, a part of a sentence, or nothing.
Error too_large(const Cost& cost, std::uint64_t limit, const std::string& why = {});

/// The sentence of Plan::proof. `beyond`: the schedule has mark arrays, levels opened in place or transposed operands, which are tried
/// beside the proven choices; `why_not`: the reason for claiming no more.
std::string proof_of(Optimal optimal, bool beyond, const std::string& why_not);
std::string proof_of(Optimal optimal, bool beyond, std::optional<Why> why_not);

/// One sentence: what a plan's runner-up, which it must have, takes more, and the first line of its schedule that differs.
std::string why_it_lost(const Plan& plan, const Network& network);

}  // namespace weft
