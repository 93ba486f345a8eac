#include "engine/plan/prove/improve.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "engine/plan/cost/memory_demand.h"

namespace weft {
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
  const double below_ns = best == found.candidates.end() ? infinity : best->cost.ns;
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

}  // namespace weft
