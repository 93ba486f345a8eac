#include "weft/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/stages.h"
#include "engine/counted.h"
#include "engine/trace.h"
#include "frontend/engine_state.h"
#include "frontend/file_text.h"
#include "frontend/given_options.h"
#include "frontend/preparation.h"
#include "runtime/charge.h"
#include "runtime/elapsed.h"
#include "runtime/machine_memory.h"
#include "runtime/guarded.h"
#include "runtime/output_file.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

// Handles that stand for nothing: made by their default constructors, or moved from.
constexpr const char* empty_engine = "the engine is empty: Engine::create makes one";
constexpr const char* empty_kernel = "the kernel is empty: Engine::compile makes one";

Expected<Prepared> prepared(const Pipeline& pipeline, const Machine& machine, const RequestText& text,
                            const NamedFacts& operands, const CompileOptions& options, const Cancellation& cancellation,
                            CodeFrom from = CodeFrom::anywhere, const SavedKernel* saved = nullptr) {
  const auto names = text.operands();
  if (!names) return std::unexpected(names.error());
  EvaluateOptions chosen;
  static_cast<CompileOptions&>(chosen) = options;
  return prepare(pipeline, machine, text, *names, operands, chosen, cancellation, from, saved);
}

/// Whether the operands are, of which a kernel needs it: no longer asked of those that are not, the key says so.
bool are_finite(const std::vector<std::string>& needed, const Tensors& operands, const Threads& threads) {
  return std::ranges::all_of(needed, [&](const std::string& name) {
    const auto operand = operands.find(name);
    return operand == operands.end() || finite_values(operand->second, threads);
  });
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
  std::shared_ptr<Kernels> kernels;
  Machine machine;
  std::promise<Expected<Kernel>> promise;
  std::shared_future<Expected<Kernel>> future = promise.get_future().share();

  Expected<Kernel> kernel(bool dropped) const {
    if (dropped) return fail(ErrorKind::cancelled, "the engine has ended");
    if (cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    RequestText request(text, among(operands));
    return kernels->compile(*pipeline, machine, request, operands, options, cancellation);
  }
  void end(bool dropped) {
    promise.set_value(guarded({"compiling ", text}, [&] { return kernel(dropped); }));
    if (done) done(future.get());
  }
};

// Workspaces may keep an eighth of the limit, or of what the machine has, between runs.
Engine::Kernels::Kernels(const EngineOptions& options)
    : idle(std::make_shared<IdleWorkspaces>(std::min(options.resources.memory.limit(), machine_memory()) / 8)),
      known(std::make_shared<KnownKernels>(options.kernels_in_memory)) {
  enlist(options.resources.memory, known);
  enlist(options.resources.memory, idle);
}

Kernel Engine::Kernels::found_again(const Kernel& kernel) {
  auto state = std::make_shared<Kernel::State>(*kernel.state_);
  state->report.phases = {};
  state->report.plan_cache = "hit";
  state->report.kernel_cache = word(KernelOrigin::memory);
  Kernel found;
  found.state_ = std::move(state);
  return found;
}

Kernel Engine::Kernels::apart(const Kernel& kernel) {
  Kernel other;
  const auto let_go = [held = kernel.state_](const Kernel::State*) mutable { held.reset(); };
  other.state_ = std::shared_ptr<const Kernel::State>(kernel.state_.get(), let_go);
  return other;
}

Kernel Engine::Kernels::over(Kernel kernel, const Tensors& operands) {
  const auto sizes_told = [&](const auto& one) {
    const auto tensor = operands.find(one.first);
    return tensor == operands.end() || (tensor->second.nnz() == one.second.nnz && tensor->second.bytes() == one.second.bytes);
  };
  if (std::ranges::all_of(kernel.state_->report.operands, sizes_told)) return kernel;
  auto state = std::make_shared<Kernel::State>(*kernel.state_);
  for (auto& [name, told] : state->report.operands) {
    const auto tensor = operands.find(name);
    if (tensor == operands.end()) continue;
    told.nnz = tensor->second.nnz();
    told.bytes = tensor->second.bytes();
  }
  Kernel other;
  other.state_ = std::move(state);
  return other;
}

Expected<Kernel> Engine::Kernels::compile(const Pipeline& pipeline, const Machine& machine, const RequestText& text,
                                          const Tensors& operands, const CompileOptions& options, const Cancellation& cancellation) {
  if (auto right = check_options(options); !right) return std::unexpected(right.error());
  const EngineOptions& engine = pipeline.options();
  const auto compiled = [&]() -> Expected<Kernel> {
    const auto inputs = named_facts(operands, engine.resources.with(cancellation));
    if (!inputs) return std::unexpected(inputs.error());
    return made(pipeline, prepared(pipeline, machine, text, *inputs, options, cancellation), options);
  };
  if (!engine.use_cache) return compiled();
  for (const auto& [name, tensor] : operands) {
    if (is_verified(tensor)) continue;
    if (auto valid = verify_once(tensor, engine.resources.with(cancellation), name); !valid) return std::unexpected(valid.error());
  }
  const auto stopped = [&] { return cancellation.cancelled() || engine.resources.cancellation.cancelled(); };
  for (;;) {
    KernelRequest request(text.text(), operands, options, engine.resources);
    std::optional<Kernel> mine;
    bool asked = false;
    const auto make = [&]() -> Expected<Kernel> {
      asked = true;
      if (mine) return found_again(*mine);
      const std::string why = known->missed(request);
      auto first = compiled();
      if (!first) return first;
      if (engine.trace) engine.trace(fmt::format("{} # ask {}", first->state_->command, why));
      mine = *first;
      // What was asked for as if its values were finite, and turned out not to be, is known as that.
      if (KernelRequest(text.text(), operands, options, engine.resources).key() != request.key())
        return fail(ErrorKind::cancelled, "asked for anew");
      return found_again(*first);
    };
    auto found = known->get(request, make, apart, stopped);
    if (mine && !found) {
      request = KernelRequest(text.text(), operands, options, engine.resources);
      (void)known->get(request, make, apart, stopped);
    }
    if (mine) return std::move(*mine);
    // Another who asked for the same may have cancelled what both waited for.
    if (!found && !asked && found.error().kind == ErrorKind::cancelled && !stopped()) continue;
    if (!found) return found;
    if (!are_finite(found->state_->code.finite_operands(), operands, engine.resources.threads) &&
        KernelRequest(text.text(), operands, options, engine.resources).key() != request.key())
      continue;
    known->hit();
    pipeline.found_again(found->state_->code);
    if (engine.trace) engine.trace(fmt::format("{} # ask known", found->state_->command));
    return over(std::move(*found), operands);
  }
}

Expected<Kernel> Engine::Kernels::made(const Pipeline& pipeline, Expected<Prepared> prepared, const CompileOptions& options) const {
  if (!prepared) return std::unexpected(prepared.error());
  const EngineOptions& engine = pipeline.options();
  const CompiledNetwork& code = *prepared->code;
  std::string command;
  if (engine.trace) command = command_line(code.network(), prepared->facts, code.plan().schedule, engine);
  std::set<std::string> shared;
  for (const auto& [result, operand] : options.patterns) shared.insert(result);
  auto workspaces = Workspaces::of(code, engine, std::set(options.changing.begin(), options.changing.end()),
                                   std::set(options.changing_patterns.begin(), options.changing_patterns.end()), std::move(shared), idle,
                                   layouts);
  idle->enlist(workspaces, engine.resources.memory);
  auto request = std::make_shared<SavedRequest>(SavedRequest{prepared->report.expression, options, {}, prepared->levels});
  for (const OperandFacts& operand : prepared->facts)
    request->operands[prepared->network.tensors[operand.tensor].name] = figures_of(operand.statistics);
  Kernel kernel;
  kernel.state_ = std::make_shared<Kernel::State>(
      Kernel::State{code, std::move(prepared->report), engine, std::move(command), std::move(workspaces), std::move(request),
                    pipeline.environment()});
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
CacheCounters Engine::counters() const {
  if (!state_) return {};
  CacheCounters counters = state_->pipeline.counters();
  const Kernels& kernels = *state_->kernels;
  counters.known = kernels.known->hits();
  counters.missed_text = kernels.known->missed(Missed::text);
  counters.missed_options = kernels.known->missed(Missed::options);
  counters.missed_operands = kernels.known->missed(Missed::operands);
  counters.missed_format = kernels.known->missed(Missed::format);
  counters.missed_extents = kernels.known->missed(Missed::extents);
  counters.missed_pattern = kernels.known->missed(Missed::pattern);
  counters.missed_values = kernels.known->missed(Missed::values);
  counters.layouts_made = kernels.layouts->made.load(std::memory_order_relaxed);
  counters.layouts_known = kernels.layouts->known.load(std::memory_order_relaxed);
  counters.layouts_refilled = kernels.layouts->refilled.load(std::memory_order_relaxed);
  counters.layouts_read_through = kernels.layouts->read_through.load(std::memory_order_relaxed);
  counters.idle_bytes = kernels.idle->bytes();
  return counters;
}

void Engine::give_back() const {
  if (state_) give_back_kept(options().resources.memory);
}

Expected<Kernel> Engine::State::compile(const RequestText& text, const NamedFacts& operands, const CompileOptions& options,
                                        const Cancellation* cancellation, CodeFrom from) const {
  const Cancellation& token = cancellation ? *cancellation : pipeline.options().resources.cancellation;
  return kernels->made(pipeline, prepared(pipeline, machine, text, operands, options, token, from), options);
}

Expected<Kernel> Engine::compile(std::string_view text, const Tensors& operands, const CompileOptions& options,
                                 const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_engine);
  return guarded({"compiling ", text}, [&]() -> Expected<Kernel> {
    const Cancellation& token = cancellation ? *cancellation : this->options().resources.cancellation;
    RequestText request(text, among(operands));
    return state_->kernels->compile(state_->pipeline, state_->machine, request, operands, options, token);
  });
}

Expected<Kernel> Engine::compile(std::string_view text, const std::map<std::string, Statistics>& operands,
                                 const CompileOptions& options, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_engine);
  for (const auto& [name, known] : operands) {
    if (auto failure = known.take_failure()) return std::unexpected(std::move(*failure));
  }
  return guarded({"compiling ", text}, [&]() -> Expected<Kernel> {
    if (auto right = check_figures(operands); !right) return std::unexpected(right.error());
    RequestText request(text, [&](std::string_view name) { return operands.contains(std::string(name)); });
    return state_->compile(request, named_facts(operands), options, cancellation);
  });
}

Expected<Kernel> Engine::load(std::string_view bytes, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_engine);
  return guarded({"loading a saved kernel"}, [&]() -> Expected<Kernel> {
    auto saved = unpacked(bytes, state_->pipeline.environment());
    if (!saved) return std::unexpected(saved.error());
    CompileOptions& wanted = saved->request.options;
    wanted.schedule = saved->network.schedule;
    wanted.schedule_name = "the saved kernel";
    const Cancellation& token = cancellation ? *cancellation : options().resources.cancellation;
    RequestText text(saved->request.expression,
                     [&](std::string_view name) { return saved->request.operands.contains(std::string(name)); });
    return state_->kernels->made(state_->pipeline,
                                 prepared(state_->pipeline, state_->machine, text,
                                          given_facts(saved->request), wanted, token, CodeFrom::anywhere, &*saved),
                                 wanted);
  });
}

Expected<Kernel> Engine::load_file(const std::string& path, const Cancellation* cancellation) const {
  return guarded({"loading ", path}, [&]() -> Expected<Kernel> {
    const auto bytes = file_text(path);
    if (!bytes) return std::unexpected(bytes.error());
    auto kernel = load(*bytes, cancellation);
    if (kernel) return kernel;
    kernel.error().message = fmt::format("{}: {}", path, kernel.error().message);
    if (kernel.error().kind == ErrorKind::input && kernel.error().code == ErrorCode::other) kernel.error().code = ErrorCode::file;
    return kernel;
  });
}

Expected<std::string> Kernel::save() const {
  if (!state_) return input_error(empty_kernel);
  return guarded({"saving a kernel"}, [&]() -> Expected<std::string> {
    auto network = saved(state_->code);
    if (!network) return std::unexpected(network.error());
    return packed({*state_->request, std::move(*network)}, state_->environment);
  });
}

Expected<void> Kernel::save_file(const std::string& path) const {
  return guarded({"saving ", path}, [&]() -> Expected<void> {
    const auto bytes = save();
    if (!bytes) return std::unexpected(bytes.error());
    auto file = OutputFile::create(path);
    if (!file) return std::unexpected(file.error());
    if (auto written = file->write(*bytes); !written) return written;
    return file->finish();
  });
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
    job->kernels = state_->kernels;
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
  const EngineOptions& options = state_->options;
  const std::shared_ptr<const Bindings::State> operands = bindings.state_;
  if (!options.trace) return state_->workspaces->run(*operands, cancellation);
  const auto start = Clock::now();
  auto results = state_->workspaces->run(*operands, cancellation);
  options.trace(fmt::format("{} # run threads {} {:.3f} ms{}", state_->command, options.resources.threads.available(),
                            milliseconds_since(start), results ? "" : ": " + results.error().message));
  return results;
}

Expected<Tensors> Kernel::symbolic(const Bindings& bindings, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_kernel);
  if (auto failure = bindings.failure()) return std::unexpected(std::move(*failure));
  return guarded({"finding the patterns of results"},
                 [&] { return state_->workspaces->symbolic(*bindings.state_, cancellation); });
}

Expected<std::uint64_t> Kernel::scratch_bytes(const Bindings& bindings, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_kernel);
  if (auto failure = bindings.failure()) return std::unexpected(std::move(*failure));
  return guarded({"asking for scratch memory"},
                 [&] { return state_->workspaces->scratch_bytes(*bindings.state_, cancellation); });
}

Expected<void> Kernel::prepare(const Bindings& bindings, const Cancellation* cancellation) const {
  if (!state_) return input_error(empty_kernel);
  if (auto failure = bindings.failure()) return std::unexpected(std::move(*failure));
  return guarded({"preparing a kernel"}, [&] {
    const std::shared_ptr<const Bindings::State> operands = bindings.state_;
    return state_->workspaces->prepare(*operands, cancellation);
  });
}

Expected<std::string> Kernel::explain(const std::string& stage) const {
  if (!state_) return input_error(empty_kernel);
  const auto known = parse_stage(stage);
  if (!known) return input_error(no_stage(stage));
  return explain(*known);
}
Expected<std::string> Kernel::explain(Stage stage) const {
  if (!state_) return input_error(empty_kernel);
  return guarded({"explaining ", name(stage)}, [&] { return state_->code.explain(stage); });
}
Expected<Report> Kernel::measured() const {
  if (!state_) return input_error(empty_kernel);
  return guarded({"telling what runs took"}, [&]() -> Expected<Report> {
    const MeasuredRun run = state_->workspaces->measured();
    Report report = state_->report;
    if (run.timed == 0 || !report.explained) return report;
    report.run_ms = {run.ms};
    report.explained = std::make_shared<const Explanation>(with_nest_times(*report.explained, state_->code, run.nest_ms));
    return report;
  });
}
const Report& Kernel::report() const {
  static const Report none;
  return state_ ? state_->report : none;
}

}  // namespace weft
