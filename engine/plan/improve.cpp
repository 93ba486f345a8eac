#include "engine/plan/improve.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/plan/binding.h"
#include "engine/plan/memory_demand.h"
#include "engine/plan/prove.h"

namespace weft {
namespace {

// In the solver's units, some thousands per millisecond.
constexpr std::uint64_t usual_effort = 500'000;
constexpr std::uint64_t effort_for_proofs = 50'000'000;
// A proof leaves nests that take this much longer to the solver, so that it judges the program's choice and not only
// what the program could not decide.
constexpr double kept_for_proofs = 1.01;

constexpr std::size_t most_explained = 64;           // alternatives
constexpr std::size_t most_options_explained = 20'000;

constexpr const char* memory_family = "memory limit";

std::string pin_family(const OperandFacts& operand, const Network& network) {
  return fmt::format("the pinned layout {} of {}", operand.format.text(), network.tensors[operand.tensor].name);
}

// The same with one pinned operand converted: what the pin rules out.
std::vector<Alternative> unpinned(const Alternative& open, const Network& network,
                                  const std::vector<OperandFacts>& operands) {
  std::vector<Alternative> made;
  for (const OperandFacts& operand : operands) {
    OperandFacts freed = operand;
    freed.pinned = false;
    if (!operand.pinned || !may_be_converted(freed)) continue;
    Alternative without = open;
    without.forbidden_by = pin_family(operand, network);
    for (std::size_t number = 0; number < without.free.size(); ++number) {
      const ScheduledTensor& tensor = without.schedule.tensors[number];
      if (tensor.role == TensorRole::operand && tensor.tensor == operand.tensor) without.free[number] = true;
    }
    made.push_back(std::move(without));
  }
  return made;
}

}  // namespace

Improvement improve(const SearchResult& found, const Network& network, const std::vector<OperandFacts>& operands,
                    const PlanOptions& options) {
  Improvement improvement;
  std::vector<Alternative> alternatives = found.open;
  if (options.prove && found.winner) alternatives.push_back(*found.winner);
  if (alternatives.empty()) return improvement;

  const std::uint64_t memory = usable_memory(options);
  const auto best = std::find_if(found.candidates.begin(), found.candidates.end(),
                                 [&](const Candidate& candidate) { return candidate.cost.peak_bytes <= memory; });
  ProofRequest request;
  request.below_ns = best == found.candidates.end() ? std::numeric_limits<double>::infinity() : best->cost.ns;
  request.memory_limit = found.memory_binds ? memory : 0;
  request.effort = options.prove ? effort_for_proofs : usual_effort;
  request.kept = options.prove ? kept_for_proofs : 1;
  improvement.report.asked = true;
  auto proof = prove(network, operands, options, alternatives, request);
  if (!proof) {
    improvement.proven = false;
    improvement.report.unavailable = proof.error().message;
    return improvement;
  }
  improvement.proven = proof->proven;
  improvement.report.effort = proof->effort;
  improvement.report.effort_spent = proof->effort_spent;
  improvement.report.alternatives = proof->solved;
  improvement.report.bounded = proof->bounded;
  improvement.cheaper = std::move(proof->cheaper);
  return improvement;
}

std::string why_nothing_fits(const SearchResult& found, const Network& network,
                             const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  std::vector<Alternative> alternatives = found.open;
  for (const Alternative& open : found.open) {
    for (Alternative& without : unpinned(open, network, operands)) alternatives.push_back(std::move(without));
  }
  if (found.open.empty() || alternatives.size() > most_explained || !found.all_trees || !found.all_exhausted) return {};
  auto solver = Solver::create(Tracking::families);
  if (!solver) return {};
  const auto explained = [&](Solver& asked) {
    Encoding encoding(asked, network, operands, options, usable_memory(options));
    for (const Alternative& alternative : alternatives) {
      const CostModel model(alternative.schedule, network, operands, options, alternative.free, alternative.room);
      IntervalProgram program(model);
      const NestGraph graph = nest_graph(model, program, std::numeric_limits<double>::infinity(), most_options_explained);
      if (!graph.complete || !program.exact()) return false;
      if (!graph.states.empty()) encoding.add(alternative, graph);
    }
    encoding.close();
    return true;
  };
  if (!explained(*solver) || solver->check(usual_effort) != Satisfiable::no) return {};
  std::string text = "no order of loops, fusion or conversion needs less";
  const std::vector<std::string> core = solver->core();
  if (std::find(core.begin(), core.end(), memory_family) == core.end()) return {};
  for (const OperandFacts& operand : operands) {
    const std::string family = pin_family(operand, network);
    if (std::find(core.begin(), core.end(), family) == core.end()) continue;
    text += fmt::format(", because of {}", family);
  }
  return text;
}

}  // namespace weft
