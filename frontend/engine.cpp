#include "weft/engine.h"

#include <fmt/format.h>

#include "engine/trace.h"
#include "frontend/engine_state.h"
#include "frontend/preparation.h"
#include "runtime/elapsed.h"
#include "runtime/guarded.h"

namespace weft {
namespace {

// Handles that stand for nothing: made by their default constructors, or moved from.
constexpr const char* empty_engine = "the engine is empty: Engine::create makes one";
constexpr const char* empty_kernel = "the kernel is empty: Engine::compile makes one";

Expected<Prepared> prepared(const Pipeline& pipeline, const Machine& machine, std::string_view text,
                            const OperandInputs& operands, const CompileOptions& options, const Cancellation& cancellation,
                            CodeFrom from = CodeFrom::anywhere) {
  const auto names = operands_of(text);
  if (!names) return std::unexpected(names.error());
  EvaluateOptions chosen;
  static_cast<CompileOptions&>(chosen) = options;
  return prepare(pipeline, machine, text, *names, operands, chosen, cancellation, from);
}

}  // namespace

/// What Engine::compile_async asks for.
struct Engine::Compilation {
  std::string text;
  Tensors operands;
  CompileOptions options;
  std::function<void(const Expected<Kernel>&)> done;
  Cancellation cancellation;
  std::optional<Pipeline> pipeline;
  Machine machine;
  std::promise<Expected<Kernel>> promise;
  std::shared_future<Expected<Kernel>> future = promise.get_future().share();

  Expected<Kernel> kernel(bool dropped) const {
    if (dropped) return fail(ErrorKind::cancelled, "the engine has ended");
    if (cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    const auto inputs = operand_inputs(operands, pipeline->options().resources.with(cancellation));
    if (!inputs) return std::unexpected(inputs.error());
    return Kernel::made(pipeline->options(), prepared(*pipeline, machine, text, *inputs, options, cancellation));
  }
  void end(bool dropped) {
    promise.set_value(guarded({"compiling ", text}, [&] { return kernel(dropped); }));
    if (done) done(future.get());
  }
};

Expected<Kernel> Kernel::made(const EngineOptions& options, Expected<Prepared> prepared) {
  if (!prepared) return std::unexpected(prepared.error());
  const CompiledNetwork& code = *prepared->code;
  std::string command;
  if (options.trace) command = command_line(code.network(), prepared->facts, code.plan().schedule, options);
  Kernel kernel;
  kernel.state_ = std::make_shared<State>(State{code, std::move(prepared->report), options, std::move(command)});
  return kernel;
}

Expected<Engine> Engine::create(EngineOptions options) {
  return guarded({"creating an engine"}, [&] { return made(std::move(options)); });
}

Expected<Engine> Engine::made(EngineOptions options) {
  if (options.resources.memory.limit() == 0) {
    if (auto opened = options.resources.memory.charge(0, "an engine"); !opened) return std::unexpected(opened.error());
  }
  Expected<Machine> machine = Machine{};
  if (!options.calibration.empty()) machine = parse_machine(options.calibration, options.calibration_name);
  if (!machine) return std::unexpected(machine.error());
  auto pipeline = Pipeline::create(std::move(options));
  if (!pipeline) return std::unexpected(pipeline.error());
  Engine engine;
  const unsigned threads = pipeline->options().resources.threads.count();
  engine.state_ = std::make_shared<State>(*pipeline, *machine, threads);
  return engine;
}

const EngineOptions& Engine::options() const {
  static const EngineOptions none;
  return state_ ? state_->pipeline.options() : none;
}
CacheCounters Engine::counters() const { return state_ ? state_->pipeline.counters() : CacheCounters(); }

Expected<Kernel> Engine::State::compile(std::string_view text, const OperandInputs& operands, const CompileOptions& options,
                                        const Cancellation* cancellation, CodeFrom from) const {
  const Cancellation& token = cancellation ? *cancellation : pipeline.options().resources.cancellation;
  return Kernel::made(pipeline.options(), prepared(pipeline, machine, text, operands, options, token, from));
}

Expected<Kernel> Engine::compile(std::string_view text, const Tensors& operands, const CompileOptions& options,
                                 const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_engine);
  return guarded({"compiling ", text}, [&]() -> Expected<Kernel> {
    const Resources& resources = this->options().resources;
    const auto inputs = operand_inputs(operands, cancellation ? resources.with(*cancellation) : resources);
    if (!inputs) return std::unexpected(inputs.error());
    return state_->compile(text, *inputs, options, cancellation);
  });
}

Expected<Kernel> Engine::compile(std::string_view text, const std::map<std::string, Statistics>& operands,
                                 const CompileOptions& options, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_engine);
  for (const auto& [name, known] : operands) {
    if (auto failure = known.take_failure()) return std::unexpected(std::move(*failure));
  }
  return guarded({"compiling ", text}, [&] { return state_->compile(text, operand_inputs(operands), options, cancellation); });
}

std::shared_future<Expected<Kernel>> Engine::compile_async(std::string text, Tensors operands, CompileOptions options,
                                                           std::function<void(const Expected<Kernel>&)> done,
                                                           Cancellation cancellation) const {
  if (!state_) {
    std::promise<Expected<Kernel>> promise;
    promise.set_value(input_error(empty_engine));
    const auto future = promise.get_future().share();
    if (done) done(future.get());
    return future;
  }
  auto job = guarded_value([] { return std::make_shared<Compilation>(); }, [] { return std::shared_ptr<Compilation>(); });
  const bool posted = job && had_memory_for([&] {
    job->text = std::move(text);
    job->operands = std::move(operands);
    job->options = std::move(options);
    job->done = std::move(done);
    job->cancellation = std::move(cancellation);
    // Not the engine itself: its end would wait for work that keeps it alive.
    job->pipeline = state_->pipeline;
    job->machine = state_->machine;
    state_->background.post([job](bool dropped) { job->end(dropped); });
  });
  if (posted) return job->future;
  const auto& told = job && job->done ? job->done : done;
  if (told) told(state_->exhausted.get());
  return state_->exhausted;
}

Expected<Tensors> Kernel::run(const Bindings& bindings, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_kernel);
  if (auto failure = bindings.failure()) return std::unexpected(std::move(*failure));
  return guarded({"running a kernel"}, [&] { return ran(bindings, cancellation); });
}

Expected<Tensors> Kernel::ran(const Bindings& bindings, const Cancellation* cancellation) const {
  const auto pool = bindings.state_->pool(state_, cancellation);
  if (!pool) return std::unexpected(pool.error());
  const EngineOptions& options = state_->options;
  if (!options.trace) return (*pool)->run(cancellation);
  const auto start = Clock::now();
  auto results = (*pool)->run(cancellation);
  options.trace(fmt::format("{} # run threads {} {:.3f} ms{}", state_->command, options.resources.threads.available(),
                            milliseconds_since(start), results ? "" : ": " + results.error().message));
  return results;
}

Expected<std::string> Kernel::explain(const std::string& stage) const {
  if (!state_) return input_error(empty_kernel);
  return guarded({"explaining ", stage}, [&] { return state_->code.explain(stage); });
}
const Report& Kernel::report() const {
  static const Report none;
  return state_ ? state_->report : none;
}

}  // namespace weft
