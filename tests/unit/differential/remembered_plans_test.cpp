// Plans as they are remembered, and iterations as they are counted, for random networks.
#include <doctest/doctest.h>

#include "compiled_runs.h"
#include "engine/counted.h"
#include "engine/plan/explain/explanation.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan_cache.h"
#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/random_forest.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace remembered_plans_test {

using namespace weft;
using namespace weft::test;

namespace {

/// Whether the text of a plan brings it back, and its key is that of the same problem built again.
std::string defect(const BuiltNetwork& built, const PlanOptions& options) {
  std::vector<OperandFacts> facts;
  for (const OperandFacts& operand : built.facts) facts.push_back(quantised(operand));
  const auto made = plan(Problem{built.network, facts, options});
  if (!made && made.error().kind == ErrorKind::resource && has_long_extents(built.network)) return {};
  if (!made) return made.error().message;
  const std::string text = print_plan(*made, built.network);
  const auto back = restored_plan(text, built.network, facts, options);
  if (!back) return back.error().message + "\nin\n" + text;
  if (back->schedule != made->schedule || back->cost != made->cost) return "another plan comes back from\n" + text;
  if (print_plan(*back, built.network) != text) return "what comes back prints otherwise than\n" + text;
  const auto again = plan(Problem{built.network, facts, options});
  if (!again || print_plan(*again, built.network) != text) return "planned again otherwise than\n" + text;
  return explanation(*made, Problem{built.network, facts, options}).loops.size() == made->cost.loops.size() ? ""
                                                                                                   : "loops unexplained";
}

std::vector<std::optional<std::uint64_t>> counts(const CompiledNetwork& kernel, const Explanation& predicted,
                                                 const BuiltNetwork& built, Resources resources, unsigned threads,
                                                 std::map<std::string, Tensor>& results) {
  resources.threads = Threads(threads);
  auto binding = kernel.bind(built.tensors, resources, false);
  REQUIRE_MESSAGE(binding, binding.error().message);
  const auto ran = binding->run();
  REQUIRE_MESSAGE(ran, ran.error().message);
  auto handed_over = binding->results();
  REQUIRE_MESSAGE(handed_over, handed_over.error().message);
  results = std::move(*handed_over);
  std::vector<std::optional<std::uint64_t>> found;
  for (const ExplainedLoop& loop : with_counts(predicted, kernel, *binding).loops) found.push_back(loop.counted);
  return found;
}

}  // namespace

TEST_CASE("plans of random networks come back from their texts") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  const Runs drawn = runs(is_sanitized() ? 60 : 300);
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomNetwork random = stretched(random_network(seed), seed);
    CAPTURE(reproduction(random));
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    CHECK(defect(*made, within_memory(made->network)) == "");
  }
}

TEST_CASE("plans of several assignments come back from their texts") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  const Runs drawn = runs(is_sanitized() ? 30 : 150);
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomForest random = stretched(random_forest(seed), seed);
    CAPTURE(reproduction(random));
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    PlanOptions options = within_memory(made->network);
    options.results = random.wanted;
    CHECK(defect(*made, options) == "");
  }
}

TEST_CASE("counting changes no result, and counts do not depend on threads") {
  EngineOptions pipeline_options;
  pipeline_options.resources.threads = Threads(1);
  const auto pipeline = Pipeline::create(pipeline_options);
  REQUIRE_MESSAGE(pipeline, pipeline.error().message);
  const Runs drawn = runs(is_sanitized() ? 20 : 120);
  std::size_t counted = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomNetwork random = stretched(random_network(seed), seed);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, 60);
    const auto made = built(random, pipeline_options.resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const PlanOptions options = within_memory(made->network);
    auto planned = pipeline->plan(made->network, made->facts, options);
    if (is_left_out(planned, *made)) continue;
    make_worth_threads(*planned);
    const Explanation predicted = explanation(*planned, Problem{made->network, made->facts, options});
    const auto kernel = pipeline->compile(made->network, *planned, made->facts, true);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    std::map<std::string, Tensor> results;
    const auto once = counts(*kernel, predicted, *made, pipeline_options.resources, 1, results);
    auto listed = entries_of(results.begin()->second, pipeline_options.resources);
    REQUIRE_MESSAGE(listed, listed.error().message);
    CHECK(differences(*listed, expected_result(random)) == "");
    CHECK(counts(*kernel, predicted, *made, pipeline_options.resources, 2, results) == once);
    for (const auto& count : once) {
      REQUIRE(count.has_value());
      counted += *count;
    }
  }
  if (drawn.count >= 20) CHECK(counted > 0);
}

}  // namespace remembered_plans_test
