#include "weft/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/counted.h"
#include "engine/trace.h"
#include "frontend/engine_state.h"
#include "frontend/preparation.h"
#include "frontend/result_report.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// A run of its own, so that counting costs the timed ones nothing; its memory is given back before they start.
Expected<void> count(const Pipeline& pipeline, Prepared& prepared, const Tensors& operands) {
  const auto kernel = pipeline.compile(prepared.network, prepared.plan, prepared.facts, true);
  if (!kernel) return std::unexpected(kernel.error());
  auto binding = kernel->bind(operands, pipeline.options().resources, pipeline.options().deterministic);
  if (!binding) return std::unexpected(binding.error());
  if (auto ran = binding->run(); !ran) return ran;
  prepared.report.explained = std::make_shared<const Explanation>(with_counts(*prepared.report.explained, *kernel, *binding));
  return {};
}

Expected<Tensors> run(const EngineOptions& engine, Prepared& prepared, const Tensors& operands, unsigned repeat) {
  const CompiledNetwork& kernel = *prepared.code;
  Report& report = prepared.report;
  auto binding = kernel.bind(operands, engine.resources, engine.deterministic);
  if (!binding) return std::unexpected(binding.error());
  report.phases.convert = binding->convert_ms();
  if (repeat > 0) {
    if (auto warm = binding->run(); !warm) return std::unexpected(warm.error());
  }
  for (unsigned repetition = 0; repetition < std::max(1U, repeat); ++repetition) {
    const auto start = Clock::now();
    if (auto ran = binding->run(); !ran) return std::unexpected(ran.error());
    report.run_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (engine.trace) {
      engine.trace(fmt::format("{} # run threads {} {:.3f} ms",
                               command_line(kernel.network(), prepared.facts, kernel.plan().schedule, engine), report.threads,
                               report.run_ms.back()));
    }
  }
  auto results = binding->results();
  if (!results) return results;
  report.phases.convert = binding->convert_ms();
  for (const auto& [name, tensor] : *results) report.results[name] = result_report(tensor);
  return results;
}

}  // namespace

struct Session::State {
  Engine engine;
  Tensors tensors;
};

Expected<Session> Session::create(SessionOptions options) {
  auto engine = Engine::create(std::move(options));
  if (!engine) return std::unexpected(engine.error());
  return over(std::move(*engine));
}

Session Session::over(Engine engine) {
  Session session;
  session.state_ = std::make_shared<State>(State{std::move(engine), {}});
  return session;
}

void Session::set(const std::string& name, Tensor tensor) { state_->tensors[name] = std::move(tensor); }
void Session::drop(const std::string& name) { state_->tensors.erase(name); }
const Tensors& Session::tensors() const { return state_->tensors; }

Expected<Evaluation> Session::evaluate(std::string_view expression, const std::vector<std::string>& names,
                                       const EvaluateOptions& options) {
  const Pipeline& pipeline = state_->engine.state_->pipeline;
  Tensors operands;
  for (const std::string& name : names) {
    const auto known = state_->tensors.find(name);
    if (known != state_->tensors.end()) operands.insert(*known);
  }
  auto prepared = prepare(pipeline, state_->engine.state_->machine, expression, names,
                          operand_inputs(operands, pipeline.options().resources.threads), options,
                          pipeline.options().resources.cancellation);
  if (!prepared) return std::unexpected(prepared.error());
  Evaluation evaluation;
  if (options.run && options.count) {
    if (auto counted = count(pipeline, *prepared, operands); !counted) return std::unexpected(counted.error());
  }
  if (options.run) {
    auto results = run(pipeline.options(), *prepared, operands, options.repeat);
    if (!results) return std::unexpected(results.error());
    evaluation.results = std::move(*results);
  }
  evaluation.report = std::move(prepared->report);
  return evaluation;
}

}  // namespace weft
