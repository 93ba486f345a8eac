#include "bench/prepared.h"

#include <algorithm>

#include "engine/plan/estimate/count_joins.h"
#include "engine/plan/search/plan_by_need.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"

namespace weft::bench {

Expected<Prepared> prepare(const Problem& problem, const std::map<std::string, Tensor>& operands,
                           const Resources& resources) {
  const auto parsed = parse_expression(problem.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<OperandShape> shapes;
  for (const auto& [name, tensor] : operands) shapes.push_back({name, tensor.extents(), tensor.format().scalar});
  const auto network = resolve(*parsed, shapes);
  if (!network) return std::unexpected(network.error());
  EngineOptions engine_options;
  engine_options.resources = resources;
  engine_options.use_cache = false;
  const auto engine = Pipeline::create(std::move(engine_options));
  if (!engine) return std::unexpected(engine.error());

  Prepared prepared;
  std::vector<OperandFacts> facts;
  prepared.phases.statistics = time_ms([&] { facts = engine->facts(*network, operands, {}); });
  PlanOptions options;
  options.calls = 1000;
  options.results = problem.results;
  for (const auto& [name, text] : problem.formats) {
    if (text.starts_with("like(")) {
      options.result_patterns[name] = text.substr(5, text.size() - 6);
      options.results.insert(name);
      continue;
    }
    const auto format = parse_format(text);
    if (!format) return std::unexpected(format.error());
    options.result_formats[name] = *format;
  }
  // As the command does.
  Expected<Plan> counted = Plan{};
  prepared.phases.statistics += time_ms([&] {
    JoinCounter counter(*network, facts, numbered(operands, *network, facts), {}, resources);
    counted = plan_counted(*network, facts, options, counter,
                           [&](const PlanOptions& with) { return engine->plan(*network, facts, with); });
  });
  if (!counted) return std::unexpected(counted.error());
  for (int time = 0; time < 3; ++time) {
    Expected<Plan> plan = Plan{};
    const double plan_ms = time_ms([&] { plan = engine->plan(*network, facts, options); });
    if (!plan) return std::unexpected(plan.error());
    auto kernel = engine->compile(*network, *plan, facts);
    if (!kernel) return std::unexpected(kernel.error());
    const CompilePhases& compile = kernel->phases();
    Phases& best = prepared.phases;
    const auto keep = [time](double& known, double ms) { known = time == 0 ? ms : std::min(known, ms); };
    keep(best.plan, plan_ms);
    keep(best.lower, compile.lower);
    keep(best.generate, compile.generate);
    keep(best.emit, compile.emit);
    keep(best.load, compile.load);
    prepared.kernel = std::move(*kernel);
  }
  prepared.facts = std::move(facts);
  return prepared;
}

Expected<void> run_whole(BoundNetwork& binding) {
  if (auto ran = binding.run(); !ran) return ran;
  if (const auto results = binding.results(); !results) return std::unexpected(results.error());
  return {};
}

}  // namespace weft::bench
