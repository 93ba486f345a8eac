// weft compare: two schedules of one expression in turns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/plan/explain/quantities.h"
#include "frontend/command.h"
#include "frontend/command_operands.h"
#include "frontend/json.h"
#include "frontend/quartiles.h"
#include "frontend/result_report.h"
#include "frontend/terminal.h"
#include "runtime/elapsed.h"
#include "runtime/guarded.h"
#include "weft/session.h"

namespace weft {
namespace {

constexpr double enough_ms = 1000;     // of pairs of runs, unless --repeat says how many
constexpr std::size_t fewest_pairs = 10;
constexpr double agreement = 1e-9;     // of sums, relative: schedules add in different orders

struct Contestant {
  std::string file;
  Kernel kernel;
  Bindings bindings;
  Tensors results;
  std::vector<double> run_ms;
};

Expected<void> run_once(Contestant& contestant) {
  contestant.results.clear();  // their memory goes back to the bindings
  const auto start = Clock::now();
  auto results = contestant.kernel.run(contestant.bindings);
  if (!results) return fail(results.error().kind, fmt::format("{}: {}", contestant.file, results.error().message));
  contestant.run_ms.push_back(milliseconds_since(start));
  contestant.results = std::move(*results);
  return {};
}

/// A sentence about results that differ by more than rounding; empty if none does.
std::string disagreement(const Contestant& first, const Contestant& second) {
  for (const auto& [name, tensor] : first.results) {
    const ResultReport one = result_report(tensor), other = result_report(second.results.at(name));
    const auto differ = [](double a, double b) { return std::abs(a - b) > agreement * std::max({1e-300, std::abs(a), std::abs(b)}); };
    if (differ(one.norm, other.norm)) {
      return fmt::format("{} has norm {} with the first and {} with the second", name, one.norm, other.norm);
    }
  }
  return "";
}

Json json_of(const Contestant& contestant) {
  return {{"schedule", contestant.file}, {"cost_ns", contestant.kernel.report().plan.cost_ns}, {"run_ms", contestant.run_ms}};
}

std::string line_of(const Contestant& contestant) {
  const Quartiles ms = quartiles(contestant.run_ms);
  return fmt::format("{}: median {} of {} runs, middle half {} to {}\n", contestant.file, time_text(ms.median * 1e6),
                     contestant.run_ms.size(), time_text(ms.low * 1e6), time_text(ms.high * 1e6));
}

}  // namespace

Expected<void> compare(const CommandOptions& options) {
  const std::span<const std::string> arguments(options.arguments);
  std::vector<Contestant> both(2);
  std::vector<std::string> schedules;
  for (std::size_t number = 0; number < both.size(); ++number) {
    both[number].file = arguments[number];
    auto text = schedule_text(arguments[number]);
    if (!text) {
      return fail(text.error().kind,
                  fmt::format("{}; weft compare wants the files of two schedules, then an expression and its operands",
                              text.error().message));
    }
    schedules.push_back(std::move(*text));
  }
  const auto expression = command_expression(arguments.subspan(2));
  if (!expression) return std::unexpected(expression.error());
  if (options.json && !options.json->empty()) {
    if (auto place = writable_place(*options.json); !place) return place;
  }
  EvaluateOptions evaluate;
  for (const std::string& text : options.formats) {
    if (auto added = add_format(text, evaluate); !added) return added;
  }
  const auto grade = specialization(options);
  if (!grade) return std::unexpected(grade.error());
  evaluate.specialize = *grade;
  const auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  auto chosen = session_options(options, *resources);
  if (!chosen) return std::unexpected(chosen.error());
  const auto engine = Engine::create(std::move(*chosen));
  if (!engine) return std::unexpected(engine.error());
  const auto operands = load_operands(*expression, evaluate.formats, *resources);
  if (!operands) return std::unexpected(operands.error());
  for (const std::string& note : operands->notes) {
    if (!options.quiet) write_note(fmt::format("note: {}\n", note));
  }
  // An einsum's operands are T0, T1, ... to an engine unless their names stand behind it.
  const ParsedExpression& parsed = expression->parsed();
  const std::string text = parsed.notation == Notation::index
                               ? expression->text.text()
                               : fmt::format("{} {}", expression->text.text(), fmt::join(expression->names, " "));
  for (std::size_t number = 0; number < both.size(); ++number) {
    evaluate.schedule = schedules[number];
    evaluate.schedule_name = both[number].file;
    auto kernel = engine->compile(text, operands->tensors, evaluate);
    if (!kernel) return std::unexpected(kernel.error());
    both[number].kernel = std::move(*kernel);
    for (const auto& [name, tensor] : operands->tensors) both[number].bindings.set(name, tensor);
    if (auto warm = run_once(both[number]); !warm) return warm;
    both[number].run_ms.clear();
  }
  const std::string differ = disagreement(both[0], both[1]);
  if (!differ.empty()) return internal_error(fmt::format("the schedules compute different results: {}", differ));
  std::vector<double> ratios;
  const auto start = Clock::now();
  const auto goes_on = [&](std::size_t pair) {
    return options.repeat > 0 ? pair < options.repeat : pair < fewest_pairs || milliseconds_since(start) < enough_ms;
  };
  const auto share_done = [&](std::size_t pair) {
    return options.repeat > 0 ? static_cast<double>(pair) / options.repeat : std::min(1.0, milliseconds_since(start) / enough_ms);
  };
  for (std::size_t pair = 0; goes_on(pair); ++pair) {
    if (resources->progress) resources->progress("comparing", share_done(pair));
    for (const std::size_t turn : {pair % 2, 1 - pair % 2}) {
      if (auto ran = run_once(both[turn]); !ran) return ran;
    }
    ratios.push_back(both[1].run_ms.back() / both[0].run_ms.back());
  }
  if (resources->progress) clear_progress();
  const Quartiles ratio = quartiles(ratios);
  const unsigned threads = resources->threads.available();
  return guarded({"writing the comparison"}, [&]() -> Expected<void> {
    if (options.json) {
      Json json{{"weft", WEFT_VERSION}, {"expression", expression->text.text()}, {"threads", threads}};
      json["first"] = json_of(both[0]);
      json["second"] = json_of(both[1]);
      json["ratio"] = {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}, {"least", ratio.least}, {"most", ratio.most}};
      return write_text(*options.json, json.dump() + "\n");
    }
    if (options.quiet) return write_text("", fmt::format("{:.4g}\n", ratio.median));
    const std::string took =
        fmt::format("{} takes {:.3f} times as long as {}: middle half of {} pairs {:.3f} to {:.3f}, all {:.3g} to {:.3g}; on {} thread{}\n",
                    both[1].file, ratio.median, both[0].file, ratios.size(), ratio.low, ratio.high, ratio.least, ratio.most, threads,
                    threads == 1 ? "" : "s");
    return write_text("", line_of(both[0]) + line_of(both[1]) + took);
  });
}

}  // namespace weft
