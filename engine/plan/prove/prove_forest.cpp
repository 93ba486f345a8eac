#include "engine/plan/prove/prove_forest.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/alternatives.h"
#include "engine/plan/space/shared_layouts.h"

namespace weft {
namespace {

constexpr std::size_t most_ways = 5'000;

class WaysOfAssignments {
 public:
  WaysOfAssignments(const Problem& problem, const std::vector<Occurrence>& counted) : stored_(problem), counted_(counted) {
    for (std::size_t part = 0; part < parts(); ++part) networks_.push_back(part_network(problem.network, part));
  }

  /// Nothing where there are too many, or what an assignment stores is not known before its loops are. They refer to this.
  std::optional<std::vector<std::vector<Way>>> all() {
    for (std::size_t part = 0; part < parts(); ++part) {
      ways_.emplace_back();
      results_.emplace_back();
      const auto add_known = [&](const std::vector<OperandFacts>& known) { return add(part, known); };
      if (!for_each_known(stored_.network, part, results_, stored_.operands, add_known)) return std::nullopt;
    }
    return std::move(ways_);
  }

 private:
  std::size_t parts() const { return stored_.network.assignments.size(); }
  TensorId result(std::size_t part) const { return stored_.network.assignments[part].result.tensor; }

  bool add(std::size_t part, const std::vector<OperandFacts>& operands) {
    const std::vector<OperandFacts>& known = known_.emplace_back(operands);
    const Problem problem{networks_[part], known, stored_.options};
    const bool sparse = !plainest_result_format(problem).format.all_dense();
    const bool read = readers_of(stored_.network, result(part)) > 0;
    const bool wanted = is_wanted(stored_.network.tensors[result(part)].name, stored_.network, stored_.options);
    if (sparse && read && wanted) return false;
    std::vector<std::optional<Format>> formats{std::nullopt};
    if (read && !wanted) {
      const SharedLayouts layouts = result_layouts(problem);
      if (!layouts.all) return false;
      if (sparse && !layouts.formats.empty()) formats.clear();
      formats.insert(formats.end(), layouts.formats.begin(), layouts.formats.end());
    }
    return std::ranges::all_of(formats, [&](const auto& format) { return add(part, known, format, read); });
  }

  bool add(std::size_t part, const std::vector<OperandFacts>& known, const std::optional<Format>& stored, bool read) {
    PlanOptions& options = options_.emplace_back(stored_.options);
    options.joins = renumbered(stored_.options.joins, counted_, occurrences(networks_[part], known));
    options.reorders_results = false;
    if (stored) options.result_formats[stored_.network.tensors[result(part)].name] = *stored;
    const Problem problem{networks_[part], known, options};
    AlternativeChoice choice = all_alternatives(problem, most_ways);
    if (!choice.complete || number_ + choice.alternatives.size() > most_ways) return false;
    for (Alternative& alternative : choice.alternatives) {
      const ContractedTensor& target = alternative.contractions.tensors.back();
      if (stored && target.delivered) continue;
      std::vector<std::pair<TensorId, std::string>> layouts;
      for (const OperandFacts& facts : known) {
        if (!facts.computed || !reads(stored_.network.assignments[part], facts.tensor)) continue;
        layouts.emplace_back(facts.tensor, facts.format.text());
      }
      if (read) {
        layouts.emplace_back(result(part), target.layout.text());
        const auto same = [&](const OperandFacts& facts) { return same_layout(facts.format, target.layout); };
        if (std::ranges::none_of(results_[part], same)) {
          results_[part].push_back(stored_facts(stored_.network, stored_.network.assignments[part], target.layout, known));
        }
      }
      ways_[part].push_back({std::move(alternative), problem, std::move(layouts)});
      ++number_;
    }
    return true;
  }

  const Problem stored_;
  const std::vector<Occurrence>& counted_;
  std::deque<Network> networks_;  // referred to by the ways, as the following
  std::deque<std::vector<OperandFacts>> known_;
  std::deque<PlanOptions> options_;
  std::vector<std::vector<OperandFacts>> results_;  // per assignment: how its result may be stored
  std::vector<std::vector<Way>> ways_;
  std::size_t number_ = 0;
};

std::vector<Plan> plans_of(const std::vector<Candidate>& parts) {
  std::vector<Plan> plans;
  for (const Candidate& part : parts) {
    Plan& plan = plans.emplace_back();
    plan.schedule = part.schedule;
    plan.cost = part.cost;
    plan.producer = Producer::solver;
    plan.optimal = Optimal::all;
    plan.candidates = 1;
  }
  return plans;
}

// Whether something cheaper than `below` was found, which the attempt then has.
bool ask_solver(ForestSearch& forest, ForestAttempt& made, double below) {
  const PlanOptions& options = forest.options();
  const std::uint64_t memory_limit = options.memory_limit == ~std::uint64_t{0} ? 0 : usable_memory(options);
  made.solver_asked = true;
  if (options.prove && !proves(options)) {
    made.optimal = Optimal::none;
    made.plan.solver.effort_spent = true;
    made.plan.optimal = made.optimal;
    return false;
  }
  const JointJudge judge = forest.judge_of(made.stored);
  Proof proof = prove_assignments(Problem{made.stored, forest.operands(), options}, forest.counted(),
                                  ProofRequest::of(options, below, memory_limit),
                                  [&](const std::vector<Candidate>& parts) { return judge(plans_of(parts)); });
  const bool found = !proof.cheaper.empty();
  if (found) {
    made.parts = plans_of(proof.cheaper);
    made.plan = forest.joined_plan(made);
  }
  if (proof.proven()) made.optimal = Optimal::all;
  else if (found || !proof.report.unavailable.empty()) made.optimal = Optimal::none;
  made.plan.solver = std::move(proof.report);
  made.plan.optimal = made.optimal;
  return found;
}

}  // namespace

Proof prove_assignments(const Problem& problem, const std::vector<Occurrence>& counted, const ProofRequest& request,
                        const ProofJudge& judge) {
  WaysOfAssignments assignments(problem, counted);
  if (const auto ways = assignments.all()) return prove(problem, *ways, request, judge);
  Proof nothing;
  nothing.ns = request.below_ns;
  nothing.exhausted = false;
  return nothing;
}

void prove_forest(ForestSearch& forest) {
  if (!forest.layouts()) return;
  for (ForestAttempt& made : forest.unfitting()) {
    const ForestAttempt* best = forest.cheapest();
    const double below = best ? best->plan.cost.ns : std::numeric_limits<double>::infinity();
    if (made.stored.assignments.size() < 2 || !ask_solver(forest, made, below)) continue;
    forest.add(std::move(made));
  }
  ForestAttempt* best = forest.cheapest();
  if (!best || best->parts.size() < 2 || !(forest.options().prove || forest.memory_binds())) return;
  if (best->solver_asked) return;
  ask_solver(forest, *best, best->plan.cost.ns);
}

}  // namespace weft
