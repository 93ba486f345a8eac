#include "engine/plan/prove/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <ranges>
#include <set>
#include <utility>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/alternatives.h"

namespace weft {
namespace {

constexpr double most_pricing_work = 1'000'000;  // loops priced to tell which ways may be cheaper

// Ways of one assignment are asked about some at a time, those of several all at once.
struct Limits {
  std::size_t options_of_way = 0;
  std::size_t options_at_once = 0;  // of ways that share a solver
  std::uint64_t refused = 0;        // answers, per solver: the rest of its budget
};
constexpr Limits of_one{20'000, 4'000, 32};
constexpr Limits of_several{12'000, 12'000, 200};

CostModel model_of(const Way& way) {
  return CostModel(way.alternative.contractions, way.problem, way.alternative.paths);
}

class Prover {
 public:
  Prover(const Problem& problem, const std::vector<std::vector<Way>>& ways, const ProofRequest& request, const ProofJudge& judge)
      : problem_(problem), ways_(ways), request_(request), judge_(judge), limits_(ways.size() == 1 ? of_one : of_several) {
    proof_.ns = request.below_ns;
  }

  Proof run() {
    const PlanOptions& options = problem_.options;
    if (auto done = ask(); !done) {
      proof_.cheaper.clear();
      proof_.ns = request_.below_ns;
      proof_.exhausted = false;
      proof_.report.asked = true;
      proof_.report.unavailable = done.error().message;
    } else if (is_cancelled(options)) {
      proof_.exhausted = false;
    }
    if (options.budget) options.budget->take_effort(proof_.report.effort);
    return std::move(proof_);
  }

 private:
  Expected<void> ask() {
    bound();
    for (std::size_t next = 0; next < bounded_.size() && !proof_.report.effort_spent && !is_cancelled(problem_.options);) {
      const double begun = static_cast<double>(next) / static_cast<double>(bounded_.size());
      std::vector<Asked> asked = next_asked(next);
      if (!covers_all(asked)) continue;
      if (auto done = solve(std::move(asked), begun); !done) return done;
    }
    return {};
  }

  struct Bounded {
    std::size_t assignment = 0;
    const Way* way = nullptr;
    double conversion_ns = 0;  // the least of it: its share of copies that other assignments may read
    double least_ns = 0;
    double least_of_any_layout = infinity;  // where its layouts are priced before they are known, which bounds nothing
  };
  struct Asked {
    const Bounded* bounded = nullptr;
    NestGraph graph;
  };

  // What each way takes at least, and each assignment; the cheapest first.
  void bound() {
    const double most = work_of_proof(problem_.options, most_pricing_work);
    const std::set<TensorId> shared = shared_operands(problem_);
    least_.assign(ways_.size(), infinity);
    std::uint64_t work = 0;
    for (std::size_t assignment = 0; assignment < ways_.size(); ++assignment) {
      for (const Way& way : ways_[assignment]) {
        if (is_cancelled(problem_.options)) return;
        if (static_cast<double>(work) > most) {
          proof_.exhausted = false;
          proof_.report.effort_spent = true;
          break;
        }
        Bounded bounded{assignment, &way, least_conversion(way, shared)};
        const CostModel model = model_of(way);
        IntervalProgram program(model);
        bounded.least_ns = program.least({{}, 0, static_cast<std::uint32_t>(model.statements() - 1), 0}) + bounded.conversion_ns;
        work += program.work();
        if (!stores_as_priced(way.alternative.contractions)) bounded.least_of_any_layout = model.least_ns() + bounded.conversion_ns;
        if (!program.exact()) {
          proof_.exhausted = false;
          continue;
        }
        least_[assignment] = std::min(least_[assignment], bounded.least_ns);
        bounded_.push_back(bounded);
      }
    }
    if (problem_.options.budget) problem_.options.budget->take_work(work);
    std::ranges::stable_sort(bounded_, {}, [](const Bounded& way) { return std::pair{way.assignment, way.least_ns}; });
  }

  double least_conversion(const Way& way, const std::set<TensorId>& shared) const {
    const auto& [contractions, paths] = way.alternative;
    double ns = least_conversion_ns(way.alternative, way.problem.operands, problem_.options, shared);
    for (const TensorId tensor : shared) {
      const auto converted = [&](std::size_t number) { return paths[number].converts() && contractions.tensors[number].tensor == tensor; };
      if (std::ranges::none_of(std::views::iota(std::size_t{0}, paths.size()), converted)) continue;
      const double once = conversion_ns(facts_of(problem_.operands, tensor), problem_.options.machine);
      ns += once / static_cast<double>(readers_of(problem_.network, tensor)) / std::max(1.0, problem_.options.calls);
    }
    return ns;
  }

  // What a way of an assignment may take at most: the others take at least their cheapest.
  double below(std::size_t assignment) const {
    double ns = proof_.ns * request_.kept;
    for (std::size_t other = 0; other < least_.size(); ++other) ns -= other == assignment ? 0 : least_[other];
    return ns;
  }

  // Ways that share a solver, from `next` on; none where they are too large.
  std::vector<Asked> next_asked(std::size_t& next) {
    std::vector<Asked> asked;
    std::size_t options = 0;
    bool complete = true;
    for (; next < bounded_.size() && options < limits_.options_at_once; ++next) {
      const Bounded& bounded = bounded_[next];
      const double below = this->below(bounded.assignment);
      if (bounded.least_of_any_layout < below) proof_.overpriced = true;
      NestGraph graph;
      if (bounded.least_ns < below) {
        const CostModel model = model_of(*bounded.way);
        IntervalProgram program(model);
        graph = nest_graph(model, program, below - bounded.conversion_ns, limits_.options_of_way);
      }
      complete = complete && graph.complete;
      if (graph.complete && graph.states.empty()) ++proof_.report.bounded;
      if (!graph.complete || graph.states.empty()) continue;
      options += graph.options.size();
      asked.push_back({&bounded, std::move(graph)});
    }
    const bool too_large = ways_.size() > 1 && (!complete || options >= limits_.options_at_once);
    if (!complete || too_large) proof_.exhausted = false;
    if (!too_large) return asked;
    next = bounded_.size();
    return {};
  }

  bool covers_all(const std::vector<Asked>& asked) const {
    std::set<std::size_t> assignments;
    for (const Asked& one : asked) assignments.insert(one.bounded->assignment);
    return assignments.size() == ways_.size();
  }

  Expected<void> solve(std::vector<Asked> asked, double begun) {
    Expected<Solver> solver = Solver::create(Tracking::none, problem_.options.cancelled_by, bytes_of_solver(problem_.options));
    if (!solver) return std::unexpected(solver.error());
    SolverReport& report = proof_.report;
    report.asked = true;
    report.alternatives += asked.size();
    Encoding encoding(*solver, problem_, request_.memory_limit);
    for (Asked& one : asked) encoding.add(one.bounded->assignment, *one.bounded->way, std::move(one.graph));
    encoding.close();
    const std::uint64_t effort_before = report.effort;
    for (const std::uint64_t refused_before = proof_.refused; proof_.refused < refused_before + limits_.refused;) {
      const double spent = static_cast<double>(report.effort) / static_cast<double>(request_.effort);
      if (problem_.options.progress) problem_.options.progress("proving", std::max(begun, spent));
      encoding.below(proof_.ns * (1 - proof_rounding) * std::min(slack_, request_.kept));
      const Satisfiable answer = solver->check(request_.effort - std::min(report.effort, request_.effort));
      report.effort = effort_before + solver->effort_spent();
      if (answer == Satisfiable::no) return {};
      if (auto sufficed = solver->had_memory(); !sufficed) return sufficed;
      if (answer == Satisfiable::unknown) break;
      std::vector<Candidate> made;
      for (std::size_t assignment = 0; assignment < ways_.size(); ++assignment) made.push_back(judged(encoding.read(assignment)));
      if (const auto ns = judge_(made); ns && *ns < proof_.ns) {
        proof_.ns = *ns;
        proof_.cheaper = std::move(made);
        continue;
      }
      // Cheaper only by proof_rounding, or judged otherwise than encoded: never again this one.
      encoding.exclude_chosen();
      ++proof_.refused;
    }
    proof_.exhausted = false;
    report.effort_spent = true;
    return {};
  }

  Candidate judged(const ChosenNests& chosen) {
    const auto& [alternative, problem, layouts] = *chosen.way;
    Schedule schedule =
        complete(alternative.contractions, chosen, problem.network, model_of(*chosen.way), alternative.paths, problem.operands);
    schedule.roots = chosen.roots;
    Cost judged = cost(schedule, problem);
    const double loops_ns = judged.ns - judged.conversion_ns / std::max(1.0, problem_.options.calls);
    if (loops_ns < chosen.ns * (1 - proof_rounding)) slack_ = std::max(slack_, chosen.ns / loops_ns);
    if (slack_ > request_.kept) proof_.overpriced = true;
    return {std::move(schedule), std::move(judged)};
  }

  const Problem problem_;
  const std::vector<std::vector<Way>>& ways_;
  const ProofRequest& request_;
  const ProofJudge& judge_;
  const Limits limits_;
  double slack_ = 1;  // what answers were encoded dearer than judged, at most: so much dearer ones are asked for too
  std::vector<Bounded> bounded_;
  std::vector<double> least_;  // of each assignment
  Proof proof_;
};

}  // namespace

ProofRequest ProofRequest::of(const PlanOptions& options, double below_ns, std::uint64_t memory_limit) {
  const std::uint64_t for_proofs = options.budget ? options.budget->effort : budget_of_assignment.effort;
  return {below_ns, memory_limit, options.prove ? for_proofs : usual_effort, options.prove ? kept_for_proofs : 1};
}

Proof prove(const Problem& problem, const std::vector<std::vector<Way>>& ways, const ProofRequest& request,
            const ProofJudge& judge) {
  return Prover(problem, ways, request, judge).run();
}

Proof prove(const Problem& problem, const std::vector<Alternative>& alternatives, const ProofRequest& request) {
  std::vector<std::vector<Way>> ways(1);
  for (const Alternative& alternative : alternatives) ways.front().push_back({alternative, problem});
  return prove(problem, ways, request, [&](const std::vector<Candidate>& found) -> Expected<double> {
    const auto& [schedule, cost] = found.front();
    if (request.memory_limit != 0 && cost.announced_bytes > request.memory_limit) return fail(ErrorKind::resource, "too large");
    if (auto legal = check(schedule, problem); !legal) return std::unexpected(legal.error());
    return cost.ns;
  });
}

namespace {

constexpr std::size_t most_explained = 400;  // alternatives
constexpr std::size_t most_options_explained = 60'000;

}  // namespace

Proof improve(const SearchResult& found, const Problem& problem) {
  const PlanOptions& options = problem.options;
  std::vector<Alternative> alternatives = found.open;
  if (options.prove && found.winner) alternatives.push_back(*found.winner);
  if (alternatives.empty()) return {};
  const std::uint64_t memory = usable_memory(options);
  const auto fits = [&](const Candidate& candidate) { return candidate.cost.announced_bytes <= memory; };
  const auto best = std::ranges::find_if(found.candidates, fits);
  const double below_ns = std::min(options.below_ns, best == found.candidates.end() ? infinity : best->cost.ns);
  ProofRequest request = ProofRequest::of(options, below_ns, found.memory_binds ? memory : 0);
  const auto sparse = [](const Alternative& alternative) { return !alternative.contractions.tensors.back().dense(); };
  if (std::ranges::any_of(alternatives, sparse)) request.kept = kept_for_proofs;
  Proof proof = prove(problem, alternatives, request);
  proof.report.asked = true;
  return proof;
}

std::string why_nothing_fits(const SearchResult& found, const Problem& problem) {
  const PlanOptions& options = problem.options;
  if (found.open.empty() || found.open.size() > most_explained || found.frontier.why_not(infinity)) return {};
  auto solver = Solver::create(Tracking::families, options.cancelled_by);
  if (!solver) return {};
  const auto explained = [&](Solver& asked) {
    Encoding encoding(asked, problem, usable_memory(options));
    std::deque<Way> ways;
    std::size_t left = most_options_explained;
    for (const Alternative& alternative : found.open) {
      const CostModel model(alternative.contractions, problem, alternative.paths);
      IntervalProgram program(model);
      NestGraph graph = nest_graph(model, program, infinity, left);
      if (!graph.complete || !program.exact()) return false;
      left -= graph.options.size();
      if (!graph.states.empty()) encoding.add(0, ways.emplace_back(Way{alternative, problem}), std::move(graph));
    }
    encoding.close();
    return true;
  };
  if (!explained(*solver) || solver->check(usual_effort) != Satisfiable::no) return {};
  std::string text = "no order of loops, fusion or conversion fits";
  std::set<std::string> demands;
  for (const std::string& family : solver->core()) {
    if (family.starts_with(memory_family)) demands.insert(family.substr(memory_family.size()));
  }
  demands.erase("");
  if (!demands.empty()) text += fmt::format(": operands and results leave no room for {}", fmt::join(demands, "; "));
  return text;
}

// Several assignments.

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
    std::vector<std::optional<Format>> formats{std::nullopt};  // as planned, or in these
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
    const double below = best ? best->plan.cost.ns : infinity;
    if (made.stored.assignments.size() < 2 || !ask_solver(forest, made, below)) continue;
    forest.add(std::move(made));
  }
  ForestAttempt* best = forest.cheapest();
  if (!best || best->parts.size() < 2 || !(forest.options().prove || forest.memory_binds())) return;
  if (best->solver_asked) return;
  ask_solver(forest, *best, best->plan.cost.ns);
}

}  // namespace weft
