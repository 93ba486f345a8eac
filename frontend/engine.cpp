#include "weft/engine.h"

#include "frontend/engine_state.h"
#include "frontend/preparation.h"

namespace weft {
namespace {

Expected<Prepared> prepared(const Pipeline& pipeline, const Machine& machine, std::string_view text,
                            const OperandInputs& operands, const CompileOptions& options) {
  const auto names = operands_of(text);
  if (!names) return std::unexpected(names.error());
  EvaluateOptions chosen;
  static_cast<CompileOptions&>(chosen) = options;
  return prepare(pipeline, machine, text, *names, operands, chosen, pipeline.options().resources.cancellation);
}

}  // namespace

Expected<Engine> Engine::create(EngineOptions options) {
  Expected<Machine> machine = Machine{};
  if (!options.calibration.empty()) machine = parse_machine(options.calibration, options.calibration_name);
  if (!machine) return std::unexpected(machine.error());
  auto pipeline = Pipeline::create(std::move(options));
  if (!pipeline) return std::unexpected(pipeline.error());
  Engine engine;
  engine.state_ = std::make_shared<State>(State{*pipeline, *machine});
  return engine;
}

const EngineOptions& Engine::options() const { return state_->pipeline.options(); }

Expected<Kernel> Engine::compile(std::string_view text, const Tensors& operands, const CompileOptions& options) const {
  auto made = prepared(state_->pipeline, state_->machine, text, operand_inputs(operands, this->options().resources.threads), options);
  if (!made) return std::unexpected(made.error());
  Kernel kernel;
  kernel.state_ = std::make_shared<Kernel::State>(Kernel::State{*made->code, std::move(made->report), this->options()});
  return kernel;
}

Expected<Kernel> Engine::compile(std::string_view text, const std::map<std::string, Statistics>& operands,
                                 const CompileOptions& options) const {
  auto made = prepared(state_->pipeline, state_->machine, text, operand_inputs(operands), options);
  if (!made) return std::unexpected(made.error());
  Kernel kernel;
  kernel.state_ = std::make_shared<Kernel::State>(Kernel::State{*made->code, std::move(made->report), this->options()});
  return kernel;
}

Expected<Tensors> Kernel::run(const Bindings& bindings, const Cancellation* cancellation) const {
  const auto pool = bindings.state_->pool(state_);
  if (!pool) return std::unexpected(pool.error());
  return (*pool)->run(cancellation);
}

Expected<std::string> Kernel::explain(const std::string& stage) const { return state_->code.explain(stage); }
const Report& Kernel::report() const { return state_->report; }

}  // namespace weft
