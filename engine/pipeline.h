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
#include "weft/tensor.h"

namespace weft {

struct PipelineOptions {
  Resources resources;                     ///< memory limit, threads, cancellation, progress
  bool deterministic = false;              ///< bit-identical results for every thread count
  bool strict_fp = false;
  bool checked = false;                    ///< kernels check every access
  bool use_cache = true;                   ///< false: plans and kernels are made anew and not kept
  std::optional<std::string> cache_directory;  ///< none: no disk cache
  /// What the disk cache gives is made anew all the same and compared; where it differs, a trace line says so, the new
  /// one is used and replaces the stored one.
  bool paranoid = false;
  bool perf_map = false;  ///< names of kernels for perf, in /tmp/perf-PID.map; also if WEFT_PERF is set and not empty
  /// Where the program, LLVM IR and assembly of every kernel that is compiled or loaded go; made if need be. None: WEFT_DUMP,
  /// if that is set and not empty.
  std::optional<std::string> dump_directory;
  /// One line per plan, compile, load and run, as a command that does the like and, after " # ", what was done and how
  /// long it took; and a line for each defect of the disk cache. May be empty; called from any thread.
  std::function<void(std::string_view line)> trace;
};

struct CacheCounters {
  std::uint64_t memory = 0;    ///< kernels found in memory
  std::uint64_t disk = 0;      ///< loaded from object bytes on disk
  std::uint64_t compiled = 0;  ///< compiled
};

class Pipeline {
 public:
  static Expected<Pipeline> create(PipelineOptions options);
  const PipelineOptions& options() const;

  /// Facts of operands as the planner wants them, quantised, one per operand of the network, in the order of
  /// Network::tensors.
  std::vector<OperandFacts> facts(const Network& network, const std::map<std::string, Tensor>& operands,
                                  const std::map<std::string, bool>& pinned) const;
  /// The plan of the caches, else made. Plan::origin says which.
  Expected<Plan> plan(const Network& network, const std::vector<OperandFacts>& operands,
                      const PlanOptions& options) const;
  /// The loop programs of a plan, without compiling them.
  Expected<std::vector<LoweredNest>> lower(const Network& network, const Plan& plan,
                                           const std::vector<OperandFacts>& operands) const;
  /// Lowers, looks the canonical programs up in the caches, compiles what is missing, loads. `count`: the kernel counts
  /// the iterations of its loops, which takes time.
  Expected<CompiledNetwork> compile(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                           bool count = false) const;
  CacheCounters counters() const;

 private:
  Expected<Plan> remembered_or_made(const Network& network, const std::vector<OperandFacts>& operands,
                                    const PlanOptions& options) const;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
