// Networks in which an element stands more than once: R(i) = T(i,j) * a(j) * T(i,j) walks T once, and means what it meant.
#include <doctest/doctest.h>

#include <algorithm>

#include "compiled_runs.h"
#include "long_ranges.h"
#include "oracle/pairs.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace powers_test {

using namespace weft;
using namespace weft::test;

namespace {

// One factor once more, now and then twice.
RequestedNetwork with_power(RequestedNetwork requested, std::uint64_t seed) {
  RandomNetwork& random = requested.random;
  const RandomFactor factor = random.factors[seed % random.factors.size()];
  std::string access = random.operands[factor.operand].name;
  for (std::size_t mode = 0; mode < factor.indices.size(); ++mode) access += (mode == 0 ? "(" : ",") + factor.indices[mode];
  if (!factor.indices.empty()) access += ")";
  for (std::uint64_t times = seed % 5 == 0 ? 2 : 1; times > 0; --times) {
    random.factors.push_back(factor);
    random.expression += " * " + access;
  }
  return requested;
}

bool has_power(const loop::Block& block) {
  return std::ranges::any_of(block, [](const loop::Statement& statement) {
    if (const auto* each = std::get_if<loop::For>(&statement.node)) return has_power(each->body);
    if (const auto* each = std::get_if<loop::With>(&statement.node)) return has_power(each->body);
    const auto* sum = std::get_if<loop::Accumulate>(&statement.node);
    if (sum == nullptr) return false;
    std::vector<loop::AccessId> factors = sum->factors;
    std::ranges::sort(factors);
    return std::ranges::adjacent_find(factors) != factors.end();
  });
}

}  // namespace

TEST_CASE("factors that are one element are walked once, and every result stays") {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  const Pipeline pipeline = pipeline_with(false, false);
  const Pipeline checked = pipeline_with(true, false);
  const Runs drawn = runs(is_sanitized() ? 30 : 250);
  std::size_t powers = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RequestedNetwork requested = stretched(with_power(seed % 2 == 0 ? random_requested(seed) : pair(seed), seed), seed);
    const std::string text = reproduction(requested);
    CAPTURE(text);
    const Watchdog watchdog(text, 60);
    const auto made = built(requested.random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const PlanOptions options = options_of(requested, within_memory(made->network));
    const auto planned = pipeline.plan(made->network, made->facts, options);
    if (is_left_out(planned, *made)) continue;
    const Plan cut = cut_for_threads(*planned, *made, options);
    CHECK(defect_of_runs(seed % 3 == 0 ? checked : pipeline, cut, {{1}, {4}}, *made, is_structural(requested)) == "");
    const auto kernel = pipeline.compile(made->network, cut, made->facts);
    REQUIRE(kernel);
    powers += std::ranges::any_of(kernel->nests(), [](const CompiledNest& nest) { return has_power(nest.nest.program.body); }) ? 1 : 0;
  }
  MESSAGE(powers << " networks with powers in one statement");
  if (drawn.count >= 30) CHECK(powers > drawn.count / 4);
}

}  // namespace powers_test
