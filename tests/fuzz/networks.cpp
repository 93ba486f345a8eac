// Networks, operands, formats and options drawn from the bytes: schedules as they are interpreted and as native code,
// compared with the oracle in structure and values; every result passes verify().
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/pipeline.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "oracle/built_network.h"
#include "oracle/cut_roots.h"
#include "oracle/random_forest.h"
#include "oracle/sparse_result.h"
#include "oracle/stretched.h"
#include "unit/differential/compiled_runs.h"
#include "unit/differential/drawn_layouts.h"
#include "unit/differential/long_ranges.h"
#include "unit/differential/runs.h"
#include "weft/engine.h"

namespace weft::fuzz {
namespace drawn {
namespace {

using namespace weft::test;

/// Small enough for some ten inputs a second with sanitizers.
constexpr RandomLimits limits{
    .factors = 4, .order = 4, .indices = 6, .extent = 5, .long_extent = 40, .index_space = 1500};

void require_none(const std::string& problem, const std::string& reproduction) {
  require(problem.empty(), [&] { return problem + "\n" + reproduction; });
}

/// One of each kind, because they keep what they compiled.
const Pipeline& pipeline(bool checked, bool strict) {
  static const std::vector<Pipeline> all = {pipeline_with(false, false), pipeline_with(false, true),
                                            pipeline_with(true, false), pipeline_with(true, true)};
  return all[(checked ? 2u : 0u) + (strict ? 1u : 0u)];
}

/// In 100, of networks over extents beyond 32 bits or memory; what these may take. What is dense over 2^31 needs more.
constexpr std::uint64_t long_share = 20, long_memory = std::uint64_t{1} << 27;

struct Drawn {
  PlanOptions options;
  bool checked = false;
  std::vector<Way> ways;
};

Drawn draw_options(Dice& dice) {
  Drawn drawn;
  drawn.checked = dice.percent(35);
  drawn.options.strict_fp = dice.percent(20);
  if (dice.percent(20)) drawn.options.calls = 1e9;
  for (std::uint64_t ways = 1 + dice.below(2); ways > 0; --ways)
    drawn.ways.push_back({1 + static_cast<unsigned>(dice.below(3)), dice.percent(25)});
  return drawn;
}

/// Who plans, and whether root loops are cut for threads, or counted too. Drawn before extents are made long, so that inputs that are kept
/// stay what they are.
struct Producing {
  std::uint64_t producer = 0;
  std::uint64_t roots = 0;
};

Producing draw_producing(Dice& dice) {
  const std::uint64_t producer = dice.below(10);
  return {producer, dice.below(3)};
}

Expected<Plan> planned(const Producing& producing, const Pipeline& made, const BuiltNetwork& built, const PlanOptions& options) {
  const bool unfused = producing.producer >= 7;
  Expected<Plan> plan =
      unfused ? plan_unfused(Problem{built.network, built.facts, options}) : made.plan(built.network, built.facts, options);
  // Where an operand that lends its pattern stands in an inner product there is none without fused loops.
  const bool lends = unfused && !options.result_patterns.empty();
  if (!plan && lends && plan.error().kind == ErrorKind::unsupported) plan = made.plan(built.network, built.facts, options);
  if (!plan) return plan;
  // Dense intermediates over long extents are legal in a schedule that is given.
  if (producing.producer == 9 && options.memory_limit != long_memory) {
    Schedule flat = baseline(Problem{built.network, built.facts, options});
    // Not legal for every request: an operand that lends its pattern may stand in another nest.
    if (check(flat, Problem{built.network, built.facts, options})) plan->schedule = std::move(flat);
  }
  if (producing.roots == 1) return cut_for_threads(std::move(*plan), built, options);
  if (producing.roots == 2) return counted_for_threads(std::move(*plan), built, options);
  return plan;
}

/// Nothing where the network is over extents too long: for what would be dense, or for loops over all of them.
std::optional<Plan> plan_in_reach(const Producing& producing, const Pipeline& made, const BuiltNetwork& built, const PlanOptions& options,
                                  const std::string& text) {
  auto plan = planned(producing, made, built, options);
  const bool is_long = options.memory_limit == long_memory;
  if (!plan && is_long && plan.error().kind == ErrorKind::resource) return std::nullopt;
  require(plan.has_value(), [&] { return plan.error().message + "\n" + text; });
  if (is_long && goes_over_long_ranges(plan->schedule, built.network)) return std::nullopt;
  return std::move(*plan);
}

bool same_formats(const RandomNetwork& left, const RandomNetwork& right) {
  return std::ranges::equal(left.operands, right.operands, {}, &RandomOperand::format, &RandomOperand::format);
}

/// One of each kind, as a host has them.
const Engine& host_engine(bool checked, unsigned threads) {
  static std::map<std::pair<bool, unsigned>, Engine> engines;
  const auto found = engines.find({checked, threads});
  if (found != engines.end()) return found->second;
  EngineOptions options;
  options.resources = small_resources(threads, 512);
  options.checked = checked;
  auto made = Engine::create(options);
  require(made.has_value(), [&] { return made.error().message; });
  return engines.emplace(std::pair(checked, threads), std::move(*made)).first->second;
}

Expected<Tensors> run_in_time(const Kernel& kernel, const Bindings& bindings, bool is_long) {
  if (!is_long) return kernel.run(bindings);
  const Patience patience;
  return kernel.run(bindings, patience.over());
}

bool is_too_long(const Error& error) { return error.kind == ErrorKind::resource || error.kind == ErrorKind::cancelled; }

}  // namespace
}  // namespace drawn

void networks(Bytes bytes) {
  using namespace drawn;
  Dice dice(bytes);
  const Drawn asked = draw_options(dice);
  RandomNetwork random = random_network(dice, limits);
  RequestedNetwork requested = requested_of(std::move(random), dice);
  const Producing producing = draw_producing(dice);
  const bool is_long = dice.percent(long_share);
  if (is_long) requested.random = stretched(std::move(requested.random), dice);
  if (is_long && requested.format) store_sparsely(*requested.format, result_extents(requested.random), dice);
  const std::string text = reproduction(requested);
  const auto built = test::built(requested.random, small_resources());
  require(built.has_value(), [&] { return built.error().message + "\n" + text; });
  PlanOptions options = options_of(requested, asked.options);
  if (is_long) options.memory_limit = long_memory;
  const Pipeline& made = pipeline(asked.checked, options.strict_fp);
  const auto plan = plan_in_reach(producing, made, *built, options, text);
  if (!plan) return;

  const auto meant = interpreted(plan->schedule, *built);
  require(meant.has_value(), [&] { return meant.error().message + "\n" + text; });
  const Format& computed = result_of(plan->schedule).format;
  require_none(structural_differences(stored(*meant, computed, result_extents(requested.random)), expected_entries(requested, computed)),
               "interpreted: " + text + "\n" + print(plan->schedule, built->network));
  require_none(defect_of_runs(made, *plan, asked.ways, *built, is_structural(requested)), text);
}

void assignments(Bytes bytes) {
  using namespace drawn;
  Dice dice(bytes);
  const Drawn asked = draw_options(dice);
  RandomForest random = random_forest(dice);
  const Producing producing = draw_producing(dice);
  const bool is_long = dice.percent(long_share);
  if (is_long) random = stretched(std::move(random), dice);
  const std::string text = reproduction(random);
  const auto built = test::built(random, small_resources());
  require(built.has_value(), [&] { return built.error().message + "\n" + text; });
  const auto expected = expected_results(random);
  PlanOptions options = asked.options;
  options.results = random.wanted;
  options.result_formats = random.formats;
  if (is_long) options.memory_limit = long_memory;
  const Pipeline& made = pipeline(asked.checked, options.strict_fp);
  const auto plan = plan_in_reach(producing, made, *built, options, text);
  if (!plan) return;
  std::set<std::string> wanted = random.wanted;
  wanted.insert(random.assignments.back().name);

  const auto meant = interpreted_results(plan->schedule, *built);
  require(meant.has_value(), [&] { return meant.error().message + "\n" + text; });
  for (const auto& [name, values] : *meant)
    require_none(differences(values, expected.at(name)), name + " interpreted: " + text + "\n" + print(plan->schedule, built->network));
  const auto kernel = made.compile(built->network, *plan, built->facts);
  require(kernel.has_value(), [&] { return kernel.error().message + "\n" + text; });
  for (const Way& way : asked.ways) {
    Resources resources = made.options().resources;
    resources.threads = threads_of(way.threads);
    auto binding = kernel->bind(built->tensors, resources, way.deterministic);
    require(binding.has_value(), [&] { return binding.error().message + "\n" + text; });
    for (int run = 0; run < 2; ++run) {
      const auto ran = binding->run();
      require(ran.has_value(), [&] { return ran.error().message + "\n" + text; });
      const auto results = binding->results();
      require(results.has_value(), [&] { return results.error().message + "\n" + text; });
      require(results->size() == wanted.size(), "other results than those that are wanted: " + text);
      for (const auto& [name, tensor] : *results) {
        const auto good = verify(tensor, resources, name);
        require(good.has_value(), [&] { return good.error().message + "\n" + text; });
        const auto format = random.formats.find(name);
        if (format != random.formats.end())
          require(tensor.format().text() == format->second.text(),
                  name + " comes as " + tensor.format().text() + "\n" + text);
        const auto entries = entries_of(tensor, resources);
        require(entries.has_value(), [&] { return entries.error().message; });
        require_none(format != random.formats.end() ? structural_differences(*entries, expected.at(name))
                                                    : differences(*entries, expected.at(name)),
                     name + ": " + text + "\n" + print(plan->schedule, built->network));
      }
    }
  }
}

void rebinding(Bytes bytes) {
  using namespace drawn;
  Dice dice(bytes);
  const RandomNetwork first = random_network(dice, limits);
  CompileOptions options;
  static const std::vector<Specialization> grades = {Specialization::generic, Specialization::profiled,
                                                     Specialization::baked, Specialization::automatic};
  options.specialize = dice.pick(grades);
  options.unfused = dice.percent(15);
  if (dice.percent(30)) options.calls = 1e6;
  // The operands it is made for, then others: other entries, formats and extents, under the same names.
  struct Bound {
    RandomNetwork random;
    bool is_long = false;
  };
  std::vector<Bound> bound(3, {first});
  for (std::size_t binding = 1; binding < bound.size(); ++binding) {
    bound[binding] = bound[binding - 1];
    redraw_operands(bound[binding].random, dice, limits);
  }
  if (dice.percent(long_share)) {
    for (Bound& each : bound) {
      each.is_long = dice.percent(60);
      if (each.is_long) each.random = stretched(std::move(each.random), dice);
    }
    if (!first.result.empty()) options.formats["R"] = sparse_format(first.result.size());
  }
  const auto tensors_of = [](const RandomNetwork& random) {
    Tensors tensors;
    for (const RandomOperand& operand : random.operands) {
      auto tensor = tensor_of(operand, small_resources());
      require(tensor.has_value(), [&] { return tensor.error().message; });
      tensors.emplace(operand.name, std::move(*tensor));
    }
    return tensors;
  };
  const auto kernel = host_engine(true, 2).compile(bound[0].random.expression, tensors_of(bound[0].random), options);
  if (!kernel && bound[0].is_long && kernel.error().kind == ErrorKind::resource) return;
  require(kernel.has_value(), [&] { return kernel.error().message + "\n" + reproduction(bound[0].random); });
  for (const auto& [random, is_long] : bound) {
    const std::string text = "compiled for " + reproduction(bound[0].random) + "\nrun over " + reproduction(random);
    Bindings bindings;
    for (auto& [name, tensor] : tensors_of(random)) bindings.set(name, tensor);
    for (int run = 0; run < 2; ++run) {
      const auto results = run_in_time(*kernel, bindings, is_long);
      if (!results && is_long && is_too_long(results.error())) break;
      require(results.has_value(), [&] { return results.error().message + "\n" + text; });
      const Tensor& result = results->at("R");
      const auto good = verify(result, small_resources(), "R");
      require(good.has_value(), [&] { return good.error().message + "\n" + text; });
      const auto entries = entries_of(result, small_resources());
      require(entries.has_value(), [&] { return entries.error().message; });
      // An operand that is converted from dense levels loses the zeros that they store.
      const CoordinateMap expected = stored(structural_product(random), result.format(), result_extents(random));
      require_none(same_formats(bound[0].random, random) ? structural_differences(*entries, expected)
                                                         : differences(*entries, expected),
                   text);
    }
  }
}

void layouts(Bytes bytes) {
  using namespace drawn;
  Dice dice(bytes);
  auto made = drawn_layouts(dice, limits, small_resources());
  require(made.has_value(), [&] { return made.error().message; });
  const bool checked = dice.percent(35);
  const Engine& engine = host_engine(checked, dice.percent(50) ? 1 : 3);
  if (dice.percent(20)) made->options.specialize = Specialization::baked;
  if (dice.percent(20)) made->options.calls = 1e6;
  const std::string text = reproduction(*made);
  const auto kernel = engine.compile(made->random.expression, made->tensors, made->options);
  if (!kernel && made->is_long && kernel.error().kind == ErrorKind::resource) return;
  require(kernel.has_value(), [&] { return kernel.error().message + "\n" + text; });
  for (int binding = 0; binding < 2; ++binding) {
    if (binding > 0) {
      const auto other = redraw(*made, dice, limits, small_resources());
      require(other.has_value(), [&] { return other.error().message + "\n" + text; });
    }
    Bindings bindings;
    for (const auto& [name, tensor] : made->tensors) bindings.set(name, tensor);
    for (int run = 0; run < 2; ++run)
      require_none(defect(*made, run_in_time(*kernel, bindings, made->is_long)),
                   "compiled for " + text + "\nrun over " + reproduction(*made));
  }
}

}  // namespace weft::fuzz
