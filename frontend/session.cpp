#include "weft/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/counted.h"
#include "engine/trace.h"
#include "frontend/engine_state.h"
#include "frontend/handed_out.h"
#include "frontend/preparation.h"
#include "frontend/result_report.h"
#include "frontend/session_state.h"
#include "runtime/elapsed.h"
#include "runtime/guarded.h"

namespace weft {
namespace {

/// Tells of runs that are repeated, after a warm-up, which is one of them: "run 5 of 20", and "run 5 of 20, computing A" within one that
/// takes long.
class Repetitions {
 public:
  Repetitions(const Progress& progress, unsigned runs) : progress_(progress), runs_(runs) {}
  /// Valid as long as this.
  Progress progress() {
    return [this](std::string_view what, double fraction) { tell(fmt::format(", {}", what), fraction); };
  }
  /// From 1 on; the warm-up is before.
  void begin(unsigned run) {
    run_ = run;
    if (!progress_ || milliseconds_since(last_) < 100) return;
    tell("", 0);
  }

 private:
  void tell(const std::string& what, double of_this_run) {
    last_ = Clock::now();
    const std::string which = run_ == 0 ? "warm-up" : fmt::format("run {} of {}", run_, runs_);
    progress_(which + what, (run_ + of_this_run) / (runs_ + 1));
  }

  Progress progress_;
  unsigned runs_;
  unsigned run_ = 0;
  Clock::time_point last_ = Clock::now();
};

/// A run of its own, so that counting costs the timed ones nothing; its memory is given back before they start.
Expected<void> count(const Pipeline& pipeline, Prepared& prepared, const Tensors& operands, const Cancellation& cancellation) {
  const auto kernel = pipeline.compile(prepared.network, prepared.plan, prepared.facts, true, {.planned = prepared.plan_options});
  if (!kernel) return std::unexpected(kernel.error());
  const CompiledNetwork counting = prepared.exposure ? kernel->over(prepared.exposure, prepared.plain, prepared.formats) : *kernel;
  auto binding = counting.bind(operands, pipeline.options().resources.with(cancellation), pipeline.options().deterministic);
  if (!binding) return std::unexpected(binding.error());
  if (auto ran = binding->run(); !ran) return ran;
  prepared.report.explained = std::make_shared<const Explanation>(with_counts(*prepared.report.explained, counting, *binding));
  return {};
}

/// `shared`: results that may keep arrays which the host has lent with an operand.
Expected<Tensors> run(const EngineOptions& engine, Prepared& prepared, const Tensors& operands, const std::set<std::string>& shared,
                      unsigned repeat, const Cancellation& cancellation) {
  const CompiledNetwork& kernel = *prepared.code;
  Report& report = prepared.report;
  Resources resources = engine.resources.with(cancellation);
  Repetitions repetitions(resources.progress, repeat);
  if (repeat > 0 && resources.progress) resources.progress = repetitions.progress();
  auto binding = kernel.bind(operands, resources, engine.deterministic);
  if (!binding) return std::unexpected(binding.error());
  report.phases.convert = binding->convert_ms();
  binding->time_nests();
  double fastest = std::numeric_limits<double>::infinity();
  std::vector<double> nest_ms;  // of the fastest
  if (repeat > 0) {
    if (auto warm = binding->run(); !warm) return std::unexpected(warm.error());
  }
  for (unsigned repetition = 0; repetition < std::max(1U, repeat); ++repetition) {
    if (repeat > 0) repetitions.begin(repetition + 1);
    const auto start = Clock::now();
    if (auto ran = binding->run(); !ran) return std::unexpected(ran.error());
    report.run_ms.push_back(milliseconds_since(start));
    if (report.run_ms.back() < fastest) {
      fastest = report.run_ms.back();
      nest_ms = binding->nest_ms();
    }
    if (engine.trace) {
      engine.trace(fmt::format("{} # run threads {} {:.3f} ms",
                               command_line(kernel.network(), prepared.facts, kernel.plan().schedule, engine),
                               engine.resources.threads.available(),
                               report.run_ms.back()));
    }
  }
  auto results = binding->results();
  if (!results) return results;
  report.phases.convert = binding->convert_ms();
  report.explained = std::make_shared<const Explanation>(with_nest_times(*report.explained, kernel, nest_ms));
  report.threads = engine.resources.threads.available();  // the system may have refused some meanwhile
  for (const auto& [name, tensor] : *results) {
    ResultReport& told = report.results[name];
    std::vector<OperandMode> modes = std::move(told.modes);
    told = result_report(tensor);
    told.modes = std::move(modes);
  }
  const RunOrigin origin{operands, binding->patterns(), shared, {}};
  for (auto& [name, tensor] : *results) {
    auto handed = handed_out(name, tensor, origin, nullptr, resources);
    if (!handed) return std::unexpected(std::move(handed.error()));
    tensor = std::move(*handed);
  }
  return results;
}

}  // namespace

Expected<Session> Session::create(EngineOptions options) {
  auto engine = Engine::create(std::move(options));
  if (!engine) return std::unexpected(std::move(engine.error()));
  Session session(std::move(*engine));
  if (auto failure = session.failure()) return std::unexpected(std::move(*failure));
  return session;
}

Session::Session(Engine engine) : engine_(std::move(engine)) {
  if (engine_.state_) (void)had_memory_for([&] { state_ = std::make_shared<State>(engine_); });
}
const Engine& Session::engine() const { return engine_; }

void Session::set(const std::string& name, Tensor tensor) const {
  if (state_) state_->set(name, std::move(tensor));
}
void Session::drop(const std::string& name) const {
  if (state_) state_->set(name, std::nullopt);
}

std::optional<Error> Session::failure() const {
  if (!engine_.state_) return input_error("the session is empty: Session::create makes one").error();
  return state_ ? state_->failure() : out_of_memory({"creating a session"});
}

std::shared_ptr<const Tensors> Session::tensors() const {
  static const Tensors none;
  return state_ ? state_->table().tensors : std::shared_ptr<const Tensors>(std::shared_ptr<void>(), &none);
}

Expected<Tensors> Session::evaluate(std::string_view text, Answer answer, const Cancellation* cancellation) const {
  if (auto failure = this->failure()) return std::unexpected(std::move(*failure));
  const std::shared_ptr<const KnownText> known = state_->find(text);
  const auto evaluated = [&] {
    return guarded({"evaluating ", text}, [&] { return state_->evaluate(text, answer, known, cancellation); });
  };
  return known && known->bindings ? known->kernel.run(*known->bindings, cancellation) : evaluated();
}

Expected<Evaluation> Session::evaluate(std::string_view expression, const std::vector<std::string>& names,
                                       const EvaluateOptions& options, const Cancellation* token) const {
  if (auto failure = this->failure()) return std::unexpected(std::move(*failure));
  return guarded({"evaluating ", expression}, [&] {
    RequestText text(expression, among(names));
    return evaluated(text, names, options, token);
  });
}

Expected<Evaluation> evaluate(const Session& session, const RequestText& text, const std::vector<std::string>& names,
                              const EvaluateOptions& options, const Cancellation* token) {
  if (auto failure = session.failure()) return std::unexpected(std::move(*failure));
  return guarded({"evaluating ", text.text()}, [&] { return session.evaluated(text, names, options, token); });
}

Expected<Evaluation> Session::evaluated(const RequestText& text, const std::vector<std::string>& names,
                                        const EvaluateOptions& options, const Cancellation* token) const {
  const Pipeline& pipeline = state_->engine.state_->pipeline;
  const Cancellation& cancellation = token ? *token : pipeline.options().resources.cancellation;
  const Resources resources = pipeline.options().resources.with(cancellation);
  const Tensors operands = chosen(*tensors(), names);
  const auto inputs = named_facts(operands, resources);
  if (!inputs) return std::unexpected(inputs.error());
  auto prepared = prepare(pipeline, state_->engine.state_->machine, text, names, *inputs, options, cancellation);
  if (!prepared) return std::unexpected(prepared.error());
  Evaluation evaluation;
  if (options.run && options.count) {
    if (auto counted = count(pipeline, *prepared, operands, cancellation); !counted) return std::unexpected(counted.error());
  }
  if (options.run) {
    std::set<std::string> shared;
    for (const auto& [result, operand] : options.patterns) shared.insert(result);
    auto results = run(pipeline.options(), *prepared, operands, shared, options.repeat, cancellation);
    if (!results) return std::unexpected(results.error());
    evaluation.results = std::move(*results);
  }
  evaluation.report = std::move(prepared->report);
  return evaluation;
}

}  // namespace weft
