#include "engine/pipeline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "engine/cache/cache_directory.h"
#include "engine/cache/disk_cache.h"
#include "engine/codegen/baked_size.h"
#include "engine/compiled_state.h"
#include "engine/fallback.h"
#include "engine/kernel_store.h"
#include "engine/lowering.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan_store.h"
#include "engine/prove/kernel_proofs.h"
#include "engine/saved_network.h"
#include "engine/specialize.h"
#include "engine/trace.h"
#include "runtime/elapsed.h"
#include "runtime/spread.h"

namespace weft {
namespace {

constexpr std::size_t grades = 3;  // of Specialization, without automatic

/// What an environment variable says; empty where it is not set.
std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::shared_ptr<DiskCache> disk_cache(const EngineOptions& options) {
  if (!options.use_cache || !options.cache_directory) return nullptr;
  return std::make_shared<DiskCache>(*options.cache_directory, DiskCache::default_cap, options.trace);
}

/// What a kernel of the grade asked for may take for granted; `automatic` is decided here, by what a baked one would hold.
Expected<Specialized> graded(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                             const CompileFor& wanted, const Resources& resources) {
  static const std::map<std::string, Tensor> no_tensors;
  Specialization grade = wanted.grade;
  const bool automatic = grade == Specialization::automatic;
  if (automatic) grade = Specialization::baked;  // if it pays, which its size tells
  const std::map<std::string, Tensor>& tensors = wanted.tensors ? *wanted.tensors : no_tensors;
  auto known = specialized(network, plan, operands, tensors, grade, wanted.planned.machine, resources);
  if (!known) return known;
  if (automatic) grade = choose_specialization(plan.cost.ns, wanted.calls, known->baked_entries);
  if (grade == Specialization::baked && known->patterns.empty()) grade = Specialization::profiled;
  if (grade != Specialization::baked) known->patterns.clear();
  known->facts.grade = grade;
  known->facts.scaled = wanted.scaled;
  known->facts.strided = wanted.strided;
  return known;
}

/// Takes back the patterns of what a nest reads whose code would be too much with them. Whether there were any.
bool drop_large(const std::vector<LoweredNest>& nests, const CodeOptions& code, LoweringFacts& facts) {
  bool dropped = false;
  for (const LoweredNest& nest : nests) {
    const auto is_pattern = [](const loop::Fact& fact) { return std::holds_alternative<loop::PatternFact>(fact); };
    if (std::ranges::none_of(nest.program.facts, is_pattern) || baked_size(nest.program, code, most_baked_size) <= most_baked_size)
      continue;
    for (const std::uint32_t tensor : nest.tensors)
      if (tensor < facts.patterns.size()) facts.patterns[tensor].reset();
    dropped = true;
  }
  return dropped;
}

/// The programs of a plan, with what of the patterns is baked in. Where none is, the grade is the one that kernels have without.
Expected<Lowering> lowered_within_bounds(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                         const CompileFor& wanted, Specialized& known, CodeOptions& code) {
  if (!known.patterns.empty()) code.patterns = std::make_shared<const Patterns>(std::move(known.patterns));
  auto lowered = lowering(network, plan, operands, known.facts, wanted.planned.machine);
  while (lowered && code.patterns && drop_large(lowered->nests, code, known.facts)) {
    if (std::ranges::none_of(known.facts.patterns, [](const auto& digest) { return digest.has_value(); })) {
      code.patterns = nullptr;
      known.facts.grade = wanted.grade == Specialization::automatic ? choose_specialization(plan.cost.ns, wanted.calls, 0)
                                                                     : Specialization::profiled;
    }
    lowered = lowering(network, plan, operands, known.facts, wanted.planned.machine);
  }
  return lowered;
}

/// By position in Schedule::tensors: operands that are looked through before a run, which the host does not vouch for.
std::vector<bool> looked_through(const Network& network, const Schedule& schedule, const std::set<TensorId>& finite,
                                 const std::set<std::string>& vouched_for) {
  std::vector<bool> looked;
  for (const ScheduledTensor& scheduled : schedule.tensors) {
    looked.push_back(scheduled.role == TensorRole::operand && finite.contains(scheduled.tensor) &&
                     !vouched_for.contains(network.tensors[scheduled.tensor].name));
  }
  return looked;
}

/// By position in Schedule::tensors: formats that a plan was made for, where no user asked for the one that the kernel reads.
std::vector<std::optional<Format>> planned_formats(const Network& network, const Schedule& schedule,
                                                   const std::vector<OperandFacts>& operands,
                                                   const std::map<std::string, Format>& given) {
  std::vector<std::optional<Format>> formats(schedule.tensors.size());
  for (std::size_t number = 0; number < formats.size(); ++number) {
    const ScheduledTensor& scheduled = schedule.tensors[number];
    const auto known = std::ranges::find(operands, scheduled.tensor, &OperandFacts::tensor);
    if (scheduled.role != TensorRole::operand || known == operands.end()) continue;
    const auto as_given = given.find(network.tensors[scheduled.tensor].name);
    if (as_given != given.end()) formats[number] = as_given->second;
    else if (!known->pinned) formats[number] = known->format;
  }
  return formats;
}

/// By position in Schedule::tensors: width of the places that values of operands are read through; 0: they are read in order.
std::vector<std::uint8_t> place_bits(const std::vector<CompiledNest>& nests, const Schedule& schedule) {
  std::vector<std::uint8_t> bits(schedule.tensors.size());
  for (const CompiledNest& nest : nests)
    for (loop::StorageId storage = 0; storage < nest.nest.program.storages.size(); ++storage)
      if (const std::uint32_t tensor = nest.nest.tensors[storage]; tensor < bits.size())
        bits[tensor] = std::max(bits[tensor], nest.nest.program.storages[storage].place_bits);
  return bits;
}

/// A kernel of a nest: its own or, where entries are counted first, that of the symbolic phase.
struct WantedKernel {
  CompiledNest* nest = nullptr;
  bool counts = false;
  CompilePhases phases = {};
  std::uint64_t counting_bytes = 0;
  std::optional<Error> error = {};
};

void find_or_compile(WantedKernel& wanted, CodeOptions code, const std::string& command, KernelStore& kernels,
                     const std::vector<Cancellation>& cancelled_by) {
  if (any_cancelled(cancelled_by)) {
    wanted.error = Error{ErrorKind::cancelled, "interrupted"};
    return;
  }
  KernelOrigin origin = KernelOrigin::memory;
  if (wanted.counts) {
    code.symbolic = true;
    code.count = false;
  }
  const auto stored = kernels.get(*wanted.nest, code, command, origin, wanted.phases);
  if (!stored) {
    wanted.error = stored.error();
  } else if (wanted.counts) {
    wanted.nest->counting = stored->code;
    wanted.counting_bytes = stored->object_bytes;
  } else {
    wanted.nest->code = stored->code;
    wanted.nest->origin = origin;
    wanted.nest->object_bytes = stored->object_bytes;
  }
}

/// Nests with their code: kernels are made side by side on the threads there are, one by one where the host is told of each (a trace).
/// The phases share the time that this takes.
Expected<std::vector<CompiledNest>> coded(std::vector<LoweredNest> lowered, const CodeOptions& code, const std::string& command,
                                          KernelStore& kernels, const EngineOptions& options,
                                          const std::vector<Cancellation>& cancelled_by, CompilePhases& phases) {
  std::vector<CompiledNest> nests;
  for (LoweredNest& nest : lowered) {
    CompiledNest compiled;
    compiled.canonical = loop::canonical(nest.program);
    compiled.signature = signature(compiled.canonical.program);
    compiled.nest = std::move(nest);
    nests.push_back(std::move(compiled));
  }
  std::vector<WantedKernel> wanted;
  for (CompiledNest& nest : nests) {
    wanted.push_back({&nest});
    if (counts_entries(nest.canonical.program)) wanted.push_back({&nest, true});
  }
  const auto start = Clock::now();
  const auto make = [&](std::size_t number) { find_or_compile(wanted[number], code, command, kernels, cancelled_by); };
  if (wanted.size() > 1 && options.resources.threads.available() > 1 && !options.trace && !options.dump_directory)
    options.resources.threads.for_each(wanted.size(), [&](std::size_t number, unsigned) { make(number); });
  else
    for (std::size_t number = 0; number < wanted.size(); ++number) {
      make(number);
      if (wanted[number].error) break;
    }
  const double taken = milliseconds_since(start);
  CompilePhases sum;
  for (const WantedKernel& each : wanted) {
    if (each.error) return std::unexpected(*each.error);
    sum.generate += each.phases.generate;
    sum.emit += each.phases.emit;
    sum.load += each.phases.load;
    each.nest->object_bytes += each.counting_bytes;
  }
  const double all = sum.generate + sum.emit + sum.load;
  const double share = all > taken ? taken / all : 1;
  phases.generate += share * sum.generate;
  phases.emit += share * sum.emit;
  phases.load += share * sum.load;
  return nests;
}

std::unexpected<Error> damaged(std::string_view what) { return input_error(fmt::format("the saved kernel is damaged: {}", what)); }

/// A nest of bytes that a host kept. Input error where they do not fit the plan.
Expected<CompiledNest> loaded(const SavedNest& saved, const Schedule& schedule, const Network& network, KernelStore& kernels) {
  for (const std::uint32_t tensor : saved.nest.tensors)
    if (tensor != ~0u && tensor >= schedule.tensors.size()) return damaged("a tensor that the plan does not have");
  for (const IndexId index : saved.nest.indices)
    if (index >= network.indices.size()) return damaged("an index that the expression does not have");
  CompiledNest nest;
  nest.nest = saved.nest;
  nest.canonical = loop::canonical(saved.nest.program);
  nest.signature = signature(nest.canonical.program);
  auto code = kernels.load(nest, saved.object);
  if (!code) return damaged(code.error().message);
  nest.code = std::move(*code);
  nest.object_bytes = saved.object.size() + saved.counting.size();
  nest.origin = KernelOrigin::disk;
  if (counts_entries(nest.canonical.program) == saved.counting.empty()) return damaged("the kernel that counts is missing");
  if (!saved.counting.empty()) {
    auto counting = kernels.load(nest, saved.counting);
    if (!counting) return damaged(counting.error().message);
    nest.counting = std::move(*counting);
  }
  kernels.restored();
  return nest;
}

}  // namespace

struct Pipeline::State {
  EngineOptions options;
  std::shared_ptr<DiskCache> disk;  ///< of plans, kernels and verdicts; null: none
  std::shared_ptr<ProofBook> book;
  PlanStore plans;
  KernelStore kernels;
  SpreadCount by_grade[grades];
  std::atomic<std::uint64_t> fallbacks{0};

  State(EngineOptions chosen, Jit jit)
      : options(std::move(chosen)),
        disk(disk_cache(options)),
        book(std::make_shared<ProofBook>(disk)),
        plans(options, disk),
        kernels(options, std::move(jit), disk) {}
};

Expected<Pipeline> Pipeline::create(EngineOptions options) {
  if (!options.dump_directory && !variable("WEFT_DUMP").empty()) options.dump_directory = variable("WEFT_DUMP");
  if (options.dump_directory) {
    if (const auto made = make_directories(*options.dump_directory); !made)
      return input_error(fmt::format("cannot make {} to dump kernels into: {}", *options.dump_directory, made.error().reason));
    // The point behind it asks for a directory, which what stood there already need not be.
    if (::access((*options.dump_directory + "/.").c_str(), W_OK | X_OK) != 0)
      return input_error(fmt::format("cannot dump kernels into {}: {}", *options.dump_directory, std::generic_category().message(errno)));
  }
  const std::string perf = variable("WEFT_PERF");
  auto jit = Jit::create({.perf_map = options.perf_map || (!perf.empty() && perf != "0")});
  if (!jit) return std::unexpected(jit.error());
  Pipeline pipeline;
  pipeline.state_ = std::make_shared<State>(std::move(options), std::move(*jit));
  return pipeline;
}

const EngineOptions& Pipeline::options() const { return state_->options; }

std::string Pipeline::environment() const { return weft::environment(state_->kernels.code_options(), state_->kernels.target()); }

CacheCounters Pipeline::counters() const {
  return {.memory = state_->kernels.memory_hits(),
          .disk = state_->kernels.disk_hits(),
          .compiled = state_->kernels.compiled(),
          .generic = state_->by_grade[0].total(),
          .profiled = state_->by_grade[1].total(),
          .baked = state_->by_grade[2].total(),
          .fallbacks = state_->fallbacks,
          .plans_memory = state_->plans.counted(PlanOrigin::memory),
          .plans_disk = state_->plans.counted(PlanOrigin::disk),
          .plans_made = state_->plans.counted(PlanOrigin::planned)};
}

void Pipeline::found_again(const CompiledNetwork& code) const {
  state_->kernels.found_again(code.nests().size());
  state_->by_grade[static_cast<std::size_t>(code.grade())].add();
  state_->plans.found_again();
}

void Pipeline::fell_back() const { ++state_->fallbacks; }

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

Expected<Plan> Pipeline::plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) const {
  return state_->plans.get(network, operands, options);
}

bool Pipeline::knows_plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) const {
  return state_->plans.holds(network, operands, options);
}

Expected<std::vector<LoweredNest>> Pipeline::lower(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                                   const std::map<std::string, Tensor>& tensors, const Machine& machine) const {
  const auto known = specialized(network, plan, operands, tensors, Specialization::profiled, machine, options().resources);
  if (!known) return std::unexpected(known.error());
  auto lowered = lowering(network, plan, operands, known->facts, machine);
  if (!lowered) return std::unexpected(lowered.error());
  if (auto given = check_given(plan, lowered->nests); !given) return std::unexpected(given.error());
  return std::move(lowered->nests);
}

Expected<std::vector<SettledClaim>> Pipeline::proofs(const loop::Program& program) const { return kernel_proofs(program, *state_->book); }

Expected<void> Pipeline::check_given(const Plan& plan, const std::vector<LoweredNest>& nests) const {
  if (plan.producer != Producer::user) return {};
  for (const LoweredNest& nest : nests)
    if (auto proven = check_proofs(nest.program, *state_->book); !proven) return proven;
  return {};
}

Expected<CompiledNetwork> Pipeline::compile(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                            bool count, const CompileFor& wanted) const {
  if (wanted.from != CodeFrom::anywhere) return compile_known(network, plan, operands, count, wanted);
  auto kernel = begun(network, plan);
  kernel->code.count = count;
  const auto start = Clock::now();
  auto known = graded(network, plan, operands, wanted, options().resources);
  if (!known) return std::unexpected(known.error());
  auto lowered = lowered_within_bounds(network, plan, operands, wanted, *known, kernel->code);
  if (!lowered) return std::unexpected(lowered.error());
  kernel->grade = known->facts.grade;
  state_->by_grade[static_cast<std::size_t>(kernel->grade)].add();
  kernel->generalise = Fallback(*this, network, plan, operands, count, wanted);
  if (auto given = check_given(plan, lowered->nests); !given) return std::unexpected(given.error());
  kernel->finite = looked_through(network, plan.schedule, lowered->finite, wanted.assume_finite);
  kernel->made_for = planned_formats(network, plan.schedule, operands, wanted.given);
  kernel->phases.lower = milliseconds_since(start);
  const std::string command = options().trace ? command_line(network, operands, plan.schedule, options()) : std::string();
  auto nests = coded(std::move(lowered->nests), kernel->code, command, state_->kernels, options(), wanted.cancelled_by, kernel->phases);
  if (!nests) return std::unexpected(nests.error());
  kernel->nests = std::move(*nests);
  kernel->place_bits = place_bits(kernel->nests, plan.schedule);
  return CompiledNetwork(std::move(kernel));
}

Expected<CompiledNetwork> Pipeline::compile_known(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                                  bool count, const CompileFor& wanted) const {
  const auto there = knows_code(network, plan, operands, wanted);
  if (!there) return std::unexpected(there.error());
  if (!*there && wanted.from == CodeFrom::caches) return unsupported("there is no such code in the caches");
  CompileFor chosen = wanted;
  chosen.from = CodeFrom::anywhere;
  if (!*there) chosen.grade = Specialization::generic;
  return compile(network, plan, operands, count, chosen);
}

Expected<bool> Pipeline::knows_code(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                    const CompileFor& wanted) const {
  if (!options().use_cache) return false;
  static const std::map<std::string, Tensor> no_tensors;
  auto known = specialized(network, plan, operands, wanted.tensors ? *wanted.tensors : no_tensors, wanted.grade, wanted.planned.machine,
                           options().resources);
  if (!known) return std::unexpected(known.error());
  known->facts.scaled = wanted.scaled;
  known->facts.strided = wanted.strided;
  CodeOptions code = state_->kernels.code_options();
  const auto lowered = lowered_within_bounds(network, plan, operands, wanted, *known, code);
  if (!lowered) return std::unexpected(lowered.error());
  return std::ranges::all_of(lowered->nests, [&](const LoweredNest& nest) {
    return state_->kernels.holds(loop::canonical(nest.program).program, code);
  });
}

Expected<CompiledNetwork> Pipeline::restored(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                             const SavedNetwork& saved, const CompileFor& made_for) const {
  auto kernel = begun(network, plan);
  kernel->grade = saved.grade;
  kernel->finite = saved.finite;
  kernel->made_for = planned_formats(network, plan.schedule, operands, made_for.given);
  const auto stated = parse_stated_formats(saved.schedule);
  if (!stated) return std::unexpected(stated.error());
  if (saved.schedule != with_stated_formats(print(plan.schedule, kernel->network), *stated) ||
      saved.finite.size() != plan.schedule.tensors.size())
    return damaged("its plan is another one");
  state_->by_grade[static_cast<std::size_t>(saved.grade)].add();
  kernel->generalise = Fallback(*this, network, plan, operands, false, made_for);
  const auto start = Clock::now();
  for (const SavedNest& nest : saved.nests) {
    auto ready = loaded(nest, plan.schedule, kernel->network, state_->kernels);
    if (!ready) return std::unexpected(ready.error());
    kernel->nests.push_back(std::move(*ready));
  }
  kernel->place_bits = place_bits(kernel->nests, plan.schedule);
  kernel->phases.load = milliseconds_since(start);
  return CompiledNetwork(std::move(kernel));
}

std::shared_ptr<CompiledNetwork::State> Pipeline::begun(const Network& network, const Plan& plan) const {
  auto kernel = std::make_shared<CompiledNetwork::State>();
  kernel->given = network;
  kernel->network = scheduled_network(plan.schedule, network);
  kernel->plan = plan;
  kernel->target = state_->kernels.target();
  kernel->code = state_->kernels.code_options();
  kernel->book = state_->book;
  return kernel;
}

}  // namespace weft
