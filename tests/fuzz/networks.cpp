// Networks, operands, formats and options drawn from the bytes: schedules as they are interpreted and as native code,
// compared with the oracle in structure and values; every result passes verify().
#include <algorithm>
#include <map>
#include <set>
#include <string>
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
#include "unit/differential/compiled_runs.h"
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

/// The plan of the producer that is drawn, its root loops as they are, cut for threads, or counted too.
Expected<Plan> draw_plan(Dice& dice, const Pipeline& made, const BuiltNetwork& built, const PlanOptions& options) {
  const std::uint64_t producer = dice.below(10);
  Expected<Plan> plan =
      producer < 7 ? made.plan(built.network, built.facts, options) : plan_unfused(Problem{built.network, built.facts, options});
  // Where an operand that lends its pattern stands in an inner product there is none without fused loops.
  const bool lends = producer >= 7 && !options.result_patterns.empty();
  if (!plan && lends && plan.error().kind == ErrorKind::unsupported) plan = made.plan(built.network, built.facts, options);
  if (!plan) return plan;
  if (producer == 9) {
    Schedule flat = baseline(Problem{built.network, built.facts, options});
    // Not legal for every request: an operand that lends its pattern may stand in another nest.
    if (check(flat, Problem{built.network, built.facts, options})) plan->schedule = std::move(flat);
  }
  const std::uint64_t roots = dice.below(3);
  if (roots == 1) return cut_for_threads(std::move(*plan), built, options);
  if (roots == 2) return counted_for_threads(std::move(*plan), built, options);
  return plan;
}

bool same_formats(const RandomNetwork& left, const RandomNetwork& right) {
  return std::ranges::equal(left.operands, right.operands, {}, &RandomOperand::format, &RandomOperand::format);
}

const ScheduledTensor& result_of(const Schedule& schedule) {
  return *std::ranges::find(schedule.tensors, TensorRole::result, &ScheduledTensor::role);
}

}  // namespace
}  // namespace drawn

void networks(Bytes bytes) {
  using namespace drawn;
  Dice dice(bytes);
  const Drawn asked = draw_options(dice);
  RandomNetwork random = random_network(dice, limits);
  const RequestedNetwork requested = requested_of(std::move(random), dice);
  const std::string text = reproduction(requested);
  const auto built = test::built(requested.random, small_resources());
  require(built.has_value(), [&] { return built.error().message + "\n" + text; });
  const PlanOptions options = options_of(requested, asked.options);
  const Pipeline& made = pipeline(asked.checked, options.strict_fp);
  const auto plan = draw_plan(dice, made, *built, options);
  require(plan.has_value(), [&] { return plan.error().message + "\n" + text; });

  const auto meant = interpreted(plan->schedule, *built);
  require(meant.has_value(), [&] { return meant.error().message + "\n" + text; });
  const Format& computed = result_of(plan->schedule).format;
  require_none(structural_differences(stored(*meant, computed, result_extents(requested.random)),
                                      expected_entries(requested, computed)),
               "interpreted: " + text + "\n" + print(plan->schedule, built->network));
  require_none(defect_of_runs(made, *plan, asked.ways, *built, is_structural(requested)), text);
}

void assignments(Bytes bytes) {
  using namespace drawn;
  Dice dice(bytes);
  const Drawn asked = draw_options(dice);
  const RandomForest random = random_forest(dice);
  const std::string text = reproduction(random);
  const auto built = test::built(random, small_resources());
  require(built.has_value(), [&] { return built.error().message + "\n" + text; });
  const auto expected = expected_results(random);
  PlanOptions options = asked.options;
  options.results = random.wanted;
  options.result_formats = random.formats;
  const Pipeline& made = pipeline(asked.checked, options.strict_fp);
  const auto plan = draw_plan(dice, made, *built, options);
  require(plan.has_value(), [&] { return plan.error().message + "\n" + text; });
  std::set<std::string> wanted = random.wanted;
  wanted.insert(random.assignments.back().name);

  const auto meant = interpreted_results(plan->schedule, *built);
  require(meant.has_value(), [&] { return meant.error().message + "\n" + text; });
  for (const auto& [name, values] : *meant)
    require_none(differences(values, expected.at(name)),
                 name + " interpreted: " + text + "\n" + print(plan->schedule, built->network));
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
  static const Engine engine = [] {
    EngineOptions options;
    options.resources = small_resources(2, 512);
    options.checked = true;
    auto made = Engine::create(options);
    require(made.has_value(), [&] { return made.error().message; });
    return *made;
  }();
  const auto tensors_of = [](const RandomNetwork& random) {
    Tensors tensors;
    for (const RandomOperand& operand : random.operands) {
      auto tensor = tensor_of(operand, small_resources());
      require(tensor.has_value(), [&] { return tensor.error().message; });
      tensors.emplace(operand.name, std::move(*tensor));
    }
    return tensors;
  };
  CompileOptions options;
  static const std::vector<Specialization> grades = {Specialization::generic, Specialization::profiled,
                                                     Specialization::baked, Specialization::automatic};
  options.specialize = dice.pick(grades);
  options.unfused = dice.percent(15);
  if (dice.percent(30)) options.calls = 1e6;
  const auto kernel = engine.compile(first.expression, tensors_of(first), options);
  require(kernel.has_value(), [&] { return kernel.error().message + "\n" + reproduction(first); });
  // The operands it was made for, then others: other entries, formats and extents, under the same names.
  RandomNetwork other = first;
  for (int binding = 0; binding < 3; ++binding) {
    if (binding > 0) redraw_operands(other, dice, limits);
    const std::string text = "compiled for " + reproduction(first) + "\nrun over " + reproduction(other);
    Bindings bindings;
    for (auto& [name, tensor] : tensors_of(other)) bindings.set(name, tensor);
    for (int run = 0; run < 2; ++run) {
      const auto results = kernel->run(bindings);
      require(results.has_value(), [&] { return results.error().message + "\n" + text; });
      const Tensor& result = results->at("R");
      const auto good = verify(result, small_resources(), "R");
      require(good.has_value(), [&] { return good.error().message + "\n" + text; });
      const auto entries = entries_of(result, small_resources());
      require(entries.has_value(), [&] { return entries.error().message; });
      // An operand that is converted from dense levels loses the zeros that they store.
      const CoordinateMap expected = stored(structural_product(other), result.format(), result_extents(other));
      require_none(
          same_formats(first, other) ? structural_differences(*entries, expected) : differences(*entries, expected),
          text);
    }
  }
}

}  // namespace weft::fuzz
