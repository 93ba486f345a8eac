// What engines, kernels and bindings hold.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "engine/pipeline.h"
#include "frontend/run_pool.h"
#include "weft/engine.h"

namespace weft {

struct Engine::State {
  Pipeline pipeline;
  Machine machine;  ///< what the planner takes the machine for
};

struct Kernel::State {
  CompiledNetwork code;
  Report report;
  EngineOptions options;
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
  std::shared_mutex mutex;  // of what runs add: `verified` and `runs`
  std::vector<Run> runs;

  /// Verifies what has not been yet, on the first run of a kernel.
  Expected<std::shared_ptr<RunPool>> pool(const std::shared_ptr<const Kernel::State>& kernel);

 private:
  Expected<void> verify(const Resources& resources);
};

}  // namespace weft
