#include "compiled_runs.h"

#include <map>
#include <stdexcept>

#include "engine/plan/cost/cost.h"
#include "oracle/cut_roots.h"

namespace weft::test {
namespace {

std::string defect_of_run(BoundNetwork& binding, const Resources& resources, const Judge& judge) {
  if (const auto ran = binding.run(); !ran) return ran.error().message;
  const auto results = binding.results();
  if (!results) return results.error().message;
  const Tensor& result = results->at("R");
  if (const auto good = verify(result, resources, "R"); !good) return good.error().message;
  return judge(result, resources);
}

}  // namespace

void draw_entries(RandomOperand& operand, std::uint64_t percent, Dice& dice) {
  std::uint64_t all = 1;
  for (const std::uint64_t extent : operand.extents) all *= extent;
  for (std::uint64_t n = 0; n < all; ++n) {
    if (percent < 100 && !dice.percent(percent)) continue;
    std::vector<std::uint64_t> at(operand.extents.size());
    std::uint64_t rest = n;
    for (std::size_t mode = at.size(); mode-- > 0; rest /= operand.extents[mode]) at[mode] = rest % operand.extents[mode];
    operand.entries.push_back({at, static_cast<double>(dice.below(7)) - 3});
  }
}

Judge is_structural(const RequestedNetwork& requested) {
  return [&requested](const Tensor& tensor, const Resources& resources) -> std::string {
    if (requested.format && tensor.format().text() != requested.format->text())
      return "R comes as " + tensor.format().text() + " instead of " + requested.format->text();
    const auto result = entries_of(tensor, resources);
    if (!result) return result.error().message;
    return structural_differences(*result, expected_entries(requested, tensor.format()));
  };
}

PlanOptions options_of(const RequestedNetwork& requested, PlanOptions options) {
  if (requested.format) options.result_formats["R"] = *requested.format;
  if (requested.pattern) options.result_patterns["R"] = *requested.pattern;
  return options;
}

const Threads& threads_of(unsigned count) {
  static std::map<unsigned, Threads> arenas;
  return arenas.try_emplace(count, count).first->second;
}

Pipeline pipeline_with(bool checked, bool strict_fp) {
  EngineOptions options;
  options.resources.threads = threads_of(1);
  options.checked = checked;
  options.strict_fp = strict_fp;
  auto pipeline = Pipeline::create(options);
  if (!pipeline) throw std::runtime_error(pipeline.error().message);
  return *pipeline;
}

void make_worth_threads(Plan& plan) {
  // A schedule that was not planned has no loops priced.
  const bool priced = !plan.cost.loops.empty();
  for (std::uint32_t statement = 0; !priced && statement < plan.schedule.statements.size(); ++statement) {
    if (plan.schedule.statements[statement].loops.empty()) continue;
    LoopCost loop;
    loop.statement = statement;
    plan.cost.loops.push_back(loop);
  }
  for (LoopCost& loop : plan.cost.loops) loop.ns = 1e9;
}

Plan cut_for_threads(Plan plan, const BuiltNetwork& built, const PlanOptions& options) {
  plan.schedule = with_cut_roots(std::move(plan.schedule), built, options);
  make_worth_threads(plan);
  return plan;
}

Plan counted_for_threads(Plan plan, const BuiltNetwork& built, const PlanOptions& options) {
  plan = cut_for_threads(std::move(plan), built, options);
  plan.schedule = with_counted_roots(std::move(plan.schedule), built, options);
  return plan;
}

std::string defect_of_runs(const Pipeline& pipeline, const Plan& plan, const std::vector<Way>& ways,
                           const BuiltNetwork& built, const Judge& judge) {
  const auto kernel = pipeline.compile(built.network, plan, built.facts);
  if (!kernel) return kernel.error().message + "\nin\n" + print(plan.schedule, built.network);
  for (const Way& way : ways) {
    Resources resources = pipeline.options().resources;
    resources.threads = threads_of(way.threads);
    auto binding = kernel->bind(built.tensors, resources, way.deterministic);
    if (!binding) return binding.error().message;
    for (int run = 0; run < 2; ++run) {
      const std::string problem = defect_of_run(*binding, resources, judge);
      if (problem.empty()) continue;
      std::string text = problem + (run == 0 ? "" : " in the second run") + " on " + std::to_string(way.threads) +
                         (way.deterministic ? " threads, deterministic" : " threads") + "\nin\n" +
                         print(plan.schedule, built.network);
      for (const CompiledNest& nest : kernel->nests()) text += print(nest.nest.program);
      return text;
    }
  }
  return {};
}

}  // namespace weft::test
