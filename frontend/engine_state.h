// What engines, kernels and bindings hold.
#pragma once

#include <optional>
#include <vector>

#include "engine/pipeline.h"
#include "frontend/background.h"
#include "frontend/known_kernels.h"
#include "frontend/named_operands.h"
#include "frontend/preparation.h"
#include "frontend/saved_kernel.h"
#include "frontend/workspaces.h"
#include "runtime/guarded.h"
#include "weft/engine.h"

namespace weft {

/// What the kernels of an engine share; outlives it with the last of them.
struct Engine::Kernels {
  explicit Kernels(const EngineOptions& options);
  /// A kernel with its workspaces.
  Expected<Kernel> made(const Pipeline& pipeline, Expected<Prepared> prepared, const CompileOptions& wanted) const;
  /// As Engine::compile: what was compiled before is looked up by the text and what is known of the operands.
  Expected<Kernel> compile(const Pipeline& pipeline, const Machine& machine, const RequestText& text, const Tensors& operands,
                           const CompileOptions& options, const Cancellation& cancellation);
  /// The same kernel, as a handle whose references are counted by themselves.
  static Kernel apart(const Kernel& kernel);

  std::shared_ptr<IdleWorkspaces> idle;
  std::shared_ptr<LayoutTotals> layouts = std::make_shared<LayoutTotals>();
  std::shared_ptr<KnownKernels> known;

 private:
  /// What those get who ask again: nothing of the time it took.
  static Kernel found_again(const Kernel& kernel);
  /// The same over other tensors of the kind, in whose report their sizes stand.
  static Kernel over(Kernel kernel, const Tensors& operands);
};

struct Engine::State {
  State(Pipeline made, const Machine& planned_for, unsigned threads)
      : pipeline(std::move(made)), machine(planned_for), background(threads) {
    std::promise<Expected<Kernel>> promise;
    exhausted = promise.get_future().share();
    promise.set_value(std::unexpected(out_of_memory({"beginning to compile in the background"})));
    kernels = std::make_shared<Kernels>(pipeline.options());
  }

  /// As Engine::compile.
  Expected<Kernel> compile(const RequestText& text, const NamedFacts& operands, const CompileOptions& options,
                           const Cancellation* cancellation, CodeFrom from = CodeFrom::anywhere) const;

  Pipeline pipeline;
  Machine machine;  ///< what the planner takes the machine for
  mutable Background background;
  std::shared_ptr<Kernels> kernels;
  std::shared_future<Expected<Kernel>> exhausted;  ///< given where there is no memory for another
};

struct Kernel::State {
  CompiledNetwork code;
  Report report;
  EngineOptions options;
  std::string command;  ///< of trace lines; empty where there are none
  std::shared_ptr<Workspaces> workspaces;
  std::shared_ptr<const SavedRequest> request;  ///< what it was compiled for
  std::string environment;                      ///< of its code
};

struct Bindings::State : RunOperands {};

}  // namespace weft
