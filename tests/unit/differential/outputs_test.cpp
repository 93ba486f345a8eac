// Results scaled and added to memory of the host, in parts of larger arrays: every element is alpha * result + beta * what was
// there, and nothing beside it is touched.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiled_runs.h"
#include "engine/plan/plan.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/planned.h"
#include "long_ranges.h"
#include "oracle/interpreted.h"
#include "oracle/stretched.h"
#include "runs.h"
#include "weft/host.h"

namespace outputs_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr double padding = -77;

/// A part of a larger array: strides by mode, in some order of the modes, with gaps, now and then none.
struct Place {
  std::vector<std::int64_t> strides;
  std::uint64_t offset = 0;
  std::uint64_t elements = 0;

  Place(const std::vector<std::uint64_t>& extents, Dice& dice) : strides(extents.size()) {
    std::vector<std::size_t> modes(extents.size());
    std::iota(modes.begin(), modes.end(), 0);
    if (dice.percent(30)) dice.shuffle(modes);
    const bool backwards = dice.percent(10);
    const bool gaps = dice.percent(70);
    std::int64_t distance = gaps && dice.percent(20) ? 2 : 1;
    for (std::size_t n = modes.size(); n-- > 0;) {
      strides[modes[n]] = distance;
      distance = distance * static_cast<std::int64_t>(extents[modes[n]]) + static_cast<std::int64_t>(gaps ? dice.below(3) : 0);
    }
    offset = gaps ? dice.below(3) : 0;
    elements = static_cast<std::uint64_t>(distance) + offset + 2;
    if (!backwards || extents.empty()) return;
    strides[0] = -strides[0];
    offset += static_cast<std::uint64_t>(-strides[0]) * (extents[0] - std::min<std::uint64_t>(extents[0], 1));
  }
  std::uint64_t at(const std::vector<std::uint64_t>& coordinates) const {
    std::uint64_t place = offset;
    for (std::size_t mode = 0; mode < strides.size(); ++mode) place += coordinates[mode] * static_cast<std::uint64_t>(strides[mode]);
    return place;
  }
};

/// Calls body with every tuple of coordinates.
template <class Body>
void for_each_coordinate(const std::vector<std::uint64_t>& extents, const Body& body) {
  if (std::ranges::find(extents, 0) != extents.end()) return;
  std::vector<std::uint64_t> at(extents.size());
  for (;;) {
    body(at);
    std::size_t mode = extents.size();
    while (mode > 0 && ++at[mode - 1] == extents[mode - 1]) at[--mode] = 0;
    if (mode == 0) return;
  }
}

template <class Element>
struct Memory {
  Place place;
  std::vector<Element> array;
  Tensor tensor;

  Memory(const std::vector<std::uint64_t>& extents, Dice& dice)
      : place(extents, dice), array(place.elements, static_cast<Element>(padding)) {
    auto lent = borrow_dense(extents, array, place.strides, place.offset);
    REQUIRE_MESSAGE(lent, lent.error().message);
    tensor = *lent;
  }
};

/// Runs with ever other factors, and what is wrong.
template <class Element>
std::string defect_of_outputs(const CompiledNetwork& kernel, const BuiltNetwork& built, const std::vector<std::uint64_t>& extents,
                              const CoordinateMap& expected, const Way& way, Dice& dice) {
  Resources resources{.memory = {}, .threads = threads_of(way.threads), .cancellation = {}, .progress = {}};
  Memory<Element> memory(extents, dice);
  const std::vector<double> factors = {0, 1, 1, -1, 2, 3, -2};
  HostMemory host;
  std::optional<BoundNetwork> binding;
  for (int run = 0; run < 4; ++run) {
    const Scaling scaling{dice.pick(factors), dice.pick(factors)};
    const std::string told = " with alpha " + std::to_string(scaling.alpha) + ", beta " + std::to_string(scaling.beta);
    host.outputs["R"] = {memory.tensor, scaling};
    std::vector<Element> wanted(memory.array.size(), static_cast<Element>(padding));
    std::ranges::fill(memory.array, static_cast<Element>(padding));
    double next = 1;
    for_each_coordinate(extents, [&](const std::vector<std::uint64_t>& at) {
      const double before = next = next == 5 ? 1 : next + 1;
      const auto found = expected.find(at);
      const double result = found == expected.end() ? 0 : found->second;
      const double sum = scaling.beta == 0 ? scaling.alpha * result : scaling.alpha * result + scaling.beta * before;
      memory.array[memory.place.at(at)] =
          scaling.beta == 0 ? std::numeric_limits<Element>::quiet_NaN() : static_cast<Element>(before);
      wanted[memory.place.at(at)] = static_cast<Element>(sum);
    });
    if (binding) {
      const auto taken = binding->rebind(built.tensors, host);
      if (!taken) return taken.error().message;
      if (!*taken) return "the same operands are refused";
    } else {
      auto bound = kernel.bind(built.tensors, resources, way.deterministic, host);
      if (!bound) return bound.error().message;
      binding.emplace(std::move(*bound));
    }
    if (const auto ran = binding->run(); !ran) return ran.error().message + told;
    if (const auto results = binding->results(); !results) return results.error().message + told;
    for (std::size_t n = 0; n < wanted.size(); ++n) {
      if (memory.array[n] == wanted[n]) continue;
      return "element " + std::to_string(n) + " is " + std::to_string(memory.array[n]) + " instead of " + std::to_string(wanted[n]) + told;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("random networks added to parts of larger arrays with any alpha and beta, padding untouched") {
  const Resources resources{.memory = weft::Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  const Pipeline pipelines[] = {pipeline_with(false, false), pipeline_with(true, false), pipeline_with(false, true)};
  const Runs drawn = runs(is_sanitized() ? 60 : 240);
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    RandomNetwork random = random_network(seed);
    // The memory is dense over what the result has.
    const std::vector<std::uint64_t> kept = result_extents(random);
    if (std::optional<Dice> longer = stretching(seed)) random = stretched(std::move(random), *longer, kept);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, 60);
    Dice dice(seed);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const auto result = std::ranges::find(made->network.tensors, "R", &TensorDeclaration::name);
    REQUIRE(result != made->network.tensors.end());
    const CoordinateMap expected = expected_result(random);
    PlanOptions options = within_memory(made->network);
    options.strict_fp = seed % 3 == 2;
    auto planned = seed % 4 == 0
                       ? plan_given(baseline(Problem{made->network, made->facts, options}), Problem{made->network, made->facts, options})
                       : plan(Problem{made->network, made->facts, options});
    if (is_left_out(planned, *made)) continue;
    CompileFor made_for{.grade = seed % 2 == 0 ? Specialization::generic : Specialization::profiled};
    if (dice.percent(60)) made_for.scaled.insert("R");
    if (dice.percent(60)) made_for.strided.insert("R");
    for (const Way& way : {Way{1, false}, Way{2, false}, Way{2, true}}) {
      const Plan cut = way.threads == 1 ? *planned : cut_for_threads(*planned, *made, options);
      const auto kernel = pipelines[seed % 3].compile(made->network, cut, made->facts, false, made_for);
      REQUIRE_MESSAGE(kernel, kernel.error().message);
      std::string texts;
      for (const CompiledNest& nest : kernel->nests()) texts += print(nest.nest.program);
      CAPTURE(texts);
      // The interpreter reads the same coefficient words; a result with levels of its own has none.
      std::vector<LoweredNest> tripled;
      std::size_t words = 0;
      for (const CompiledNest& nest : kernel->nests()) {
        tripled.push_back(nest.nest);
        for (std::size_t word = 0; made_for.scaled.contains("R") && word < tripled.back().scaled.size(); ++word) {
          if (tripled.back().scaled[word] == ~0u) continue;
          tripled.back().coefficients[word] *= 3;
          ++words;
        }
      }
      const auto computed = std::ranges::find(cut.schedule.tensors, "R", &ScheduledTensor::name);
      if (computed->format.all_dense()) CHECK(words == (made_for.scaled.contains("R") ? 1 : 0));
      auto meant = interpreted(kernel->plan().schedule, made->network, tripled, made->entries);
      REQUIRE_MESSAGE(meant, meant.error().message);
      CoordinateMap times = expected;
      for (auto& [at, value] : times) value *= words > 0 ? 3 : 1;
      CHECK(differences(*meant, times) == "");
      const bool f32 = dice.percent(result->scalar == Scalar::f32 ? 80 : 20);
      const std::string defect = f32 ? defect_of_outputs<float>(*kernel, *made, result->extents, expected, way, dice)
                                     : defect_of_outputs<double>(*kernel, *made, result->extents, expected, way, dice);
      CHECK(defect == "");
    }
  }
}

}  // namespace outputs_test
