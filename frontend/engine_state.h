// What engines, kernels and bindings hold.
#pragma once

#include <optional>
#include <shared_mutex>
#include <vector>

#include "engine/pipeline.h"
#include "frontend/background.h"
#include "frontend/operand_inputs.h"
#include "frontend/run_pool.h"
#include "runtime/guarded.h"
#include "weft/engine.h"

namespace weft {

struct Engine::State {
  State(Pipeline made, const Machine& planned_for, unsigned threads)
      : pipeline(std::move(made)), machine(planned_for), background(threads) {
    std::promise<Expected<Kernel>> promise;
    exhausted = promise.get_future().share();
    promise.set_value(std::unexpected(out_of_memory({"beginning to compile in the background"})));
  }

  /// As Engine::compile.
  Expected<Kernel> compile(std::string_view text, const OperandInputs& operands, const CompileOptions& options,
                           const Cancellation* cancellation, CodeFrom from = CodeFrom::anywhere) const;

  Pipeline pipeline;
  Machine machine;  ///< what the planner takes the machine for
  mutable Background background;
  std::shared_future<Expected<Kernel>> exhausted;  ///< given where there is no memory for another
};

struct Kernel::State {
  CompiledNetwork code;
  Report report;
  EngineOptions options;
  std::string command;  ///< of trace lines; empty where nobody reads them
};

struct Bindings::State {
  struct Operand {
    Tensor tensor;
    OperandUse use;
    bool verified = false;
  };
  /// Kernels that have run over the tensors, the latest first. They are kept alive, so that no other has their address.
  struct Run {
    std::shared_ptr<const Kernel::State> kernel;
    std::shared_ptr<RunPool> pool;
  };
  static constexpr std::size_t most_runs = 16;

  std::map<std::string, Operand> operands;
  Tensors outputs;
  std::optional<Memory> idle;  ///< limits what runs keep for the next; none: no limit
  std::shared_mutex mutex;  // of what runs add: `verified` and `runs`
  std::vector<Run> runs;

  /// Verifies what has not been yet, on the first run of a kernel.
  Expected<std::shared_ptr<RunPool>> pool(const std::shared_ptr<const Kernel::State>& kernel, const Cancellation* cancellation);

 private:
  Expected<void> verify(const Resources& resources);
};

}  // namespace weft
