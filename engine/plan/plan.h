// plan(): from a network and the statistics of its operands to the cheapest legal schedule known, and its explanation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/machine.h"
#include "engine/plan/schedule.h"
#include "weft/memory.h"
#include "weft/objective.h"
#include "weft/statistics.h"

namespace weft {

/// When the values of an operand are looked through for NaN and Inf, if a plan rests on there being none.
enum class Looks : std::uint8_t {
  once,     ///< they stay as they are
  always,   ///< before every run, for they change
  never,    ///< planned as if there were some
};

/// What is known of an operand (one per operand of the network, in the order of Network::tensors).
struct OperandFacts {
  TensorId tensor = 0;
  Format format;            ///< as it is stored now
  Statistics statistics;
  std::uint64_t bytes = 0;
  bool pinned = false;      ///< the user fixed the layout: never converted
  /// Where statistics and bytes are quantised: what they were before. Memory is predicted from it.
  struct Counted {
    Statistics statistics;
    std::uint64_t bytes = 0;
  };
  std::optional<Counted> counted = {};

  /// Made by an earlier assignment of the same run: its positions are not there before.
  bool computed = false;
  /// Dense, and certainly accumulated into everywhere: what nobody wants is absent where nothing was.
  bool certain = true;
  /// Of an assignment that is planned beside others: the part of a conversion's price that it bears; and whether
  /// `format` is that of a copy which another one pays for, so that everything else is as in a converted operand.
  double conversion_share = 1;
  bool copied = false;
  Looks looks = Looks::once;

  const Statistics& exact() const { return counted ? counted->statistics : statistics; }
  std::uint64_t exact_bytes() const { return counted ? counted->bytes : bytes; }
};

/// What a proof may still take, counted and not timed: of all parts of a network together, whether they are searched one after the
/// other or asked about at once.
struct ProofBudget {
  std::uint64_t effort = 0;  ///< of the solver, in its units
  std::uint64_t work = 0;    ///< loops priced

  bool spent() const { return effort == 0 || work == 0; }
  void take_effort(std::uint64_t units) { effort -= std::min(effort, units); }
  void take_work(std::uint64_t loops) { work -= std::min(work, loops); }
};

struct PlanOptions {
  // As in Schedule: in schedule.cpp.
  PlanOptions();
  PlanOptions(const PlanOptions&);
  PlanOptions(PlanOptions&&) noexcept;
  PlanOptions& operator=(const PlanOptions&);
  PlanOptions& operator=(PlanOptions&&) noexcept;
  ~PlanOptions();

  double calls = 1;                             ///< amortises conversions
  std::uint64_t memory_limit = ~std::uint64_t{0};  ///< bytes over operands, conversions, intermediates, results
  /// What a search for a proof may keep in memory, in bytes; it ends without one where that does not suffice.
  std::uint64_t planning_memory = ~std::uint64_t{0};
  bool strict_fp = false;
  bool prove = false;                           ///< search on until nothing cheaper can exist, with the solver as judge
  std::shared_ptr<ProofBudget> budget;          ///< of that proof; plan() makes one where there is none
  std::optional<ContractionTree> tree;          ///< pinned by --tree
  std::map<std::string, Format> result_formats; ///< requested by --format
  std::map<std::string, std::string> result_patterns;  ///< requested by --format NAME:like(OPERAND)
  /// Assignments whose results are wanted, beside the last and those of result_formats; the others may be fused away.
  std::set<std::string> results;
  Machine machine;                              ///< constants of the cost model
  Objective objective = Objective::time;
  /// Sizes of joins of sparse operands (joins.h) over what independence says, where they were counted.
  std::map<std::uint64_t, double> joins;
  /// Any of these ends planning, between trees and layouts, with an error; a plan does not depend on them.
  std::vector<Cancellation> cancelled_by;
  /// Told between trees, layouts and questions to Z3 how much of the search is done; often. May be empty.
  Progress progress;
};

/// Predicted work of one loop of the nest, in the order of the printed loops.
struct LoopCost {
  std::string index;
  std::uint32_t depth = 0;
  std::uint32_t statement = 0;  ///< the first statement that runs it
  double iterations = 0;        ///< total over the run
  double steps = 0;             ///< merge, search and gallop steps
  double flops = 0;
  double bytes = 0;
  double ns = 0;
  bool operator==(const LoopCost&) const = default;
};

struct MemoryDemand {
  std::string name;   ///< operand, conversion, intermediate, result, private copies
  std::uint64_t bytes = 0;
  bool grows = false;  ///< charged as it grows, and not announced: estimated
  bool operator==(const MemoryDemand&) const = default;
};

/// The judgement of one schedule.
struct Cost {
  Cost();
  Cost(const Cost&);
  Cost(Cost&&) noexcept;
  Cost& operator=(const Cost&);
  Cost& operator=(Cost&&) noexcept;
  ~Cost();

  double ns = 0;
  double flops = 0;
  double conversion_ns = 0;  ///< before division by calls
  std::uint64_t peak_bytes = 0;
  std::uint64_t announced_bytes = 0;  ///< of it, what is allocated before it is needed: all but sparse results
  std::vector<LoopCost> loops;
  std::vector<double> nests_ns;  ///< of each loop nest, in order, without conversions
  std::vector<MemoryDemand> memory;
  bool operator==(const Cost&) const = default;
};

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
  std::string producer;     ///< dp, z3, baseline, user
  /// Cheapest under the cost model and with intermediates in random access, within the memory limit: "all" over all
  /// trees, depth-first orders of statements, loop orders, fusions and choices of kept and converted operands; "tree"
  /// over those of the chosen tree.
  std::string optimal;      ///< "tree", "all" or "false"
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

/// The sentence of Plan::proof. `beyond`: the schedule has what is tried beside the proven choices; `why_not`: what keeps
/// a plan from being proven.
std::string proof_of(const std::string& optimal, bool beyond, const std::string& why_not);

/// Legal? Independent of every producer: loops cover indices, concordance of sparse layouts, fused prefixes equal,
/// intermediates written before read and shared prefixes consistent, the tree's products computed, presence of dense
/// intermediates (NaN and Inf), result formats honoured, strict-fp. Input error naming the statement.
Expected<void> check(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                     const PlanOptions& options);

bool is_cancelled(const PlanOptions& options);

/// How dear? A function of its arguments alone (8 threads are assumed for imbalance).
Cost cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
          const PlanOptions& options);

/// The same of a schedule that check() accepts. cost() is infinite where another order of the same loops would not be legal, for the
/// search decides about them as sets; this one is not.
Cost legal_cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                const PlanOptions& options);

/// The time that a legal schedule is predicted to take on so many threads, where plans assume `machine.threads`. One thread starts no
/// others: its nests are serial. Of the figures those in nanoseconds are meant; memory is that of the plan.
Cost predicted_cost(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                    const PlanOptions& options, unsigned threads);

/// Joins (joins.h) that the cost of a schedule depends on and that `options` has no counts of.
std::vector<std::uint64_t> uncounted_joins(const Schedule& schedule, const Network& network,
                                           const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// The cheapest legal schedule of the producers (dynamic program over all trees, baseline). A function of its arguments
/// alone, except that physical memory bounds what the limit allows. Cancelled, by PlanOptions::cancelled_by, or resource error where that leaves no schedule, naming
/// the demand and advising.
Expected<Plan> plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// A user's schedule, checked and judged; producer "user".
Expected<Plan> plan_given(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                          const PlanOptions& options);

/// Unfused, in stored order, sparse operands in discordant order converted: one n-ary product, or one nest per product
/// of a pinned tree. Legal whenever that tree is; the n-ary product always is.
Schedule baseline(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// Every schedule of a tiny network (at most `limit`): all trees, statement orders, loop orders, fusion depths.
std::vector<Schedule> enumerate_schedules(const Network& network, const std::vector<OperandFacts>& operands,
                                          const PlanOptions& options, std::size_t limit);

/// The best schedule that stores every intermediate between separate nests (no fusion): what unfused libraries do. A
/// schedule without any intermediate only where the trees allow no other.
Expected<Plan> plan_unfused(const Network& network, const std::vector<OperandFacts>& operands,
                            const PlanOptions& options);

/// Several lines for people: tree, nest, layouts (kept or converted, why), workspaces with bytes, iterations, flops,
/// bytes and time per loop, memory, the runner-up and why it lost.
std::string explain(const Plan& plan, const Network& network, const std::vector<OperandFacts>& operands,
                    const PlanOptions& options);

}  // namespace weft
