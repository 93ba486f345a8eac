#include "engine/plan/prove/improve.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <set>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/prove/prove.h"
#include "engine/plan/search/effort.h"

namespace weft {
namespace {

constexpr std::size_t most_explained = 400;  // alternatives
constexpr std::size_t most_options_explained = 60'000;

}  // namespace

Improvement improve(const SearchResult& found, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  Improvement improvement;
  std::vector<Alternative> alternatives = found.open;
  if (options.prove && found.winner) alternatives.push_back(*found.winner);
  if (alternatives.empty()) return improvement;

  const std::uint64_t memory = usable_memory(options);
  const auto best = std::find_if(found.candidates.begin(), found.candidates.end(),
                                 [&](const Candidate& candidate) { return candidate.cost.announced_bytes <= memory; });
  ProofRequest request;
  request.below_ns = best == found.candidates.end() ? std::numeric_limits<double>::infinity() : best->cost.ns;
  request.memory_limit = found.memory_binds ? memory : 0;
  request.effort = !options.prove ? usual_effort : options.budget ? options.budget->effort : budget_of_assignment.effort;
  const bool sparse = std::ranges::any_of(alternatives, [](const Alternative& alternative) {
    return !alternative.schedule.tensors.back().format.all_dense();
  });
  request.kept = options.prove || sparse ? kept_for_proofs : 1;
  auto proof = prove(problem, alternatives, request);
  if (!proof) {
    improvement.proven = false;
    improvement.report.asked = true;
    improvement.report.unavailable = proof.error().message;
    return improvement;
  }
  if (options.budget) options.budget->take_effort(proof->report.effort);
  improvement.proven = proof->proven();
  improvement.overpriced = proof->overpriced;
  improvement.report = std::move(proof->report);
  improvement.report.asked = true;
  if (proof->cheaper) improvement.cheaper = std::move(proof->cheaper->front());
  return improvement;
}

std::string why_nothing_fits(const SearchResult& found, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (found.open.empty() || found.open.size() > most_explained || !found.all_trees || !found.all_exhausted) return {};
  auto solver = Solver::create(Tracking::families, options.cancelled_by);
  if (!solver) return {};
  const auto explained = [&](Solver& asked) {
    Encoding encoding(asked, problem, usable_memory(options));
    std::deque<Way> ways;
    std::size_t left = most_options_explained;
    for (const Alternative& alternative : found.open) {
      const CostModel model(alternative.schedule, problem, alternative.free, alternative.room);
      IntervalProgram program(model);
      NestGraph graph = nest_graph(model, program, std::numeric_limits<double>::infinity(), left);
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

}  // namespace weft
