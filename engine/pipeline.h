// From a network to code: the passes in their order. A cheap, copyable, thread-safe handle; no globals.
//
//   Network --plan--> Plan --compile--> CompiledNetwork --bind--> BoundNetwork --run--> results
//
// What is kept stands in plan_store.h and kernel_store.h; what takes the place of a kernel that does not fit in fallback.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/compiled_network.h"
#include "engine/plan/plan.h"
#include "engine/prove/settled_claim.h"
#include "weft/options.h"
#include "weft/tensor.h"

namespace weft {

/// Where the code of a network may come from. `caches_or_generic`: of the grade asked for if all of it is in the caches, else
/// generic, which is there more often and made sooner. `caches`: an error of kind unsupported where it is not there.
enum class CodeFrom : std::uint8_t { anywhere, caches_or_generic, caches };

/// How far a kernel is made for the operands at hand.
struct CompileFor {
  Specialization grade = Specialization::profiled;
  double calls = 1;  ///< expected; decides what Specialization::automatic means
  /// Whose patterns may be baked in; null: none.
  const std::map<std::string, Tensor>* tensors = nullptr;
  /// What the plan was made with: so is one for operands that need another.
  PlanOptions planned = {};
  /// Looked at before each nest is compiled; LLVM itself cannot be stopped.
  std::vector<Cancellation> cancelled_by = {};
  CodeFrom from = CodeFrom::anywhere;
  /// Formats that operands are taken to come in, by name, whatever the plan knows of them: it knows copies in plain levels, and layouts
  /// that were chosen for their price, by no user.
  std::map<std::string, Format> given = {};
  std::set<std::string> assume_finite = {};  ///< operands whose values are taken to be finite without a look
  /// Results that runs may scale, and that they may write into memory with strides (LoweringFacts).
  std::set<std::string> scaled = {};
  std::set<std::string> strided = {};
};

class Pipeline {
 public:
  static Expected<Pipeline> create(EngineOptions options);
  const EngineOptions& options() const;

  /// Facts of operands as the planner wants them, quantised, one per operand of the network, in the order of
  /// Network::tensors. Whether values are finite is looked at when first asked (plan_by_need asks where it matters).
  std::vector<OperandFacts> facts(const Network& network, const std::map<std::string, Tensor>& operands,
                                  const std::map<std::string, bool>& pinned) const;
  std::vector<OperandFacts> facts(const Network& network, const NamedFacts& operands, const std::map<std::string, bool>& pinned) const;
  /// The plan of the caches, else made. Plan::origin says which.
  Expected<Plan> plan(const Network& network, const std::vector<OperandFacts>& operands,
                      const PlanOptions& options) const;
  /// Whether plan() would find it, as far as can be told without reading it.
  bool knows_plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) const;
  /// The loop programs of a plan, without compiling them: as a kernel that is made for these operands runs them.
  Expected<std::vector<LoweredNest>> lower(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                           const std::map<std::string, Tensor>& tensors, const Machine& machine = {}) const;
  /// Lowers, looks the canonical programs up in the caches, compiles what is missing, loads. `count`: the kernel counts
  /// the iterations of its loops, which takes time.
  Expected<CompiledNetwork> compile(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                           bool count = false, const CompileFor& wanted = {}) const;
  /// What was compiled before, and saved, for this network, plan and environment(). Input error where that is not so.
  Expected<CompiledNetwork> restored(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                     const SavedNetwork& saved, const CompileFor& made_for) const;
  /// What the code of this pipeline depends on beside its programs (saved_network.h).
  std::string environment() const;
  /// What a loop program rests on, and what Z3 says to it. Errors as of ProofBook::settle().
  Expected<std::vector<SettledClaim>> proofs(const loop::Program& program) const;
  CacheCounters counters() const;
  /// Counts code that was found without looking for its parts.
  void found_again(const CompiledNetwork& code) const;
  /// Counts a kernel that took the place of another (fallback.h).
  void fell_back() const;

 private:
  /// The same from the caches alone, if all of it is there; else as CompileFor::from says.
  Expected<CompiledNetwork> compile_known(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands, bool count,
                                          const CompileFor& wanted) const;
  /// Whether the code of every nest is in memory or on disk.
  Expected<bool> knows_code(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                            const CompileFor& wanted) const;
  /// Input error where a schedule that a user gave became loops that rest on what is not proven.
  Expected<void> check_given(const Plan& plan, const std::vector<LoweredNest>& nests) const;
  /// A kernel of the plan without nests yet.
  std::shared_ptr<CompiledNetwork::State> begun(const Network& network, const Plan& plan) const;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
