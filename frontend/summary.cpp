#include "frontend/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/explain/explained.h"
#include "engine/plan/explain/quantities.h"
#include "frontend/array_text.h"
#include "frontend/number_text.h"
#include "frontend/result_report.h"
#include "frontend/terminal.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

constexpr const char* calibration_hint = "weft calibrate measures this machine in a second or two";
constexpr double resolution_ns = 1000;
constexpr double told_ms = 0.1;  // less is binding, where nothing is converted

std::string in_ms(double milliseconds) { return time_text(milliseconds * 1e6); }

double value_of(const Tensor& scalar) {
  return value_at(scalar.values(), scalar.format().scalar, 0);
}

std::string planning(const Report& report) {
  const auto& phases = report.phases;
  const double counting = phases.parse + phases.statistics;
  std::string text = report.plan_cache == "hit" ? fmt::format("plan remembered, {}", in_ms(counting + phases.plan))
                                                : fmt::format("plan {}", in_ms(counting + phases.plan));
  // Counting the operands may take longer than choosing.
  if (phases.statistics > phases.plan && phases.statistics >= 1) text += fmt::format(" (statistics {})", in_ms(phases.statistics));
  return text;
}

std::string code(const Report& report) {
  const auto& phases = report.phases;
  const double spent = phases.lower + phases.generate + phases.emit + phases.load;
  if (report.kernel_cache == "compiled") return fmt::format("compiled in {}", in_ms(spent));
  return fmt::format("kernel from {} in {}", report.kernel_cache, in_ms(spent));
}

/// The model prices loops, not the call around them: below its resolution no digit says anything.
std::string nest_text(double ns) { return ns < resolution_ns ? "below " + time_text(resolution_ns) : time_text(ns); }

std::string prediction(const Report& report) {
  const Explanation& explained = explanation_of(report);
  const double converting = explained.of_this_run.conversion_ns;
  std::string text = fmt::format("predicted {}", nest_text(explained.of_this_run.ns - converting));
  if (converting > 0) text += fmt::format(" and {} converting", time_text(converting));
  return text;
}

}  // namespace

std::string plan_text(const Report& report) {
  std::string text = report.explanation;
  if (!text.empty() && text.back() != '\n') text += '\n';
  const Explanation& explained = explanation_of(report);
  for (const ExplainedNest& nest : explained.nests) {
    if (!nest.measured_ms) continue;
    text += fmt::format("measured {}{} for the nest of {}, predicted {}; {}/s through caches and memory\n",
                        in_ms(*nest.measured_ms), report.run_ms.size() > 1 ? " in the fastest run" : "",
                        explained.statements[nest.statement].text, time_text(nest.ns),
                        bytes_text(nest.bytes / *nest.measured_ms * 1e3));
  }
  text += report.plan.loops;
  // The line of times of a run says so too.
  if (!explained.calibrated && report.run_ms.empty()) text += fmt::format("{}\n", calibration_hint);
  return text + fmt::format("peak memory {}{}\n", report.plan.peak_is_estimate ? "about " : "", human_bytes(report.plan.peak_bytes));
}

std::string results_text(const Evaluation& evaluation) {
  std::string text;
  for (const auto& [name, tensor] : evaluation.results) {
    if (tensor.order() == 0) {
      text += fmt::format("{} = {}\n", name, number_text(value_of(tensor), tensor.format().scalar));
    } else if (tensor.format().all_dense()) {
      text += fmt::format("{}: {}\n{}", name, tensor.summary(), tensor_text(tensor, name));
    } else {
      text += tensor_text(tensor, name);
    }
  }
  return text;
}

std::string scalars_text(const Evaluation& evaluation) {
  std::string text;
  for (const auto& [name, tensor] : evaluation.results) {
    if (tensor.order() == 0) text += number_text(value_of(tensor), tensor.format().scalar) + '\n';
  }
  return text;
}

std::string times_text(const Report& report, const std::map<std::string, double>& read_ms) {
  double read = 0;
  for (const auto& [name, milliseconds] : read_ms) read += milliseconds;
  std::string text = fmt::format("read {}, {}, {}", in_ms(read), planning(report), code(report));
  if (report.phases.convert >= told_ms) text += fmt::format(", convert {}", in_ms(report.phases.convert));
  text += fmt::format(", run {}", in_ms(report.median_run_ms()));
  if (report.run_ms.size() > 1) {
    const auto [fastest, slowest] = std::ranges::minmax(report.run_ms);
    text += fmt::format(" (median of {}, {} to {})", report.run_ms.size(), in_ms(fastest), in_ms(slowest));
  }
  text += fmt::format(" on {} thread{}; {}", report.threads, report.threads == 1 ? "" : "s", prediction(report));
  if (!explanation_of(report).calibrated) text += fmt::format(" ({})", calibration_hint);
  return text + '\n';
}

}  // namespace weft
