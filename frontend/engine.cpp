#include "weft/engine.h"

#include <fmt/format.h>

#include "engine/trace.h"
#include "frontend/engine_state.h"
#include "frontend/preparation.h"
#include "runtime/elapsed.h"

namespace weft {
namespace {

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

const EngineOptions& Engine::options() const { return state_->pipeline.options(); }
CacheCounters Engine::counters() const { return state_->pipeline.counters(); }

Expected<Kernel> Engine::State::compile(std::string_view text, const OperandInputs& operands, const CompileOptions& options,
                                        const Cancellation* cancellation, CodeFrom from) const {
  const Cancellation& token = cancellation ? *cancellation : pipeline.options().resources.cancellation;
  return Kernel::made(pipeline.options(), prepared(pipeline, machine, text, operands, options, token, from));
}

Expected<Kernel> Engine::compile(std::string_view text, const Tensors& operands, const CompileOptions& options,
                                 const Cancellation* cancellation) const {
  const Resources& resources = this->options().resources;
  const auto inputs = operand_inputs(operands, cancellation ? resources.with(*cancellation) : resources);
  if (!inputs) return std::unexpected(inputs.error());
  return state_->compile(text, *inputs, options, cancellation);
}

Expected<Kernel> Engine::compile(std::string_view text, const std::map<std::string, Statistics>& operands,
                                 const CompileOptions& options, const Cancellation* cancellation) const {
  return state_->compile(text, operand_inputs(operands), options, cancellation);
}

std::shared_future<Expected<Kernel>> Engine::compile_async(std::string text, Tensors operands, CompileOptions options,
                                                           std::function<void(const Expected<Kernel>&)> done,
                                                           Cancellation cancellation) const {
  const auto promise = std::make_shared<std::promise<Expected<Kernel>>>();
  std::shared_future<Expected<Kernel>> future = promise->get_future().share();
  // Not the engine itself: its end would wait for work that keeps it alive.
  state_->background.post([promise, text = std::move(text), operands = std::move(operands), options = std::move(options),
                           done = std::move(done), cancellation = std::move(cancellation), pipeline = state_->pipeline,
                           machine = state_->machine](bool dropped) {
    Expected<Kernel> kernel = fail(ErrorKind::cancelled, dropped ? "the engine has ended" : "interrupted");
    if (!dropped && !cancellation.cancelled()) {
      const auto inputs = operand_inputs(operands, pipeline.options().resources.with(cancellation));
      kernel = inputs ? Kernel::made(pipeline.options(), prepared(pipeline, machine, text, *inputs, options, cancellation))
                      : std::unexpected(inputs.error());
    }
    promise->set_value(kernel);
    if (done) done(kernel);
  });
  return future;
}

Expected<Tensors> Kernel::run(const Bindings& bindings, const Cancellation* cancellation) const {
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

Expected<std::string> Kernel::explain(const std::string& stage) const { return state_->code.explain(stage); }
const Report& Kernel::report() const { return state_->report; }

}  // namespace weft
