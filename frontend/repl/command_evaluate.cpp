// :plan, :time, :profile and the stages.
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/explain/explained.h"
#include "frontend/quartiles.h"
#include "frontend/repl/commands.h"
#include "frontend/summary.h"

namespace weft {
namespace {

std::string count_text(double count) {
  return count < 1e6 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}", count);
}

/// Counted over expected: 1 is what the planner thought.
std::string ratio_text(double expected, double counted) {
  if (expected == counted) return "1";
  return expected > 0 ? fmt::format("{:.3g}", counted / expected) : "-";
}

std::string profile_line(const std::string& what, double expected, const std::optional<std::uint64_t>& counted) {
  return fmt::format("  {:<44} {:>12} {:>12} {:>8}\n", what, count_text(expected),
                     counted ? count_text(static_cast<double>(*counted)) : "-",
                     counted ? ratio_text(expected, static_cast<double>(*counted)) : "-");
}

/// "1.23 ms", in the unit that leaves one to three digits before the point.
std::string time_text(double milliseconds) {
  if (milliseconds < 1e-3) return fmt::format("{:.3g} ns", milliseconds * 1e6);
  if (milliseconds < 1) return fmt::format("{:.3g} us", milliseconds * 1e3);
  if (milliseconds < 1e3) return fmt::format("{:.3g} ms", milliseconds);
  return fmt::format("{:.3g} s", milliseconds * 1e-3);
}

}  // namespace

Expected<void> command_plan(Repl& repl, const std::string& argument) {
  EvaluateOptions options;
  options.run = false;
  options.compile = false;
  options.why = true;
  const auto evaluation = repl.evaluate(argument, options);
  if (!evaluation) return std::unexpected(evaluation.error());
  return repl.print(plan_text(evaluation->report));
}

Expected<void> command_stage(Repl& repl, const std::string& argument, const std::string& stage) {
  EvaluateOptions options;
  options.run = false;
  options.compile = false;
  options.stages = {stage};
  const auto evaluation = repl.evaluate(argument, options);
  if (!evaluation) return std::unexpected(evaluation.error());
  return repl.print(evaluation->report.stages.at(stage));
}

Expected<void> command_time(Repl& repl, const std::string& argument) {
  EvaluateOptions options;
  options.repeat = repl.options().repeat == 0 ? 10 : repl.options().repeat;
  const auto evaluation = repl.evaluate(argument, options);
  if (!evaluation) return std::unexpected(evaluation.error());
  const Report& report = evaluation->report;
  const Quartiles ms = quartiles(report.run_ms);
  const double median = report.median_run_ms();
  const std::size_t runs = report.run_ms.size();
  return repl.print(fmt::format("median {} of {} run{}, {} to {}, middle half {} to {}; {:.2f} GFLOP/s on {} thread{}\n", time_text(median),
                                runs, runs == 1 ? "" : "s", time_text(ms.least), time_text(ms.most), time_text(ms.low),
                                time_text(ms.high), median > 0 ? report.plan.flops / median * 1e-6 : 0.0, report.threads,
                                report.threads == 1 ? "" : "s"));
}

Expected<void> command_profile(Repl& repl, const std::string& argument) {
  EvaluateOptions options;
  options.count = true;
  const auto evaluation = repl.evaluate(argument, options);
  if (!evaluation) return std::unexpected(evaluation.error());
  const Explanation& explained = *evaluation->report.explained;
  std::string text = fmt::format("  {:<44} {:>12} {:>12} {:>8}\n", "iterations of", "expected", "counted", "ratio");
  for (std::size_t statement = 0; statement < explained.statements.size(); ++statement) {
    const ExplainedStatement& one = explained.statements[statement];
    text += profile_line(one.text, one.iterations, one.counted);
    for (const ExplainedLoop& loop : explained.loops) {
      if (loop.statement != statement) continue;
      const char* mark = loop.parallel ? " parallel" : loop.vector ? " vector" : "";
      text += profile_line(fmt::format("{:{}}{}{} ({})", "", 2 * (loop.depth + 1), loop.index, mark, loop.how), loop.iterations,
                           loop.counted);
    }
  }
  double expected_ns = 0;
  for (const ExplainedStatement& statement : explained.statements) expected_ns += statement.ns;
  text += fmt::format("run {}, expected {} of one thread's work\n", time_text(evaluation->report.median_run_ms()),
                      time_text(expected_ns * 1e-6));
  return repl.print(text);
}

}  // namespace weft
