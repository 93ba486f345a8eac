#include "engine/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "engine/cache/cache_directory.h"
#include "engine/cache/disk_cache.h"
#include "engine/cache/memory_cache.h"
#include "engine/compiled_state.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/estimate/quantise.h"
#include "engine/plan/prove/interruption.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/finiteness.h"
#include "engine/plan_cache.h"
#include "engine/saved_network.h"
#include "engine/specialize.h"
#include "engine/trace.h"
#include "runtime/elapsed.h"
#include "runtime/layouts.h"

namespace weft {
namespace {

/// What the caches hold per canonical program.
struct CachedCode {
  LoadedCode code;
  std::uint64_t object_bytes = 0;
};

/// Everything that shapes object bytes.
std::string kernel_key(const loop::Program& program, const Target& target, const CodeOptions& options) {
  return fmt::format("weft {} abi {} code {} {}\n{}\n{}\n{}", WEFT_VERSION, kernel_abi_version, generated_code_version,
                     code_generator_version(), target.text(), options.text(), loop::print(program));
}

}  // namespace

struct Pipeline::State {
  EngineOptions options;
  Target target;
  Jit jit;
  TargetMachines machines;
  std::optional<DiskCache> disk;
  MemoryCache<CachedCode> memory{{.entries = options.kernels_in_memory},
                                 [](const CachedCode& cached) { return cached.object_bytes; }};
  MemoryCache<std::shared_ptr<const Plan>> plans{{.entries = options.kernels_in_memory}};
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> compiled{0};
  std::atomic<std::uint64_t> by_grade[3] = {};
  std::atomic<std::uint64_t> fallbacks{0};
  std::atomic<std::uint64_t> plans_by_origin[3] = {};

  State(EngineOptions chosen, Jit created) : options(std::move(chosen)), target(host_target()), jit(std::move(created)) {}

  void trace(const std::string& line) const {
    if (options.trace) options.trace(line);
  }
  /// "weft run …", which plans the like, " # plan ", and what there is to tell.
  void trace_plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& chosen,
                  const Schedule& schedule, const std::string& what) const {
    if (!options.trace) return;
    std::string command = command_line(network, operands, schedule, options);
    if (chosen.calls != 1) command += fmt::format(" --calls {}", chosen.calls);
    if (chosen.prove) command += " --prove";
    if (chosen.objective == Objective::workspace_order) command += " --objective workspace-order";
    trace(fmt::format("{} # plan {}", command, what));
  }
  CodeOptions code_options() const { return {options.checked, options.strict_fp}; }

  /// A plan from the disk cache, or made and stored there. One that physical memory shaped, or that was made without a
  /// solver, is of this machine and this moment, so nobody else gets it.
  Expected<std::shared_ptr<const Plan>> make_plan(const std::string& key, const Network& network,
                                                  const std::vector<OperandFacts>& operands, const PlanOptions& chosen) {
    std::string refused;
    if (disk) {
      if (const auto text = disk->load(key, EntryForm::text)) {
        auto restored = restored_plan(*text, network, operands, chosen);
        if (restored && options.paranoid) {
          // Planning is a pure function, so the text has to be the same.
          const auto again = weft::plan(Problem{network, operands, chosen});
          if (!again) return std::unexpected(again.error());
          if (print_plan(*again, network) != *text) restored = internal_error("planning again gives another plan");
        }
        if (restored) {
          restored->origin = PlanOrigin::disk;
          return std::make_shared<const Plan>(std::move(*restored));
        }
        refused = fmt::format("{} refused, planned again: {}", DiskCache::file_name(key, EntryForm::text), restored.error().message);
      }
    }
    auto planned = weft::plan(Problem{network, operands, chosen});
    if (!planned) return std::unexpected(planned.error());
    if (!refused.empty()) trace_plan(network, operands, chosen, planned->schedule, refused);
    const bool for_everybody = planned->too_large == 0 && planned->solver.unavailable.empty();
    if (disk && for_everybody) disk->store(key, print_plan(*planned, network), EntryForm::text);
    return std::make_shared<const Plan>(std::move(*planned));
  }

  /// What a nest that is not in memory is made from, and who is told.
  struct Wanted {
    const std::string& key;
    const loop::Program& program;  ///< canonical
    const loop::Program& named;    ///< as lowered
    const CodeOptions& code;
    const std::string& command;    ///< that does the like; empty if nobody listens
  };

  Expected<CachedCode> make(const Wanted& wanted, KernelOrigin& origin, CompilePhases& phases) {
    const auto& [key, program, named, code, command] = wanted;
    const std::string name = kernel_name(named, key);
    if (options.dump_directory) dump_texts(wanted, name);
    if (disk) {
      if (const auto bytes = disk->load(key)) {
        if (options.paranoid) {
          const auto again = compiled_object(program, code, phases);
          if (!again) return std::unexpected(again.error());
          if (again->object.bytes != *bytes) {
            trace(fmt::format("{} # load {} refused, compiling again gives other code", command, name));
            return fresh(wanted, name, *again, origin, phases);
          }
        }
        const auto start = Clock::now();
        const auto loaded = jit.load(ObjectCode{*bytes}, name);
        phases.load += milliseconds_since(start);
        if (loaded) {
          origin = KernelOrigin::disk;
          ++disk_hits;
          trace(fmt::format("{} # load {} disk {} bytes {:.3f} ms", command, name, bytes->size(), milliseconds_since(start)));
          return CachedCode{*loaded, bytes->size()};
        }
        trace(fmt::format("{} # load {} refused, compiling again: {}", command, name, loaded.error().message));
      }
    }
    const auto object = compiled_object(program, code, phases);
    if (!object) return std::unexpected(object.error());
    return fresh(wanted, name, *object, origin, phases);
  }

  /// Generated for the dump alone. What goes wrong there is told and changes nothing.
  void dump_texts(const Wanted& wanted, const std::string& name) const {
    KernelTexts texts{loop::print(wanted.named), {}, {}};
    auto llvm = llvm_text(wanted.program, target, wanted.code);
    auto assembly = assembly_text(wanted.program, target, wanted.code);
    texts.llvm = llvm ? std::move(*llvm) : llvm.error().message;
    texts.assembly = assembly ? std::move(*assembly) : assembly.error().message;
    if (const auto written = dump(*options.dump_directory, name, texts); !written) trace(fmt::format("{} # compile {} not dumped: {}", wanted.command, name, written.error().message));
  }

  /// The code of a nest, from memory if it is there.
  Expected<CachedCode> known_or_made(const CompiledNest& nest, const CodeOptions& code, const std::string& command,
                                     KernelOrigin& origin, CompilePhases& phases) {
    const std::string key = kernel_key(nest.canonical.program, target, code);
    origin = KernelOrigin::memory;
    const auto made = [&] { return make({key, nest.canonical.program, nest.nest.program, code, command}, origin, phases); };
    const auto found = options.use_cache ? memory.get(key, made) : made();
    if (found && origin == KernelOrigin::memory) ++memory_hits;
    return found;
  }

  struct Compiled {
    ObjectCode object;
    CompileTimes times;
  };
  Expected<Compiled> compiled_object(const loop::Program& program, const CodeOptions& code, CompilePhases& phases) {
    CompileTimes times;
    auto object = weft::compile(program, target, code, &times, &machines);
    if (!object) return std::unexpected(object.error());
    phases.generate += times.generate;
    phases.emit += times.emit;
    return Compiled{std::move(*object), times};
  }

  /// Loads what was just compiled, and stores it for others.
  Expected<CachedCode> fresh(const Wanted& wanted, const std::string& name, const Compiled& made, KernelOrigin& origin,
                             CompilePhases& phases) {
    const auto start = Clock::now();
    auto loaded = jit.load(made.object, name);
    phases.load += milliseconds_since(start);
    if (!loaded) return std::unexpected(loaded.error());
    origin = KernelOrigin::compiled;
    ++compiled;
    trace(fmt::format("{} # compile {} generate {:.3f} ms emit {:.3f} ms load {:.3f} ms {} bytes", wanted.command, name, made.times.generate,
                      made.times.emit, milliseconds_since(start), made.object.bytes.size()));
    if (disk) disk->store(wanted.key, made.object.bytes);
    return CachedCode{*loaded, made.object.bytes.size()};
  }
};

Expected<Pipeline> Pipeline::create(EngineOptions options) {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (!options.dump_directory && !variable("WEFT_DUMP").empty()) options.dump_directory = variable("WEFT_DUMP");
  if (options.dump_directory) {
    if (const auto made = make_directories(*options.dump_directory); !made)
      return input_error(fmt::format("cannot make {} to dump kernels into: {}", *options.dump_directory, made.error().reason));
  }
  auto jit = Jit::create({.perf_map = options.perf_map || !variable("WEFT_PERF").empty()});
  if (!jit) return std::unexpected(jit.error());
  Pipeline pipeline;
  pipeline.state_ = std::make_shared<State>(std::move(options), std::move(*jit));
  if (pipeline.options().use_cache && pipeline.options().cache_directory) {
    pipeline.state_->disk.emplace(*pipeline.options().cache_directory, DiskCache::default_cap, pipeline.options().trace);
  }
  return pipeline;
}

const EngineOptions& Pipeline::options() const { return state_->options; }

std::string Pipeline::environment() const { return weft::environment(state_->code_options(), state_->target); }

CacheCounters Pipeline::counters() const {
  const auto plans = [&](PlanOrigin origin) { return state_->plans_by_origin[static_cast<std::size_t>(origin)].load(); };
  return {.memory = state_->memory_hits,
          .disk = state_->disk_hits,
          .compiled = state_->compiled,
          .generic = state_->by_grade[0],
          .profiled = state_->by_grade[1],
          .baked = state_->by_grade[2],
          .fallbacks = state_->fallbacks,
          .plans_memory = plans(PlanOrigin::memory),
          .plans_disk = plans(PlanOrigin::disk),
          .plans_made = plans(PlanOrigin::planned)};
}

void Pipeline::found_again(const CompiledNetwork& code) const {
  state_->memory_hits += code.nests().size();
  ++state_->by_grade[static_cast<std::size_t>(code.grade())];
  ++state_->plans_by_origin[static_cast<std::size_t>(PlanOrigin::memory)];
}

std::vector<OperandFacts> Pipeline::facts(const Network& network, const std::map<std::string, Tensor>& operands,
                                          const std::map<std::string, bool>& pinned) const {
  NamedFacts known;
  for (const auto& [name, tensor] : operands) known.emplace(name, operand_facts(tensor, state_->options.resources));
  return facts(network, known, pinned);
}

std::vector<OperandFacts> Pipeline::facts(const Network& network, const NamedFacts& operands,
                                          const std::map<std::string, bool>& pinned) const {
  std::vector<OperandFacts> facts;
  for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
    const TensorDeclaration& declared = network.tensors[tensor];
    const auto found = operands.find(declared.name);
    if (declared.is_result || found == operands.end()) continue;
    OperandFacts known = found->second;
    const auto pin = pinned.find(declared.name);
    known.tensor = tensor;
    known.pinned = pin != pinned.end() && pin->second;
    facts.push_back(quantised(std::move(known)));
  }
  return facts;
}

Expected<Plan> Pipeline::plan(const Network& network, const std::vector<OperandFacts>& operands,
                            const PlanOptions& options) const {
  const auto start = Clock::now();
  Expected<Plan> found = remembered_or_made(network, operands, options);
  if (found) ++state_->plans_by_origin[static_cast<std::size_t>(found->origin)];
  if (found && state_->options.trace) {
    constexpr std::string_view origins[] = {"made", "memory", "disk"};
    state_->trace_plan(network, operands, options, found->schedule,
                       fmt::format("{} cost {:.0f} ns candidates {} {} {:.3f} ms", found->producer, found->cost.ns, found->candidates,
                                   origins[static_cast<std::size_t>(found->origin)], milliseconds_since(start)));
  }
  return found;
}

Expected<Plan> Pipeline::remembered_or_made(const Network& network, const std::vector<OperandFacts>& operands,
                                          const PlanOptions& options) const {
  if (!state_->options.use_cache) return weft::plan(Problem{network, operands, options});
  const std::string key = plan_key(network, operands, options);
  bool mine = false;
  const auto get = [&] {
    return state_->plans.get(key, [&] {
      mine = true;
      return state_->make_plan(key, network, operands, options);
    });
  };
  auto known = get();
  // Another who waits for the same plan may have cancelled what made it.
  while (!known && known.error().kind == ErrorKind::cancelled && !mine && !is_cancelled(options)) known = get();
  if (!known) return std::unexpected(known.error());
  if (mine) return **known;
  Plan plan = **known;
  plan.origin = PlanOrigin::memory;
  auto fitting = with_memory(std::move(plan), network, operands, options);
  if (fitting) return fitting;
  auto again = weft::plan(Problem{network, operands, options});
  if (again) state_->trace_plan(network, operands, options, again->schedule, "from memory refused, planned again: " + fitting.error().message);
  return again;
}

bool Pipeline::knows_plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) const {
  if (!state_->options.use_cache) return false;
  const std::string key = plan_key(network, operands, options);
  return state_->plans.holds(key) || (state_->disk && state_->disk->load(key, EntryForm::text));
}

Expected<bool> Pipeline::knows_code(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                    const CompileFor& specialize) const {
  if (!state_->options.use_cache) return false;
  static const std::map<std::string, Tensor> no_tensors;
  auto known = specialized(network, plan, operands, specialize.tensors ? *specialize.tensors : no_tensors, specialize.grade,
                           state_->options.resources);
  if (!known) return std::unexpected(known.error());
  known->facts.scaled = specialize.scaled;
  known->facts.strided = specialize.strided;
  CodeOptions code = state_->code_options();
  if (!known->patterns.empty()) code.patterns = std::make_shared<const Patterns>(std::move(known->patterns));
  const auto nests = lower(network, plan, operands, known->facts, specialize.planned.machine);
  if (!nests) return std::unexpected(nests.error());
  return std::ranges::all_of(*nests, [&](const LoweredNest& nest) {
    const std::string key = kernel_key(loop::canonical(nest.program).program, state_->target, code);
    return state_->memory.holds(key) || (state_->disk && state_->disk->load(key));
  });
}

Expected<std::vector<LoweredNest>> Pipeline::lower(const Network& network, const Plan& plan,
                                                 const std::vector<OperandFacts>& operands,
                                                 const LoweringFacts& more, const Machine& machine) const {
  auto made = lowered(network, plan, operands, more, machine);
  if (!made) return std::unexpected(made.error());
  return std::move(made->nests);
}

Expected<Pipeline::Lowered> Pipeline::lowered(const Network& network, const Plan& plan, std::vector<OperandFacts> operands,
                                              const LoweringFacts& more, const Machine& machine) const {
  const Schedule& schedule = plan.schedule;
  const auto lowered_for = [&]() -> Expected<Lowered> {
    // What one nest leaves to the next is as finite there as within one nest.
    auto nests = weft::lower(schedule, network, finite_tensors(schedule, operands), more);
    if (!nests) return std::unexpected(nests.error());
    std::set<TensorId> finite = finite_operands_needed(schedule, network, operands);
    for (const LoweredNest& nest : *nests) {
      for (const loop::Fact& fact : nest.program.facts) {
        if (const auto* stated = std::get_if<loop::FiniteFact>(&fact)) finite.merge(operands_of(schedule, nest.tensors[stated->storage]));
      }
    }
    return Lowered{std::move(*nests), std::move(finite)};
  };
  operands = assumed_finite(std::move(operands));
  auto made = lowered_for();
  if (!made) return made;
  // Facts that the schedule does not rest on only spare a number its flag.
  std::set<TensorId> dear = dear_looks(made->finite, operands, plan.cost.ns, machine);
  for (const TensorId needed : finite_operands_needed(schedule, network, operands)) dear.erase(needed);
  if (!dear.empty()) {
    operands = without_looks(std::move(operands), dear);
    made = lowered_for();
    if (!made) return made;
  }
  if (are_finite(made->finite, operands)) return made;
  operands = as_they_are(std::move(operands));
  return lowered_for();
}

Expected<CompiledNetwork> Pipeline::generalised(const Network& network, const std::map<std::string, Tensor>& tensors,
                                                const Plan& plan, const std::map<std::string, bool>& pinned, bool count,
                                                const CompileFor& made_for) const {
  std::map<std::string, Tensor> stored = tensors;
  for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
    if (scheduled.role != TensorRole::operand || !pinned.contains(network.tensors[scheduled.tensor].name)) continue;
    Tensor& tensor = stored.at(network.tensors[scheduled.tensor].name);
    if (tensor.format().text() == scheduled.format.text()) continue;
    auto layout = laid_out(tensor, scheduled.format, false, state_->options.resources, scheduled.name);
    if (!layout) return std::unexpected(layout.error());
    tensor = std::move(layout->tensor);
  }
  std::vector<OperandFacts> known = vouched_for(facts(network, stored, pinned), network, made_for.assume_finite);
  CompileFor generic{.grade = Specialization::generic, .calls = made_for.calls, .planned = made_for.planned,
                     .assume_finite = made_for.assume_finite};
  generic.scaled = made_for.scaled;
  generic.strided = made_for.strided;
  for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
    if (scheduled.role != TensorRole::result) continue;
    generic.planned.results.insert(scheduled.name);
    if (scheduled.like || scheduled.format.order() == 0) continue;
    generic.planned.result_formats[scheduled.name] = scheduled.delivered ? *scheduled.delivered : scheduled.format;
  }
  const auto given = [&] { return plan_given(plan.schedule, Problem{network, known, generic.planned}); };
  if (const auto same = plan_by_need(known, network, generic.planned.machine, given)) {
    auto compiled = compile(network, *same, known, count, generic);
    if (compiled || compiled.error().kind == ErrorKind::cancelled) return compiled;
  }
  const auto another = plan_by_need(known, network, generic.planned.machine, [&] { return this->plan(network, known, generic.planned); });
  if (!another) return std::unexpected(another.error());
  return compile(network, *another, known, count, generic);
}

Pipeline::Generalise Pipeline::generaliser(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands, bool count,
                                           const CompileFor& specialize) const {
  std::map<std::string, bool> pinned;
  for (const OperandFacts& operand : operands) {
    if (operand.pinned) pinned[network.tensors[operand.tensor].name] = true;
  }
  return [pipeline = *this, plan, pinned, count, specialize](const Network& of, const std::map<std::string, Tensor>& other,
                                                                           const std::string& why) {
    ++pipeline.state_->fallbacks;
    if (pipeline.options().trace) {
      pipeline.state_->trace(fmt::format("{} # bind: {}; a generic kernel takes the place",
                                         command_line(of, pipeline.facts(of, other, {}), plan.schedule, pipeline.options()), why));
    }
    return pipeline.generalised(of, other, plan, pinned, count, specialize);
  };
}

Expected<CompiledNetwork> Pipeline::restored(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                             const SavedNetwork& saved, const CompileFor& made_for) const {
  const auto damaged = [](std::string_view what) { return input_error(fmt::format("the saved kernel is damaged: {}", what)); };
  auto kernel = std::make_shared<CompiledNetwork::State>();
  kernel->given = network;
  kernel->network = scheduled_network(plan.schedule, network);
  kernel->plan = plan;
  kernel->target = state_->target;
  kernel->code = state_->code_options();
  kernel->grade = saved.grade;
  kernel->finite = saved.finite;
  if (saved.schedule != print(plan.schedule, kernel->network) || saved.finite.size() != plan.schedule.tensors.size())
    return damaged("its plan is another one");
  ++state_->by_grade[static_cast<std::size_t>(saved.grade)];
  kernel->generalise = generaliser(network, plan, operands, false, made_for);
  const auto start = Clock::now();
  for (const SavedNest& nest : saved.nests) {
    CompiledNest loaded;
    loaded.nest = nest.nest;
    for (const std::uint32_t tensor : nest.nest.tensors)
      if (tensor != ~0u && tensor >= plan.schedule.tensors.size()) return damaged("a tensor that the plan does not have");
    for (const IndexId index : nest.nest.indices)
      if (index >= kernel->network.indices.size()) return damaged("an index that the expression does not have");
    loaded.canonical = loop::canonical(nest.nest.program);
    loaded.signature = signature(loaded.canonical.program);
    const std::string name = kernel_name(nest.nest.program, kernel_key(loaded.canonical.program, state_->target, kernel->code));
    auto code = state_->jit.load(ObjectCode{nest.object}, name);
    if (!code) return damaged(code.error().message);
    loaded.code = std::move(*code);
    loaded.object_bytes = nest.object.size() + nest.counting.size();
    loaded.origin = KernelOrigin::disk;
    if (counts_entries(loaded.canonical.program) == nest.counting.empty()) return damaged("the kernel that counts is missing");
    if (!nest.counting.empty()) {
      auto counting = state_->jit.load(ObjectCode{nest.counting}, name);
      if (!counting) return damaged(counting.error().message);
      loaded.counting = std::move(*counting);
    }
    ++state_->disk_hits;
    kernel->nests.push_back(std::move(loaded));
  }
  kernel->phases.load = milliseconds_since(start);
  CompiledNetwork made;
  made.state_ = std::move(kernel);
  return made;
}

Expected<CompiledNetwork> Pipeline::compile(const Network& network, const Plan& plan,
                                 const std::vector<OperandFacts>& operands, bool count,
                                 const CompileFor& specialize) const {
  if (specialize.from != CodeFrom::anywhere) {
    const auto there = knows_code(network, plan, operands, specialize);
    if (!there) return std::unexpected(there.error());
    if (!*there && specialize.from == CodeFrom::caches) return unsupported("there is no such code in the caches");
    CompileFor chosen = specialize;
    chosen.from = CodeFrom::anywhere;
    if (!*there) chosen.grade = Specialization::generic;
    return compile(network, plan, operands, count, chosen);
  }
  auto kernel = std::make_shared<CompiledNetwork::State>();
  kernel->given = network;
  kernel->network = scheduled_network(plan.schedule, network);
  kernel->plan = plan;
  kernel->target = state_->target;
  kernel->code = state_->code_options();
  kernel->code.count = count;
  const auto start = Clock::now();
  static const std::map<std::string, Tensor> no_tensors;
  const std::map<std::string, Tensor>& tensors = specialize.tensors ? *specialize.tensors : no_tensors;
  Specialization grade = specialize.grade;
  const bool automatic = grade == Specialization::automatic;
  if (automatic) grade = Specialization::baked;  // if it pays, which its size tells
  auto known = specialized(network, plan, operands, tensors, grade, state_->options.resources);
  if (!known) return std::unexpected(known.error());
  if (automatic) grade = choose_specialization(plan.cost.ns, specialize.calls, known->baked_entries);
  if (grade == Specialization::baked && known->patterns.empty()) grade = Specialization::profiled;
  known->facts.grade = grade;
  known->facts.scaled = specialize.scaled;
  known->facts.strided = specialize.strided;
  kernel->grade = grade;
  if (grade == Specialization::baked) kernel->code.patterns = std::make_shared<const Patterns>(std::move(known->patterns));
  ++state_->by_grade[static_cast<std::size_t>(grade)];
  kernel->generalise = generaliser(network, plan, operands, count, specialize);
  auto made_nests = lowered(network, plan, operands, known->facts, specialize.planned.machine);
  if (!made_nests) return std::unexpected(made_nests.error());
  for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
    kernel->finite.push_back(scheduled.role == TensorRole::operand && made_nests->finite.contains(scheduled.tensor) &&
                             !specialize.assume_finite.contains(network.tensors[scheduled.tensor].name));
  }
  kernel->phases.lower = milliseconds_since(start);
  const std::string command =
      state_->options.trace ? command_line(network, operands, plan.schedule, state_->options) : std::string();
  for (LoweredNest& nest : made_nests->nests) {
    if (any_cancelled(specialize.cancelled_by)) return fail(ErrorKind::cancelled, "interrupted");
    CompiledNest compiled;
    compiled.canonical = loop::canonical(nest.program);
    compiled.signature = signature(compiled.canonical.program);
    compiled.nest = std::move(nest);
    const auto code = state_->known_or_made(compiled, kernel->code, command, compiled.origin, kernel->phases);
    if (!code) return std::unexpected(code.error());
    compiled.code = code->code;
    compiled.object_bytes = code->object_bytes;
    if (counts_entries(compiled.canonical.program)) {
      CodeOptions symbolic = kernel->code;
      symbolic.symbolic = true;
      symbolic.count = false;
      KernelOrigin origin = KernelOrigin::memory;
      const auto counting = state_->known_or_made(compiled, symbolic, command, origin, kernel->phases);
      if (!counting) return std::unexpected(counting.error());
      compiled.counting = counting->code;
      compiled.object_bytes += counting->object_bytes;
    }
    kernel->nests.push_back(std::move(compiled));
  }
  CompiledNetwork made;
  made.state_ = std::move(kernel);
  return made;
}

const Network& CompiledNetwork::network() const { return state_->given; }
const Plan& CompiledNetwork::plan() const { return state_->plan; }
const std::vector<CompiledNest>& CompiledNetwork::nests() const { return state_->nests; }
Specialization CompiledNetwork::grade() const { return state_->grade; }
std::vector<std::string> CompiledNetwork::finite_operands() const {
  std::vector<std::string> names;
  for (std::size_t number = 0; number < state_->finite.size(); ++number) {
    if (state_->finite[number]) names.push_back(state_->given.tensors[state_->plan.schedule.tensors[number].tensor].name);
  }
  return names;
}
const CompilePhases& CompiledNetwork::phases() const { return state_->phases; }

}  // namespace weft
