#include "frontend/preparation_steps.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <set>

#include "engine/exposed.h"
#include "engine/fallback.h"
#include "engine/level_figures.h"
#include "engine/placed_values.h"
#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/estimate/count_joins.h"
#include "engine/plan/explain/explanation.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/widths.h"
#include "engine/plan/search/plan_by_need.h"
#include "engine/prove/kernel_proofs.h"
#include "engine/specialize.h"
#include "engine/stages.h"
#include "frontend/asked_plan.h"
#include "frontend/given_options.h"
#include "frontend/named_operands.h"
#include "frontend/nearest.h"
#include "frontend/pinned_trees.h"
#include "frontend/readings.h"
#include "frontend/resolve.h"
#include "frontend/result_report.h"
#include "frontend/token.h"
#include "frontend/told_layouts.h"
#include "frontend/words.h"
#include "runtime/elapsed.h"
#include "runtime/placement.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// A limit, in bytes, beside which freed memory of the process counts.
constexpr std::uint64_t little_memory = 256 << 20;

/// Where the code of all nests comes from: the slowest way.
KernelOrigin kernel_origin(const CompiledNetwork& kernel) {
  KernelOrigin slowest = KernelOrigin::memory;
  for (const CompiledNest& nest : kernel.nests()) slowest = std::max(slowest, nest.origin);
  return slowest;
}

bool is_among(const std::string& name, const std::vector<std::string>& names) { return std::ranges::find(names, name) != names.end(); }

/// At most ten times a second, and nothing of the first tenth.
Progress throttled(const Progress& progress) {
  if (!progress) return {};
  struct State {
    Progress progress;
    Clock::time_point last = Clock::now();
  };
  return [state = std::make_shared<State>(State{progress})](std::string_view what, double fraction) {
    if (milliseconds_since(state->last) < 100) return;
    state->last = Clock::now();
    state->progress(what, std::clamp(fraction, 0.0, 1.0));
  };
}

/// Each fills its part of the report.
class PreparationSteps final : public Preparation {
 public:
  PreparationSteps(const Request& request, EvaluateOptions options, std::set<std::string> chosen, Reading reading)
      : pipeline_(request.pipeline),
        machine_(request.machine),
        text_(request.text),
        names_(request.names),
        options_(std::move(options)),
        operands_(request.operands),
        cancellation_(request.cancellation),
        from_(request.from),
        saved_(request.saved),
        chosen_(std::move(chosen)),
        reading_(std::move(reading)),
        told_(request.machine) {}

  Expected<void> read() override {
    const RequestText& text = text_;
    const std::vector<std::string>& names = names_;
    report().expression = text.text();
    for (const std::string& asked : options_.stages) {
      const auto stage = parse_stage(asked);
      if (!stage) return input_error(no_stage(asked));
      stages_.push_back(*stage);
    }
    report().threads = resources().threads.available();
    auto network = resolved(text, names);
    if (!network) return std::unexpected(network.error());
    prepared_.network = std::move(*network);
    if (auto going = not_cancelled(); !going) return std::unexpected(going.error());
    // Those of a saved kernel over levels are in their formats.
    auto stored = saved_levels() != nullptr
                      ? Expected<NamedFacts>(operands_)
                      : in_pinned_formats(operands_, options_.formats, resources().with(cancellation_), layouts_);
    if (!stored) return std::unexpected(stored.error());
    stored_ = std::move(*stored);
    for (const auto& [name, operand] : operands_) told_.laid_out(name, operand, stored_.at(name), chosen_.contains(name));
    return know(prepared_.network);
  }

  double least_ns() const override {
    return priced_.copies_ns + bound_ns(Problem{prepared_.network, prepared_.facts, prepared_.plan_options});
  }

  Expected<void> plan(double below_ns, double proof_share) override {
    below_ns_ = below_ns;
    prepared_.plan_options.proof_share = proof_share;
    auto plan = planned(prepared_.network);
    if (!plan) return std::unexpected(plan.error());
    prepared_.plan = std::move(*plan);
    const Plan& found = prepared_.plan;
    priced_.asks_for_order = prepared_.exposure && asks_for_order(*prepared_.exposure, found.schedule);
    if (priced_.asks_for_order && !options_.schedule.empty())
      return std::unexpected(named(Error{ErrorKind::input, "schedule: an operand is searched whose coordinates come in no order: "
                                                           "its loops have to be in the order of its levels"}));
    priced_.plan_ns = found.cost.ns + unexpected_ns(found.schedule, found.cost, prepared_.network) + converting_results_ns();
    priced_.at_least = found.cost.ns >= prepared_.plan_options.below_ns;
    priced_.counts_joins = !is_priced_at_once(Problem{prepared_.network, prepared_.facts, prepared_.plan_options});
    priced_.proven = found.optimal == Optimal::all;
    return {};
  }

  void claim(const std::string& others, bool settled) override {
    Plan& plan = prepared_.plan;
    if (settled) {
      plan.proof += ". " + others;
      return;
    }
    plan.proof = proof_of(Optimal::none, false, plan.optimal == Optimal::none ? plan.proof + "; " + others : others);
    plan.optimal = Optimal::none;
  }

  Expected<Prepared> finish() override {
    tell_plan();
    tell_results();
    // Who binds it to other operands later has not cancelled that, and compares with no other layouts.
    PlanOptions& options = prepared_.plan_options;
    options.progress = nullptr;
    options.cancelled_by.clear();
    options.below_ns = PlanOptions().below_ns;
    options.proof_share = PlanOptions().proof_share;
    if (auto going = not_cancelled(); !going) return std::unexpected(going.error());
    const bool compiled = options_.run || options_.compile || std::ranges::any_of(stages_, needs_code);
    auto told = compiled ? compile() : lower();
    if (!told) return std::unexpected(told.error());
    tell_absence();
    return std::move(prepared_);
  }
  const Prepared& prepared() const override { return prepared_; }
  const PlannedReading& priced() const override { return priced_; }

 private:
  Report& report() { return prepared_.report; }
  const Resources& resources() const { return pipeline_.options().resources; }

  Expected<void> not_cancelled() const {
    if (cancellation_.cancelled() || resources().cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    return {};
  }

  Expected<Network> resolved(const RequestText& text, const std::vector<std::string>& names) {
    const auto& parsed = text.parsed();
    if (!parsed) return std::unexpected(parsed.error());
    const auto start = Clock::now();
    std::vector<OperandShape> shapes;
    for (const std::string& name : names) {
      const auto tensor = operands_.find(name);
      if (tensor == operands_.end()) return missing(*parsed, name, names);
      const OperandFacts& known = tensor->second;
      const std::vector<std::uint64_t>& extents = known.statistics.extents();
      const auto nnz = known.stored != nullptr ? known.stored->nnz()
                                               : static_cast<std::uint64_t>(std::min(known.statistics.nnz(), 0x1p63));
      shapes.push_back({name, extents, known.format.scalar});
      report().operands[name] = {extents, nnz, known.format.text(), std::string(weft::name(known.format.scalar)), known.bytes};
    }
    report().unused = not_among(names);
    auto network = resolve(*parsed, shapes);
    report().phases.parse = text.parse_ms() + milliseconds_since(start);
    return network;
  }

  /// A tensor that the expression does not use may be the one that is missing, misspelt.
  std::unexpected<Error> missing(const ParsedExpression& parsed, const std::string& name, const std::vector<std::string>& names) const {
    const std::vector<std::string> others = not_among(names);
    const auto meant = nearest(name, others);
    std::string message = fmt::format("no tensor is named {}", name);
    if (meant) {
      message += fmt::format("; is {} meant?", *meant);
    } else if (!others.empty()) {
      message += fmt::format("; given and not used: {}", fmt::join(others, ", "));
    }
    if (parsed.notation == Notation::einsum && names == unnamed(names.size()))
      message += "; the names of an einsum's operands stand behind it, as in ij,jk->ik A B";
    std::vector<Span> places;
    std::size_t next = 0;  // operand of an einsum
    for (const ParsedAssignment& assignment : parsed.assignments) {
      for (const ParsedTerm& term : assignment.terms) {
        for (const ParsedAccess& factor : term.factors) {
          const bool is_next = parsed.notation == Notation::einsum && next < names.size() && names[next++] == name;
          if (factor.name == name || is_next) places.push_back(factor.named);
        }
      }
    }
    return about(error_at(ErrorKind::input, parsed.text, std::move(message), places), ErrorCode::missing_operand, name);
  }

  std::vector<std::string> not_among(const std::vector<std::string>& names) const {
    std::vector<std::string> others;
    for (const auto& [name, operand] : operands_) {
      if (std::ranges::find(names, name) == names.end()) others.push_back(name);
    }
    return others;
  }

  /// A defect of a given schedule is found in its text, so its origin is named.
  Error named(Error error) const {
    if (error.kind == ErrorKind::input) {
      error.option = "schedule";
      if (error.code == ErrorCode::other) error.code = ErrorCode::option;
    }
    if (!options_.schedule_name.empty()) error.message = options_.schedule_name + ": " + error.message;
    return error;
  }

  /// Whether what the exposure multiplies zeros with that stand beyond an extent is finite.
  bool is_finite_beyond(const Exposure& exposure) const {
    return std::ranges::all_of(exposure.finite, [&](TensorId tensor) {
      const TensorDeclaration& declared = exposure.given.tensors[tensor];
      if (declared.is_result || vouched_for_.contains(declared.name)) return !declared.is_result;
      const OperandFacts& operand = stored_.at(declared.name);
      return operand.stored == nullptr ? operand.statistics.finite() : finite_values(*operand.stored, resources().threads);
    });
  }

  /// Where tensors stand in layouts, the network over their levels, which is planned and compiled instead.
  Expected<void> expose(Network& network, PlanOptions& plan_options) {
    if (saved_levels() != nullptr) return expose_saved(network, plan_options);
    std::map<std::string, const Tensor*> tensors;
    for (const auto& [name, operand] : stored_)
      if (operand.stored != nullptr) tensors.emplace(name, operand.stored);
    std::vector<StoredAs> stored = stored_as(network, tensors, plan_options);
    if (auto told = add_figures(network, stored); !told) return told;
    std::optional<Exposure> exposure;
    SavedLevels& levels = prepared_.levels.emplace();
    const CopyPrices prices(machine_, options_);
    priced_.may_be_located = may_be_located(network, stored);
    priced_.may_be_at_digits = may_be_at_digits(network, stored);
    if (reading_.locate_all) reading_.located = priced_.may_be_located;
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor)
      if (reading_.located_names.contains(network.tensors[tensor].name)) reading_.located.insert(tensor);
    if (!priced_.may_be_located.empty()) priced_.cut_copies_ns = prices.at_least(*exposed(network, stored), tensors);
    for (const auto& [exposing, located, all, names] : reading_.with_safer_ones()) {
      exposure = exposed(network, stored, exposing, located);
      levels.exposing = exposing;
      levels.located.clear();
      for (const TensorId tensor : located) levels.located.insert(network.tensors[tensor].name);
      if (!exposure) {
        prepared_.levels.reset();
        return {};
      }
      priced_.reading = {.exposing = exposing, .located = located};
      if (is_finite_beyond(*exposure)) break;
    }
    if (auto told = tell_levels(network, *exposure, stored); !told) return told;
    for (const auto& [name, tensor] : tensors)
      levels.given[name] = {tensor->format(), tensor->extents(), tensor->level_extents(), static_cast<double>(tensor->nnz())};
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      const std::string& name = network.tensors[tensor].name;
      if (network.tensors[tensor].is_result || !exposure->tensors[tensor].read_in || !tensors.contains(name)) continue;
      auto read = read_operand(*exposure, tensor, *tensors.at(name), changes(name), resources().with(cancellation_));
      if (!read) return std::unexpected(read.error());
      if (read->origin != LayoutOrigin::given) {
        priced_.copies_ns += prices.of(name, *tensors.at(name), read->stored);
        told_.read(name, *tensors.at(name), read->stored, exposure->tensors[tensor]);
      }
      stored_levels_.push_back(std::move(read->stored));
      const Tensor& kept = levels_[name] = std::move(read->tensor);
      stored_.at(name) = operand_facts(kept, resources());
    }
    take_exposure(network, plan_options, std::move(*exposure));
    told_.exposed(*prepared_.exposure, tensors, options_.formats);
    priced_.exposure = prepared_.exposure;
    priced_.operands = std::move(tensors);
    return {};
  }

  /// Of results that are computed in plain levels and converted after every run.
  double converting_results_ns() const {
    const Plan& plan = prepared_.plan;
    double ns = 0;
    for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
      if (scheduled.role != TensorRole::result || !prepared_.exposure) continue;
      const ExposedTensor& exposed = prepared_.exposure->tensors[scheduled.tensor];
      if (!exposed.parts.empty() || !exposed.handed_over) continue;
      const auto demand = std::ranges::find(plan.cost.memory, "result " + scheduled.name, &MemoryDemand::name);
      if (demand == plan.cost.memory.end()) continue;
      const double entries = static_cast<double>(demand->bytes) / (scalar_bytes(scheduled.format.scalar) + 4);  // about
      ns += conversion_ns(scheduled.format, entries, format_of_result(plan, scheduled), entries, machine_);
    }
    return ns;
  }

  /// Of tensors in layouts, and of operands in formats that were chosen.
  Expected<void> state_formats() {
    if (saved_ != nullptr) {
      auto stated = parse_stated_formats(options_.schedule);
      if (!stated) return std::unexpected(named(stated.error()));
      for (const auto& [name, format] : saved_levels() != nullptr ? saved_levels()->given : std::map<std::string, SavedLevels::Given>()) {
        const auto line = stated->find(name);
        if (line != stated->end() && line->second.format.text() != format.format.text())
          return input_error(fmt::format("the saved kernel is damaged: {} has other levels in its schedule", name));
      }
      stated_ = std::move(*stated);
      return {};
    }
    for (const TensorDeclaration& declared : given_.tensors) {
      const auto pinned = options_.formats.find(declared.name);
      const auto operand = operands_.find(declared.name);
      if (declared.is_result && pinned == options_.formats.end()) continue;
      StatedFormat stated{pinned != options_.formats.end() ? pinned->second : operand->second.format};
      stated.chosen = chosen_.contains(declared.name);
      const bool located = !declared.is_result && prepared_.levels && prepared_.levels->located.contains(declared.name);
      if (!stated.format.layout && !stated.chosen && !located) continue;
      if (!declared.is_result) stated.format.scalar = operand->second.format.scalar;
      const bool copied = stated.format.layout && reading_.exposing != Exposing::all;
      stated.read_by = located ? ReadBy::location : copied ? ReadBy::copy : ReadBy::levels;
      stated_.emplace(declared.name, std::move(stated));
    }
    return {};
  }

  /// The formats of operands of which there are figures alone.
  Expected<void> add_figures(const Network& network, std::vector<StoredAs>& stored) const {
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      const TensorDeclaration& declared = network.tensors[tensor];
      const auto operand = stored_.find(declared.name);
      if (declared.is_result || operand == stored_.end() || operand->second.stored != nullptr) continue;
      stored[tensor].format = operand->second.format;
      if (!operand->second.format.layout) continue;
      const auto placement = Placement::of(*operand->second.format.layout, declared.extents, declared.name);
      if (!placement) return std::unexpected(placement.error());
      if (placement->depends_on_data()) return unknown_without_tensor(operand->second.format, declared.name);
      stored[tensor].level_extents = placement->level_extents();
    }
    return {};
  }

  /// What these have over the levels that are read.
  Expected<void> tell_levels(const Network& network, const Exposure& exposure, const std::vector<StoredAs>& stored) {
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      const TensorDeclaration& declared = network.tensors[tensor];
      const auto operand = stored_.find(declared.name);
      if (declared.is_result || operand == stored_.end() || operand->second.stored != nullptr) continue;
      const Statistics known = operand->second.statistics;
      const Format& given = *stored[tensor].format;
      prepared_.levels->given[declared.name] = {given, declared.extents, stored[tensor].level_extents, known.nnz()};
      const auto levels = figures_over_levels(exposure, tensor, known);
      if (!levels) return unknown_without_tensor(given, declared.name);
      operand->second = operand_facts(*levels);
      if (!exposure.tensors[tensor].parts.empty() && !levels->format().all_dense())
        told_.taken_full(declared.name, *exposure.tensors[tensor].read_in, levels->nnz(), known.nnz());
    }
    return {};
  }

  const SavedLevels* saved_levels() const { return saved_ != nullptr && saved_->request.levels ? &*saved_->request.levels : nullptr; }

  /// The same of a saved kernel, which has figures of what is read.
  Expected<void> expose_saved(Network& network, PlanOptions& plan_options) {
    const SavedLevels& levels = *saved_levels();
    std::vector<StoredAs> stored = stored_as(network, {}, plan_options);
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      const auto given = levels.given.find(network.tensors[tensor].name);
      if (network.tensors[tensor].is_result || given == levels.given.end()) continue;
      stored[tensor] = {given->second.format, given->second.level_extents};
    }
    std::set<TensorId> located;
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor)
      if (levels.located.contains(network.tensors[tensor].name)) located.insert(tensor);
    auto exposure = exposed(network, stored, levels.exposing, located);
    if (!exposure) return input_error("the saved kernel is damaged: no tensor has a layout");
    const std::map<std::string, Statistics> figures = statistics_of(saved_->request);
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      const std::string& name = network.tensors[tensor].name;
      const auto known = figures.find(name);
      if (network.tensors[tensor].is_result) continue;
      if (known == figures.end() || known->second.extents() != exposure->network.tensors[tensor].extents)
        return input_error(fmt::format("the saved kernel is damaged: {} has other levels", name));
      stored_.insert_or_assign(name, operand_facts(known->second));
    }
    prepared_.levels = levels;
    take_exposure(network, plan_options, std::move(*exposure));
    return {};
  }

  void take_exposure(Network& network, PlanOptions& plan_options, Exposure exposure) {
    plan_options = in_exposed_formats(std::move(plan_options), exposure);
    network = exposure.network;
    prepared_.exposure = std::make_shared<const Exposure>(std::move(exposure));
  }

  /// What is left beside the operands, as a power of two: a few bytes more or less make no other proof.
  std::uint64_t planning_memory() const {
    const Memory& memory = resources().memory;
    if (memory.limit() == Memory::unlimited) return PlanOptions().planning_memory;
    return std::bit_floor(memory.limit() - std::min(memory.limit(), memory.used()));
  }

  /// Facts of the operands of the network over levels.
  Expected<void> know(Network& network) {
    auto asked = asked_plan(network, options_, operands_);
    if (!asked) return std::unexpected(asked.error());
    prepared_.plan_options = std::move(asked->options);
    PlanOptions& plan_options = prepared_.plan_options;
    std::map<std::string, bool>& pinned = asked->pinned;
    vouched_for_ = std::move(asked->vouched_for);
    plan_options.machine = machine_;
    plan_options.memory_limit = resources().memory.limit();
    plan_options.planning_memory = planning_memory();
    plan_options.strict_fp = pipeline_.options().strict_fp;
    plan_options.cancelled_by = {cancellation_, resources().cancellation};
    plan_options.progress = throttled(resources().progress);
    given_ = network;
    asked_ = plan_options;
    if (auto done = expose(network, plan_options); !done) return std::unexpected(done.error());
    if (auto done = state_formats(); !done) return std::unexpected(done.error());
    for (const TensorId tensor : unneeded(network, plan_options)) report().not_computed.push_back(network.tensors[tensor].name);
    if (!options_.tree.empty()) {
      auto pinned_network = with_pinned_trees(network, options_.tree, plan_options);
      if (!pinned_network) return std::unexpected(pinned_network.error());
      network = std::move(*pinned_network);
    }
    // Values that stay where they are are in no other order to be had, nor are elements where there are none, places that an operand is
    // located at, and coordinates without an order.
    for (TensorId tensor = 0; prepared_.exposure && tensor < network.tensors.size(); ++tensor) {
      const ExposedTensor& read = prepared_.exposure->tensors[tensor];
      if (read.placed || read.inside || read.located || read.unordered) pinned[network.tensors[tensor].name] = true;
    }
    const auto start = Clock::now();
    prepared_.facts = vouched_for(pipeline_.facts(network, stored_, pinned), network, vouched_for_);
    for (OperandFacts& operand : prepared_.facts) {
      if (operand.stored != nullptr) tensors_[operand.tensor] = operand.stored;
      const std::string& name = network.tensors[operand.tensor].name;
      operand.conversion_share = conversion_share(name);
      if (changes(name) && !vouched_for_.contains(name)) operand.looks = Looks::always;
      operand.changes = is_among(name, options_.changing) && !is_among(name, options_.changing_patterns);
      if (is_among(name, options_.changing_patterns)) operand.adjacent = Adjacency::none;
    }
    report().phases.statistics = milliseconds_since(start);
    return {};
  }

  Expected<Plan> planned(Network& network) {
    PlanOptions& plan_options = prepared_.plan_options;
    const std::vector<OperandFacts>& facts = prepared_.facts;
    const auto start = Clock::now();
    // Prices of joins that are not counted yet bound nothing.
    if (is_priced_at_once(Problem{network, facts, plan_options})) plan_options.below_ns = below_ns_ - priced_.copies_ns;
    report().phases.plan = 0;
    const auto timed = [&](const auto& planner) {
      const auto planning = Clock::now();
      Expected<Plan> one = planner();
      report().phases.plan += milliseconds_since(planning);
      return one;
    };
    const auto planned = [&]() -> Expected<Plan> {
      JoinCounter counter(network, facts, tensors_, {}, resources().with(cancellation_));
      if (!options_.schedule.empty()) {
        const auto parsed = parse_schedule(options_.schedule, network, &priced_.schedule_lines);
        if (!parsed) return std::unexpected(named(parsed.error()));
        const Schedule schedule = with_widths(*parsed, scheduled_network(*parsed, network), facts);
        if (auto legal = check(schedule, Problem{network, facts, plan_options}); !legal) return std::unexpected(named(legal.error()));
        if (sampled()) {
          if (auto counted = count_joins_of(schedule, network, facts, plan_options, counter); !counted)
            return std::unexpected(counted.error());
        }
        auto plan = timed([&] { return plan_given(schedule, Problem{network, facts, plan_options}); });
        if (!plan) return std::unexpected(named(plan.error()));
        return plan;
      }
      const auto planner = [&](const PlanOptions& with) -> Expected<Plan> {
        // Entries that joins were counted of are kept until nothing more is counted; what counting has freed would stand beside the tables
        // of a proof.
        PlanOptions within = with;
        within.planning_memory = planning_memory();
        const std::uint64_t limit = resources().memory.limit();
        if (limit < little_memory || (within.prove && limit != Memory::unlimited)) ::malloc_trim(0);
        if (from_ == CodeFrom::caches && !pipeline_.knows_plan(network, facts, within)) {
          return unsupported("there is no such plan in the caches");
        }
        return timed([&] {
          return options_.unfused ? plan_unfused(Problem{network, facts, within}) : pipeline_.plan(network, facts, within);
        });
      };
      return sampled() ? plan_counted(network, facts, plan_options, counter, planner) : planner(plan_options);
    };
    Expected<Plan> plan = plan_by_need(prepared_.facts, network, machine_, planned);
    // What planning has freed, tables of Z3 of 17 MB most of all, would stand beside what the run may take.
    if (resources().memory.limit() < little_memory) ::malloc_trim(0);
    // Sampling the operands is counted with their statistics.
    report().phases.statistics += milliseconds_since(start) - report().phases.plan;
    if (plan && saved_) {
      plan->producer = saved_->network.producer;
      plan->optimal = saved_->network.optimal;
      plan->proof = saved_->network.proof;
      plan->origin = PlanOrigin::disk;
    }
    return plan;
  }

  /// Whether joins of operands may be counted.
  bool sampled() const { return tensors_.size() == prepared_.facts.size(); }

  void tell_plan() {
    const Plan& plan = prepared_.plan;
    const Network& network = prepared_.network;
    const std::vector<OperandFacts>& facts = prepared_.facts;
    const PlanOptions& plan_options = prepared_.plan_options;
    report().tree = print_trees(plan.schedule, network);
    // Those of results beside layouts follow from these, and were not asked for.
    PlanOptions requested = plan_options;
    std::erase_if(requested.result_formats, [&](const auto& result) {
      return !options_.formats.contains(result.first.substr(0, result.first.find('.')));
    });
    Explanation explained = explanation(plan, Problem{network, facts, requested}, report().threads);
    explained.calibrated = !pipeline_.options().calibration.empty();
    if (!explained.runner_up.schedule.empty())
      explained.runner_up.schedule = with_stated_formats(std::move(explained.runner_up.schedule), stated_);
    for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
      if (prepared_.exposure && scheduled.role == TensorRole::result)
        told_.handed_over(scheduled.name, prepared_.exposure->tensors[scheduled.tensor], format_of_result(plan, scheduled));
    }
    told_.into(explained, options_.calls);
    report().predicted_ms = explained.of_this_run.ns * 1e-6;
    report().explanation = explain(plan, explained, network) + told_.text();
    for (const PlacedValues& placed : placed_values(network, plan, facts, plan_options.machine))
      report().explanation += explanation(placed, plan.schedule) + "\n";
    if (options_.why) {
      const auto relaxing = Clock::now();
      // A plan with joins that were not counted looks cheap for that alone.
      const auto planner = [&](const Problem& free) {
        PlanOptions own = free.options;
        JoinCounter counter(free.network, free.operands, tensors_, {}, resources().with(cancellation_));
        const auto once = [&](const PlanOptions& with) { return weft::plan(Problem{free.network, free.operands, with}); };
        return sampled() ? plan_counted(free.network, free.operands, own, counter, once) : once(own);
      };
      explained.constraints = binding_constraints(plan, Problem{network, facts, plan_options}, planner);
      std::erase_if(explained.constraints, [&](const ExplainedConstraint& constraint) {
        return std::ranges::any_of(chosen_, [&](const std::string& name) { return constraint.name == "layout of " + name; });
      });
      report().phases.plan += milliseconds_since(relaxing);
      for (const ExplainedConstraint& constraint : explained.constraints) {
        report().explanation += fmt::format("{} {}: {}\n", constraint.name, constraint.binds ? "binds" : "does not bind",
                                               constraint.effect);
      }
    }
    report().explained = std::make_shared<const Explanation>(std::move(explained));
    report().plan_cache = plan.origin == PlanOrigin::planned ? "miss" : "hit";
    report().plan.producer = word(plan.producer);
    report().plan.optimal = word(plan.optimal);
    report().plan.schedule = with_stated_formats(print(plan.schedule, prepared_.network), stated_);
    report().plan.cost_ns = plan.cost.ns;
    report().plan.peak_bytes = plan.cost.peak_bytes;
    report().plan.flops = plan.cost.flops;
    report().plan.candidates = plan.candidates;
  }

  /// Plans are made as for finite values; that there are NaN and Inf where code rests on there being none is found when it is made.
  void tell_absence() {
    if (!report().explained || !report().explained->absence.empty()) return;
    std::vector<OperandFacts> known = prepared_.facts;
    for (OperandFacts& operand : known) {
      const bool vouched = vouched_for_.contains(prepared_.network.tensors[operand.tensor].name);
      const bool finite = vouched || operand.stored == nullptr || known_finite(*operand.stored).value_or(true);
      operand.statistics = operand.statistics.with_finite(finite);
    }
    Explanation explained = *report().explained;
    explained.absence = absence_reason(prepared_.plan.schedule, known);
    if (explained.absence.empty()) return;
    explained.search.insert(explained.search.begin(), explained.absence);
    report().explanation += explained.absence + "\n";
    report().explained = std::make_shared<const Explanation>(std::move(explained));
  }

  /// The operand, and its mode, that gives a mode of a result its extent; through the results of earlier assignments.
  OperandMode operand_mode(TensorId tensor, std::uint32_t mode) const {
    const Network& network = given_;
    const TensorDeclaration& declared = network.tensors[tensor];
    if (!declared.is_result) return {declared.name, mode};
    for (const Assignment& assignment : network.assignments) {
      if (assignment.result.tensor != tensor) continue;
      const IndexId index = assignment.result.indices[mode];
      for (const Term& term : assignment.terms) {
        for (const TensorAccess& factor : term.factors) {
          const auto place = std::ranges::find(factor.indices, index);
          if (place == factor.indices.end()) continue;
          return operand_mode(factor.tensor, static_cast<std::uint32_t>(place - factor.indices.begin()));
        }
      }
    }
    return {};
  }

  Format format_of_result(const ScheduledTensor& scheduled) const { return format_of_result(prepared_.plan, scheduled); }
  Format format_of_result(const Plan& plan, const ScheduledTensor& scheduled) const {
    const Format& computed = scheduled.delivered ? *scheduled.delivered : scheduled.format;
    if (!prepared_.exposure) return computed;
    std::map<std::string, Format> given;
    for (const auto& [name, operand] : operands_) given.emplace(name, operand.format);
    return format_handed_over(*prepared_.exposure, plan.schedule, scheduled, computed, given);
  }

  std::map<std::string, Format> pinned_layouts() const {
    std::map<std::string, Format> layouts;
    for (const auto& [name, format] : options_.formats)
      if (format.layout && operands_.contains(name) && !chosen_.contains(name)) layouts.emplace(name, format);
    return layouts;
  }

  /// Of operands whose layouts no user asked for: later values decide anew whether their places matter.
  std::map<std::string, Format> chosen_formats() const {
    std::map<std::string, Format> formats;
    for (const std::string& name : chosen_) formats.emplace(name, options_.formats.at(name));
    return formats;
  }

  /// Results stay in the formats that were chosen for them, whatever kernel computes them later.
  PlanOptions with_chosen_formats(PlanOptions options) const {
    for (const ScheduledTensor& scheduled : prepared_.plan.schedule.tensors) {
      if (scheduled.role != TensorRole::result || scheduled.like || options.result_patterns.contains(scheduled.name)) continue;
      const Format format = format_of_result(scheduled);
      if (format.modes() > 0) options.result_formats.try_emplace(scheduled.name, format);
    }
    return options;
  }

  /// What is known of the results before a run.
  void tell_results() {
    for (const ScheduledTensor& scheduled : prepared_.plan.schedule.tensors) {
      if (scheduled.role != TensorRole::operand && !scheduled.format.all_dense() && !scheduled.like) {
        report().plan.peak_is_estimate = true;
      }
      if (scheduled.role != TensorRole::result) continue;
      ResultReport& result = report().results[scheduled.name];
      result.extents = given_.tensors[scheduled.tensor].extents;
      const Format handed_over = format_of_result(scheduled);
      result.format = result_format(handed_over);
      result.scalar = weft::name(handed_over.scalar);
      for (std::size_t mode = 0; mode < result.extents.size(); ++mode) {
        result.modes.push_back(operand_mode(scheduled.tensor, static_cast<std::uint32_t>(mode)));
      }
      if (!handed_over.all_dense()) continue;
      std::uint64_t entries = 1;
      for (const std::uint64_t extent : result.extents) entries *= extent;
      result.nnz = entries;
      result.bytes = entries * scalar_bytes(scheduled.format.scalar);
    }
  }

  /// How often an operand is converted, in conversions of one whose values stay: where only values change they are gathered,
  /// at an eighth of what sorting takes; other coordinates are converted as a whole in every run.
  double conversion_share(const std::string& name) const {
    constexpr double gathered = 0.125;
    if (is_among(name, options_.changing_patterns)) return options_.calls;
    return changes(name) ? 1 + (options_.calls - 1) * gathered : 1;
  }
  bool changes(const std::string& name) const {
    return is_among(name, options_.changing) || is_among(name, options_.changing_patterns);
  }

  /// The loops, and the stages that need no machine code.
  Expected<void> lower() {
    const auto start = Clock::now();
    const auto nests = pipeline_.lower(prepared_.network, prepared_.plan, prepared_.facts, stored_tensors(), machine_);
    if (!nests) return std::unexpected(nests.error());
    report().phases.lower = milliseconds_since(start);
    for (const LoweredNest& nest : *nests) {
      report().plan.loops += loop::print(nest.program);
      if (auto proven = tell_proofs(nest.program); !proven) return proven;
    }
    for (const Stage stage : stages_) tell(stage, text_before_code(stage));
    return {};
  }

  Tensors stored_tensors() const {
    Tensors tensors;
    for (const auto& [name, operand] : stored_) {
      if (operand.stored != nullptr) tensors.emplace(name, *operand.stored);
    }
    return tensors;
  }

  std::string text_before_code(Stage stage) {
    if (stage == Stage::network) return print(given_) + "\n";
    if (stage == Stage::tree) return report().tree + "\n";
    if (stage == Stage::proofs) return proofs_;
    return stage == Stage::schedule ? report().plan.schedule : report().plan.loops;
  }
  /// Nothing where they are only to be told with the rest, and Z3 is missing.
  Expected<void> tell_proofs(const loop::Program& program) {
    const bool shown = std::ranges::find(stages_, Stage::proofs) != stages_.end();
    if (!shown && !options_.proofs) return {};
    const auto proofs = pipeline_.proofs(program);
    if (!proofs && !shown && proofs.error().kind == ErrorKind::unsupported) return {};
    if (!proofs) return std::unexpected(proofs.error());
    proofs_ += proofs_text(program, *proofs);
    auto& told = report().proofs ? *report().proofs : report().proofs.emplace();
    for (const SettledClaim& proof : *proofs)
      told.push_back({proof.claim.kind, proof.claim.says, std::string(word(proof.verdict)), proof.counterexample,
                      proof.claim.skeleton, proof.cached, proof.ms});
    return {};
  }
  void tell(Stage stage, std::string text) { report().stages[std::string(name(stage))] = std::move(text); }

  Expected<void> compile() {
    const Tensors tensors = stored_tensors();  // whose patterns may be baked in
    const CompileFor wanted{.grade = options_.specialize,
                                   .calls = options_.calls,
                                   .tensors = &tensors,
                                   .planned = prepared_.plan_options,
                                   .cancelled_by = {cancellation_, resources().cancellation},
                                   .from = from_,
                                   .given = chosen_formats(),
                                   .assume_finite = vouched_for_,
                                   .scaled = {options_.scaled.begin(), options_.scaled.end()},
                                   .strided = {options_.strided.begin(), options_.strided.end()}};
    auto code = saved_ ? pipeline_.restored(prepared_.network, prepared_.plan, prepared_.facts, saved_->network, wanted)
                       : pipeline_.compile(prepared_.network, prepared_.plan, prepared_.facts, false, wanted);
    if (!code) return std::unexpected(code.error());
    if (prepared_.exposure) {
      prepared_.plain = PlainFallback(pipeline_, given_, prepared_.exposure->by_choice, with_chosen_formats(asked_), wanted, false);
      for (const auto& [name, operand] : operands_)
        if (!options_.formats.contains(name)) prepared_.formats.emplace(name, operand.format);
      prepared_.formats.insert(wanted.given.begin(), wanted.given.end());
      code = code->over(prepared_.exposure, prepared_.plain, prepared_.formats);
    }
    code = code->with_pinned_layouts(pinned_layouts()).with_stated_formats(stated_);
    const CompiledNetwork& kernel = prepared_.code.emplace(std::move(*code));
    report().phases.lower = kernel.phases().lower;
    report().phases.generate = kernel.phases().generate;
    report().phases.emit = kernel.phases().emit;
    report().phases.load = kernel.phases().load;
    report().kernel_cache = word(kernel_origin(kernel));
    report().specialization = name(kernel.grade());
    for (const CompiledNest& nest : kernel.nests()) {
      report().object_bytes += nest.object_bytes;
      report().plan.loops += loop::print(nest.nest.program);
      if (auto proven = tell_proofs(nest.nest.program); !proven) return proven;
    }
    for (const Stage stage : stages_) {
      auto text = stage == Stage::network || stage == Stage::proofs ? text_before_code(stage) : kernel.explain(stage);
      if (!text) return std::unexpected(text.error());
      tell(stage, std::move(*text));
    }
    return {};
  }

  const Pipeline& pipeline_;
  const Machine& machine_;
  const RequestText& text_;
  const std::vector<std::string>& names_;
  const EvaluateOptions options_;
  std::vector<Stage> stages_;  // asked for
  std::string proofs_;         // as text, if they are
  const NamedFacts& operands_;
  const Cancellation& cancellation_;
  CodeFrom from_;
  const SavedKernel* saved_;  // null: it is compiled
  std::set<std::string> chosen_;  // operands whose formats were chosen for their price
  std::map<std::string, StatedFormat> stated_;  // by the schedule's text
  Reading reading_;  // where what located operands are multiplied with allows it
  PlannedReading priced_;
  Tensors layouts_;  // of operands that come in another format than the one that is pinned
  ToldLayouts told_;  // in the explanation
  NamedFacts stored_;  // as planning sees them
  Network given_;      // without the trees that --tree pins, and as the tensors stand
  PlanOptions asked_;  // of that
  std::map<TensorId, const Tensor*> tensors_;  // of the network over levels, as far as they are there
  double below_ns_ = PlanOptions().below_ns;   // of all that is priced: copies too
  Tensors levels_;     // of operands with layouts, and what meets them
  std::vector<Tensor> stored_levels_;  // what these were made of
  std::set<std::string> vouched_for_;  // operands that are said to be finite
  Prepared prepared_;
};

}  // namespace

std::shared_ptr<Preparation> preparation_of(const Request& request, EvaluateOptions options, std::set<std::string> chosen,
                                            Reading reading) {
  return std::make_shared<PreparationSteps>(request, std::move(options), std::move(chosen), std::move(reading));
}

}  // namespace weft
