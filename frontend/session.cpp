#include "weft/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/counted.h"
#include "engine/pipeline.h"
#include "engine/plan/count_joins.h"
#include "engine/plan/explanation.h"
#include "engine/plan/forest.h"
#include "engine/trace.h"
#include "frontend/parse.h"
#include "frontend/pinned_trees.h"
#include "frontend/resolve.h"
#include "weft/statistics.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <class Element>
ResultReport summed(std::span<const Element> values) {
  ResultReport report;
  double scale = 0;
  for (const Element value : values) {
    report.sum += static_cast<double>(value);
    scale = std::max(scale, std::abs(static_cast<double>(value)));
  }
  // Scaled, so that squares of huge or tiny values neither overflow nor vanish.
  if (scale > 0 && std::isfinite(scale)) {
    double squares = 0;
    for (const Element value : values) {
      const double scaled = static_cast<double>(value) / scale;
      squares += scaled * scaled;
    }
    report.norm = scale * std::sqrt(squares);
  } else {
    report.norm = scale;
  }
  for (const Element value : values) {
    if (std::isnan(value)) report.norm = value;
  }
  return report;
}

/// "dd": the mode order is told only where it is not 0, 1, ….
std::string result_format(const Format& format) {
  std::string text;
  for (const Level& level : format.levels) text += letter(level.kind);
  for (std::size_t level = 0; level < format.order(); ++level) {
    if (format.mode_order[level] != level) return format.text();
  }
  return text;
}

ResultReport result_report(const Tensor& tensor) {
  ResultReport report = tensor.format.scalar == Scalar::f64 ? summed(tensor.values.as<const double>())
                                                            : summed(tensor.values.as<const float>());
  report.extents = tensor.extents;
  report.format = result_format(tensor.format);
  report.nnz = tensor.nnz();
  report.bytes = tensor.bytes();
  return report;
}

std::string kernel_origin(const CompiledNetwork& kernel) {
  bool disk = false;
  for (const CompiledNest& nest : kernel.nests()) {
    if (nest.origin == KernelOrigin::compiled) return "compiled";
    disk = disk || nest.origin == KernelOrigin::disk;
  }
  return disk ? "disk" : "memory";
}

}  // namespace

struct Session::State {
  Pipeline engine;
  Machine machine;  // what the planner takes the machine for
  std::map<std::string, Tensor> tensors;
};

Expected<Session> Session::create(SessionOptions options) {
  Expected<Machine> machine = Machine{};
  if (!options.calibration.empty()) machine = parse_machine(options.calibration, options.calibration_name);
  if (!machine) return std::unexpected(machine.error());
  auto engine = Pipeline::create({.resources = options.resources,
                                .deterministic = options.deterministic,
                                .strict_fp = options.strict_fp,
                                .checked = options.checked,
                                .use_cache = options.use_cache,
                                .cache_directory = options.cache_directory,
                                .paranoid = options.paranoid,
                                .perf_map = options.perf_map,
                                .dump_directory = options.dump_directory,
                                .trace = options.trace});
  if (!engine) return std::unexpected(engine.error());
  Session session;
  session.state_ = std::make_shared<State>(State{*engine, *machine, {}});
  return session;
}

void Session::set(const std::string& name, Tensor tensor) { state_->tensors[name] = std::move(tensor); }
void Session::drop(const std::string& name) { state_->tensors.erase(name); }
const std::map<std::string, Tensor>& Session::tensors() const { return state_->tensors; }

namespace {

/// A requested scalar is that of what reads it too: a result is f32 if it has factors and all are, or if a format says so.
void spread_scalars(Network& network, const PlanOptions& options) {
  for (const Assignment& assignment : network.assignments) {
    TensorDeclaration& result = network.tensors[assignment.result.tensor];
    if (options.result_formats.contains(result.name)) continue;
    bool any = false;
    bool all_f32 = true;
    for (const Term& term : assignment.terms) {
      for (const TensorAccess& factor : term.factors) {
        any = true;
        all_f32 = all_f32 && network.tensors[factor.tensor].scalar == Scalar::f32;
      }
    }
    result.scalar = any && all_f32 ? Scalar::f32 : Scalar::f64;
  }
}

/// The steps of one evaluation; each fills its part of the report.
class Evaluator {
 public:
  Evaluator(const Pipeline& engine, const Machine& machine, const std::map<std::string, Tensor>& tensors,
            const EvaluateOptions& options)
      : engine_(engine), machine_(machine), options_(options), operands_(tensors) {}

  Expected<Evaluation> evaluate(std::string_view text, const std::vector<std::string>& names) {
    report().expression = text;
    report().threads = engine_.options().resources.threads.count();
    auto network = resolved(text, names);
    if (!network) return std::unexpected(network.error());
    auto plan = planned(*network);
    if (!plan) return std::unexpected(plan.error());
    if (auto told = tell_plan(*network, *plan); !told) return std::unexpected(told.error());
    tell_results(*network, *plan);
    if (engine_.options().resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    const bool compiled_stage = std::ranges::any_of(options_.stages, [](const std::string& stage) {
      return stage == "signature" || stage == "llvm" || stage == "asm" || stage == "object";
    });
    if (!options_.run && !options_.compile && !compiled_stage) {
      if (auto stages = tell_stages(*network, *plan); !stages) return std::unexpected(stages.error());
      return std::move(evaluation_);
    }
    const auto kernel = engine_.compile(*network, *plan, facts_);
    if (!kernel) return std::unexpected(kernel.error());
    if (auto told = tell_kernel(*kernel); !told) return std::unexpected(told.error());
    if (options_.run && options_.count) {
      if (auto counted = count(*network, *plan); !counted) return std::unexpected(counted.error());
    }
    if (options_.run) {
      if (auto ran = run(*kernel); !ran) return std::unexpected(ran.error());
    }
    return std::move(evaluation_);
  }

 private:
  Report& report() { return evaluation_.report; }

  Expected<Network> resolved(std::string_view text, const std::vector<std::string>& names) {
    const auto start = Clock::now();
    const auto parsed = parse_expression(text);
    if (!parsed) return std::unexpected(parsed.error());
    std::vector<OperandShape> shapes;
    for (const std::string& name : names) {
      const auto tensor = operands_.find(name);
      if (tensor == operands_.end()) return input_error(fmt::format("no tensor is named {}", name));
      shapes.push_back({name, tensor->second.extents, tensor->second.format.scalar});
      report().operands[name] = {tensor->second.extents, tensor->second.nnz(), tensor->second.format.text(),
                                 std::string(weft::name(tensor->second.format.scalar)), tensor->second.bytes()};
    }
    auto network = resolve(*parsed, shapes);
    report().phases.parse = milliseconds_since(start);
    return network;
  }

  /// A defect of a given schedule is found in its text, so its origin is named.
  Error named(Error error) const {
    if (!options_.schedule_name.empty()) error.message = options_.schedule_name + ": " + error.message;
    return error;
  }

  Expected<Objective> objective() const {
    if (options_.objective.empty() || options_.objective == "time") return Objective::time;
    if (options_.objective != "workspace-order") {
      return input_error(fmt::format("--objective {}: the objectives are time and workspace-order", options_.objective));
    }
    if (!options_.schedule.empty() || options_.unfused) {
      return input_error(fmt::format("--objective and {} contradict each other: nothing is left to choose",
                                     options_.unfused ? "--unfused" : "--schedule"));
    }
    return Objective::workspace_order;
  }

  Expected<void> patterned(const Network& network, const std::string& name, const std::string& pattern) const {
    const auto declared = std::ranges::find(network.tensors, name, &TensorDeclaration::name);
    const auto operand = std::ranges::find(network.tensors, pattern, &TensorDeclaration::name);
    if (declared == network.tensors.end() || !declared->is_result) {
      return input_error(fmt::format("--format {}:like({}): {} is no result; an operand has a format of its own", name,
                                     pattern, name));
    }
    if (operand == network.tensors.end() || operand->is_result) {
      return input_error(fmt::format("--format {}:like({}): {} is no operand", name, pattern, pattern));
    }
    return {};
  }

  Expected<Plan> planned(Network& network) {
    std::map<std::string, bool> pinned;
    const auto chosen = objective();
    if (!chosen) return std::unexpected(chosen.error());
    PlanOptions plan_options;
    plan_options.objective = *chosen;
    plan_options.calls = options_.calls;
    plan_options.machine = machine_;
    plan_options.memory_limit = engine_.options().resources.memory.limit();
    plan_options.strict_fp = engine_.options().strict_fp;
    plan_options.prove = options_.prove;
    for (const auto& [name, format] : options_.formats) {
      const auto declared = std::ranges::find(network.tensors, name, &TensorDeclaration::name);
      if (declared == network.tensors.end()) {
        return input_error(fmt::format("--format names {}, which is neither an operand nor a result", name));
      }
      if (declared->extents.size() != format.order()) {
        return input_error(fmt::format("the format of {} has {} levels, but {} has {} modes", name, format.order(), name,
                                       declared->extents.size()));
      }
      if (!declared->is_result) {
        pinned[name] = true;
        continue;
      }
      declared->scalar = format.scalar;
      plan_options.result_formats[name] = format;
    }
    for (const auto& [name, pattern] : options_.patterns) {
      if (auto known = patterned(network, name, pattern); !known) return std::unexpected(known.error());
      plan_options.result_patterns[name] = pattern;
      plan_options.results.insert(name);
    }
    for (const std::string& name : options_.results) {
      const auto declared = std::ranges::find(network.tensors, name, &TensorDeclaration::name);
      if (declared == network.tensors.end() || !declared->is_result) {
        return input_error(fmt::format("{} is wanted as a result, but the expression does not assign it", name));
      }
      plan_options.results.insert(name);
    }
    spread_scalars(network, plan_options);
    given_ = network;
    for (const TensorId tensor : unneeded(network, plan_options)) report().not_computed.push_back(network.tensors[tensor].name);
    if (!options_.tree.empty()) {
      auto pinned_network = with_pinned_trees(network, options_.tree, plan_options);
      if (!pinned_network) return std::unexpected(pinned_network.error());
      network = std::move(*pinned_network);
    }
    const auto start = Clock::now();
    facts_ = engine_.facts(network, operands_, pinned);
    std::map<TensorId, const Tensor*> tensors;
    for (const OperandFacts& operand : facts_) tensors[operand.tensor] = &operands_.at(network.tensors[operand.tensor].name);
    JoinCounter counter(network, facts_, tensors, {}, engine_.options().resources);
    report().phases.plan = 0;
    const auto timed = [&](const auto& planner) {
      const auto planning = Clock::now();
      Expected<Plan> one = planner();
      report().phases.plan += milliseconds_since(planning);
      return one;
    };
    Expected<Plan> plan = Plan{};
    if (!options_.schedule.empty()) {
      const auto schedule = parse_schedule(options_.schedule, network);
      if (!schedule) return std::unexpected(named(schedule.error()));
      if (auto legal = check(*schedule, network, facts_, plan_options); !legal) return std::unexpected(named(legal.error()));
      if (auto counted = count_joins_of(*schedule, network, facts_, plan_options, counter); !counted) {
        return std::unexpected(counted.error());
      }
      plan = timed([&] { return plan_given(*schedule, network, facts_, plan_options); });
      if (!plan) return std::unexpected(named(plan.error()));
    } else {
      plan = plan_counted(network, facts_, plan_options, counter, [&](const PlanOptions& with) {
        return timed([&] {
          return options_.unfused ? plan_unfused(network, facts_, with) : engine_.plan(network, facts_, with);
        });
      });
    }
    // Sampling the operands is counted with their statistics.
    report().phases.statistics = milliseconds_since(start) - report().phases.plan;
    if (plan) {
      report().tree = print_trees(plan->schedule, network);
      report().explained = explanation(*plan, network, facts_, plan_options);
      report().explanation = explain(*plan, report().explained, network, plan_options);
      if (options_.why) {
        report().explained.constraints = binding_constraints(*plan, network, facts_, plan_options);
        for (const ExplainedConstraint& constraint : report().explained.constraints) {
          report().explanation += fmt::format("{} {}: {}\n", constraint.name, constraint.binds ? "binds" : "does not bind",
                                                 constraint.effect);
        }
      }
    }
    return plan;
  }

  Expected<void> tell_plan(const Network& network, const Plan& plan) {
    report().plan_cache = plan.origin == PlanOrigin::planned ? "miss" : "hit";
    report().plan.producer = plan.producer;
    report().plan.optimal = plan.optimal;
    report().plan.schedule = print(plan.schedule, network);
    report().plan.cost_ns = plan.cost.ns;
    report().plan.peak_bytes = plan.cost.peak_bytes;
    report().plan.flops = plan.cost.flops;
    report().plan.candidates = plan.candidates;
    const auto start = Clock::now();
    const auto nests = engine_.lower(network, plan, facts_);
    if (!nests) return std::unexpected(nests.error());
    report().phases.lower = milliseconds_since(start);
    for (const LoweredNest& nest : *nests) report().plan.loops += loop::print(nest.program);
    return {};
  }

  /// What is known of the results before a run.
  void tell_results(const Network& network, const Plan& plan) {
    for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
      if (scheduled.role != TensorRole::operand && !scheduled.format.all_dense() && !scheduled.like) {
        report().plan.peak_is_estimate = true;
      }
      if (scheduled.role != TensorRole::result) continue;
      ResultReport& result = report().results[scheduled.name];
      result.extents = network.tensors[scheduled.tensor].extents;
      const Format& handed_over = scheduled.delivered ? *scheduled.delivered : scheduled.format;
      result.format = result_format(handed_over);
      if (!handed_over.all_dense()) continue;
      std::uint64_t entries = 1;
      for (const std::uint64_t extent : result.extents) entries *= extent;
      result.nnz = entries;
      result.bytes = entries * scalar_bytes(scheduled.format.scalar);
    }
  }

  /// Stages that need no machine code.
  Expected<void> tell_stages(const Network& network, const Plan& plan) {
    for (const std::string& stage : options_.stages) {
      if (stage == "network") {
        report().stages[stage] = print(given_);
      } else if (stage == "tree") {
        report().stages[stage] = report().tree + "\n";
      } else if (stage == "schedule") {
        report().stages[stage] = print(plan.schedule, network);
      } else if (stage == "loops") {
        report().stages[stage] = report().plan.loops;
      } else {
        return input_error(fmt::format("no stage is named '{}'", stage));
      }
    }
    return {};
  }

  Expected<void> tell_kernel(const CompiledNetwork& kernel) {
    report().phases.lower = kernel.phases().lower;
    report().phases.generate = kernel.phases().generate;
    report().phases.emit = kernel.phases().emit;
    report().phases.load = kernel.phases().load;
    report().kernel_cache = kernel_origin(kernel);
    for (const CompiledNest& nest : kernel.nests()) report().object_bytes += nest.object_bytes;
    for (const std::string& stage : options_.stages) {
      auto text = stage == "network" ? print(given_) : kernel.explain(stage);
      if (!text) return std::unexpected(text.error());
      report().stages[stage] = std::move(*text);
    }
    return {};
  }

  /// A run of its own, so that counting costs the timed ones nothing; its memory is given back before they start.
  Expected<void> count(const Network& network, const Plan& plan) {
    const auto kernel = engine_.compile(network, plan, facts_, true);
    if (!kernel) return std::unexpected(kernel.error());
    auto binding = kernel->bind(operands_, engine_.options().resources, engine_.options().deterministic);
    if (!binding) return std::unexpected(binding.error());
    if (auto ran = binding->run(); !ran) return ran;
    report().explained = with_counts(std::move(report().explained), *kernel, *binding);
    return {};
  }

  Expected<void> run(const CompiledNetwork& kernel) {
    auto binding = kernel.bind(operands_, engine_.options().resources, engine_.options().deterministic);
    if (!binding) return std::unexpected(binding.error());
    report().phases.convert = binding->convert_ms();
    if (options_.repeat > 0) {
      if (auto warm = binding->run(); !warm) return warm;
    }
    for (unsigned repetition = 0; repetition < std::max(1U, options_.repeat); ++repetition) {
      const auto start = Clock::now();
      if (auto ran = binding->run(); !ran) return ran;
      report().run_ms.push_back(milliseconds_since(start));
      if (engine_.options().trace) {
        engine_.options().trace(fmt::format(
            "{} # run threads {} {:.3f} ms",
            command_line(kernel.network(), facts_, kernel.plan().schedule, engine_.options()), report().threads,
            report().run_ms.back()));
      }
    }
    auto results = binding->results();
    if (!results) return std::unexpected(results.error());
    evaluation_.results = std::move(*results);
    report().phases.convert = binding->convert_ms();
    for (const auto& [name, tensor] : evaluation_.results) report().results[name] = result_report(tensor);
    return {};
  }

  const Pipeline& engine_;
  const Machine& machine_;
  const EvaluateOptions& options_;
  const std::map<std::string, Tensor>& operands_;
  std::vector<OperandFacts> facts_;
  Network given_;  // without the trees that --tree pins
  Evaluation evaluation_;
};

}  // namespace

double Report::median_run_ms() const {
  std::vector<double> sorted = run_ms;
  std::ranges::sort(sorted);
  return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

Expected<Evaluation> Session::evaluate(std::string_view expression, const std::vector<std::string>& operands,
                                       const EvaluateOptions& options) {
  return Evaluator(state_->engine, state_->machine, state_->tensors, options).evaluate(expression, operands);
}

}  // namespace weft
