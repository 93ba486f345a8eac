// From a network to code: the stages as a table of contents. A cheap, copyable, thread-safe handle; no globals.
//
//   Network --plan--> Plan --compile--> CompiledNetwork --bind--> BoundNetwork --run--> results
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/compiled_network.h"
#include "engine/plan/plan.h"
#include "weft/options.h"
#include "weft/tensor.h"

namespace weft {

/// How far a kernel is made for the operands at hand.
struct CompileFor {
  Specialization grade = Specialization::profiled;
  double calls = 1;  ///< expected; decides what Specialization::automatic means
  /// Whose patterns may be baked in; null: none.
  const std::map<std::string, Tensor>* tensors = nullptr;
  /// What the plan was made with: so is one for operands that need another.
  PlanOptions planned = {};
};

/// What is known of an operand that may not be there yet.
struct OperandFigures {
  Statistics statistics;
  std::uint64_t bytes = 0;
};

class Pipeline {
 public:
  static Expected<Pipeline> create(EngineOptions options);
  const EngineOptions& options() const;

  /// Facts of operands as the planner wants them, quantised, one per operand of the network, in the order of
  /// Network::tensors.
  std::vector<OperandFacts> facts(const Network& network, const std::map<std::string, Tensor>& operands,
                                  const std::map<std::string, bool>& pinned) const;
  std::vector<OperandFacts> facts(const Network& network, const std::map<std::string, OperandFigures>& operands,
                                  const std::map<std::string, bool>& pinned) const;
  /// The plan of the caches, else made. Plan::origin says which.
  Expected<Plan> plan(const Network& network, const std::vector<OperandFacts>& operands,
                      const PlanOptions& options) const;
  /// The loop programs of a plan, without compiling them.
  Expected<std::vector<LoweredNest>> lower(const Network& network, const Plan& plan,
                                           const std::vector<OperandFacts>& operands,
                                           const LoweringFacts& more = {}) const;
  /// Lowers, looks the canonical programs up in the caches, compiles what is missing, loads. `count`: the kernel counts
  /// the iterations of its loops, which takes time.
  Expected<CompiledNetwork> compile(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                           bool count = false, const CompileFor& specialize = {}) const;
  CacheCounters counters() const;

 private:
  /// A generic kernel for operands of which something does not hold that `plan` or a kernel rests on: of its schedule, or,
  /// where this is not legal for them, of another one with the same formats of results.
  Expected<CompiledNetwork> generalised(const Network& network, const std::map<std::string, Tensor>& tensors, const Plan& plan,
                                        const std::map<std::string, bool>& pinned, bool count,
                                        const CompileFor& made_for) const;
  Expected<Plan> remembered_or_made(const Network& network, const std::vector<OperandFacts>& operands,
                                    const PlanOptions& options) const;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
