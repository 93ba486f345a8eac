// Random networks over extents up to 2^62, compiled and run: what is stored, found and appended there has the coordinates that the
// oracle has, in every format that can hold them. What would be dense over them is refused before it is allocated.
#include <doctest/doctest.h>

#include "compiled_runs.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/pairs.h"
#include "oracle/stretched.h"
#include "runs.h"
#include "weft/engine.h"

namespace long_extents_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

struct Counts {
  std::uint64_t computed = 0;
  std::uint64_t refused = 0;
  std::uint64_t slow = 0;
};

/// Planned, perhaps refused for its size, compiled and run in ways that take turns.
class Running {
 public:
  Counts counts;

  void check(const RequestedNetwork& requested, const BuiltNetwork& built) {
    PlanOptions options = options_of(requested);
    options.memory_limit = memory_over_long_extents;
    const std::uint64_t turn = number_++ % 6;
    if (turn == 2) options.calls = 1e9;  // conversions cost nothing
    const auto plan =
        turn == 4 ? plan_unfused(Problem{built.network, built.facts, options}) : usual_.plan(built.network, built.facts, options);
    if (!plan) {
      // Without fused loops some results have no schedule at the positions of an operand.
      const bool unwritten = turn == 4 && !options.result_patterns.empty() && plan.error().kind == ErrorKind::unsupported;
      CHECK_MESSAGE((plan.error().kind == ErrorKind::resource || unwritten), plan.error().message);
      ++counts.refused;
      return;
    }
    if (goes_over_long_ranges(plan->schedule, built.network)) {
      ++counts.slow;
      return;
    }
    const Pipeline& pipeline = turn % 3 == 1 ? checked_ : usual_;
    const Plan cut = turn == 3 ? counted_for_threads(*plan, built, options) : cut_for_threads(*plan, built, options);
    const std::string defect = defect_of_runs(pipeline, cut, {{1, false}, {2 + static_cast<unsigned>(turn), false}},
                                              built, is_structural(requested));
    CHECK(defect == "");
    ++counts.computed;
  }

 private:
  Pipeline usual_ = pipeline_with(false, false), checked_ = pipeline_with(true, false);
  std::uint64_t number_ = 0;
};

template <class Draw>
void check_networks(const Runs& drawn, const Draw& draw) {
  Running running;
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RequestedNetwork requested = stretched(draw(seed), seed, Extents::long_ones);
    const std::string text = reproduction(requested);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(requested.random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    running.check(requested, *made);
  }
  MESSAGE(running.counts.computed << " computed, " << running.counts.refused << " refused for their size, "
                                  << running.counts.slow << " too slow");
  if (drawn.count >= 50) CHECK(running.counts.computed > 4 * (running.counts.refused + running.counts.slow));
}

Tensors tensors_of(const RandomNetwork& random, const Resources& resources) {
  Tensors tensors;
  for (const RandomOperand& operand : random.operands) {
    const auto tensor = tensor_of(operand, resources);
    REQUIRE_MESSAGE(tensor, tensor.error().message);
    tensors.emplace(operand.name, *tensor);
  }
  return tensors;
}

}  // namespace

TEST_CASE("kernels bound to operands over long extents, and back") {
  EngineOptions engine_options;
  engine_options.resources = {.memory = Memory(memory_over_long_extents), .threads = Threads(2), .cancellation = {}, .progress = {}};
  engine_options.use_cache = false;
  const auto engine = Engine::create(engine_options);
  REQUIRE_MESSAGE(engine, engine.error().message);
  const Runs drawn = runs(is_sanitized() ? 30 : 200);
  Counts counts;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomNetwork first = random_network(seed);
    const RandomNetwork longer = stretched(first, seed, Extents::long_ones);
    CompileOptions options;
    const std::size_t order = result_extents(first).size();
    if (order > 0) options.formats["R"] = sparse_format(order);
    CAPTURE(reproduction(first));
    CAPTURE(reproduction(longer));
    const auto kernel = engine->compile(first.expression, tensors_of(first, engine_options.resources), options);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    for (const RandomNetwork* random : {&longer, &first, &longer}) {
      Bindings bindings;
      for (const auto& [name, tensor] : tensors_of(*random, engine_options.resources)) bindings.set(name, tensor);
      const Patience patience;
      const auto results = kernel->run(bindings, patience.over());
      if (!results) {
        const ErrorKind kind = results.error().kind;
        CHECK_MESSAGE((random == &longer && (kind == ErrorKind::resource || kind == ErrorKind::cancelled)), results.error().message);
        ++(kind == ErrorKind::cancelled ? counts.slow : counts.refused);
        continue;
      }
      const Tensor& result = results->at("R");
      const auto good = verify(result, engine_options.resources, "R");
      CHECK_MESSAGE(good, good.error().message);
      const auto entries = entries_of(result, engine_options.resources);
      REQUIRE_MESSAGE(entries, entries.error().message);
      CHECK(differences(*entries, structural_product(*random)) == "");
      ++counts.computed;
    }
  }
  MESSAGE(counts.computed << " computed, " << counts.refused << " refused for their size, " << counts.slow << " too slow");
  if (drawn.count >= 50) CHECK(counts.computed > 4 * (counts.refused + counts.slow));
}

TEST_CASE("random products over long extents, compiled and run") {
  check_networks(runs(is_sanitized() ? 50 : 400), [](std::uint64_t seed) { return random_requested(seed); });
}

TEST_CASE("pairs of formats over long extents, compiled and run") {
  check_networks(runs(is_sanitized() ? 50 : 400), pair);
}

}  // namespace long_extents_test
