// weft run and weft plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/cache/disk_cache.h"
#include "engine/specialize.h"
#include "engine/trace.h"
#include "frontend/calibration.h"
#include "frontend/command.h"
#include "frontend/file_text.h"
#include "frontend/interrupt.h"
#include "frontend/operand.h"
#include "frontend/page.h"
#include "frontend/parse.h"
#include "frontend/report_json.h"
#include "frontend/resolve.h"
#include "frontend/terminal.h"
#include "runtime/elapsed.h"
#include "runtime/guarded.h"
#include "weft/session.h"

namespace weft {
namespace {

using Destination = std::pair<std::string, std::string>;  ///< what, and where to

Expected<std::vector<Destination>> destinations(const std::vector<std::string>& texts, const ParsedExpression& expression) {
  std::vector<Destination> outputs;
  for (const std::string& text : texts) {
    const OperandText split = parse_operand(text);
    if (split.name.empty() || split.spec.empty()) {
      return input_error(fmt::format("--out wants NAME=PATH, not '{}'", text));
    }
    const auto is_result = std::ranges::any_of(expression.assignments, [&](const ParsedAssignment& assignment) {
      return assignment.result.name == split.name;
    });
    if (!is_result) return input_error(fmt::format("--out names {}, which is no result of the expression", split.name));
    if (auto known = writable_format(split.spec); !known) return std::unexpected(known.error());
    if (auto place = writable_place(split.spec); !place) return std::unexpected(place.error());
    outputs.emplace_back(split.name, split.spec);
  }
  return outputs;
}

Expected<std::vector<Destination>> stages(const CommandOptions& options) {
  static constexpr std::string_view known[] = {"network", "tree", "schedule", "loops", "signature", "llvm", "asm", "object"};
  std::vector<Destination> wanted;
  for (const std::string& text : options.stages) {
    const std::size_t equals = text.find('=');
    Destination stage{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (std::ranges::find(known, stage.first) == std::end(known)) {
      return input_error(fmt::format("--emit knows no stage '{}'; stages are {}", stage.first, fmt::join(known, ", ")));
    }
    if (equals != std::string::npos && stage.second.empty()) {
      return input_error(fmt::format("--emit {} wants a path after '='", stage.first));
    }
    if (!stage.second.empty()) {
      if (auto place = writable_place(stage.second); !place) return std::unexpected(place.error());
    }
    if (stage.second.empty() && options.json && options.json->empty()) {
      return input_error(fmt::format("--emit {} and --json both want standard output; give one a path", stage.first));
    }
    wanted.push_back(std::move(stage));
  }
  return wanted;
}

/// The operand of "like(OPERAND)"; nothing if the text is no such thing.
std::optional<std::string> pattern_of(std::string_view text) {
  if (!text.starts_with("like(") || !text.ends_with(")")) return std::nullopt;
  return std::string(text.substr(5, text.size() - 6));
}

std::string summary(const Evaluation& evaluation, const std::map<std::string, double>& read_ms, double total_ms) {
  const Report& report = evaluation.report;
  std::string text = report.explanation;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += report.plan.loops;
  text += fmt::format("peak memory {}{}\n", report.plan.peak_is_estimate ? "about " : "", human_bytes(report.plan.peak_bytes));
  if (report.run_ms.empty()) return text;
  double read = 0;
  for (const auto& [name, milliseconds] : read_ms) read += milliseconds;
  const auto& phases = report.phases;
  text += fmt::format(
      "read {:.1f} ms, statistics {:.1f} ms, plan {:.1f} ms, generate {:.1f} ms, emit {:.1f} ms, load {:.2f} ms, convert "
      "{:.1f} ms; kernel {} ({} bytes)\n",
      read, phases.statistics, phases.plan, phases.generate, phases.emit, phases.load, phases.convert,
      report.kernel_cache, report.object_bytes);
  const double median = report.median_run_ms();
  text += fmt::format("run {:.3f} ms", median);
  if (report.run_ms.size() > 1) {
    const auto [fastest, slowest] = std::ranges::minmax(report.run_ms);
    text += fmt::format(" (median of {}, {:.3f} to {:.3f})", report.run_ms.size(), fastest, slowest);
  }
  text += fmt::format(" on {} thread{}, {:.2f} GFLOP/s; {:.0f} ms in all\n", report.threads, report.threads == 1 ? "" : "s",
                      median > 0 ? report.plan.flops / median * 1e-6 : 0.0, total_ms);
  for (const auto& [name, tensor] : evaluation.results) {
    const ResultReport& result = report.results.at(name);
    if (tensor.order() == 0) {
      text += fmt::format("{} = {}\n", name, tensor.format.scalar == Scalar::f64
                                                 ? fmt::format("{:.17g}", tensor.values.as<const double>()[0])
                                                 : fmt::format("{:.9g}", tensor.values.as<const float>()[0]));
    } else {
      text += fmt::format("{}: {}, sum {:.12g}, norm {:.12g}\n", name, tensor.summary(), result.sum, result.norm);
    }
  }
  return text;
}

}  // namespace

Expected<Resources> command_resources(const CommandOptions& options) {
  std::uint64_t limit = Memory::unlimited;
  if (!options.memory_limit.empty()) {
    const auto size = parse_size(options.memory_limit);
    if (!size) return std::unexpected(size.error());
    limit = *size;
  }
  Resources resources{Memory(limit), Threads(options.threads), Cancellation(), terminal_progress(options.quiet)};
  cancel_on_interrupt(resources.cancellation);
  return resources;
}

Expected<Specialization> specialization(const CommandOptions& options) {
  if (options.specialize.empty()) return EvaluateOptions().specialize;
  const auto grade = parse_specialization(options.specialize);
  if (grade) return *grade;
  return input_error(fmt::format("the grades of --specialize are generic, profiled, baked and auto, not '{}'", options.specialize));
}

Expected<EngineOptions> session_options(const CommandOptions& options, const Resources& resources) {
  if (auto known = specialization(options); !known) return std::unexpected(known.error());
  EngineOptions session;
  session.resources = resources;
  session.deterministic = options.deterministic;
  session.strict_fp = options.strict_fp;
  session.checked = options.checked;
  session.use_cache = !options.no_cache;
  session.paranoid = options.paranoid;
  if (!options.cache_directory.empty()) {
    session.cache_directory = options.cache_directory;
  } else {
    session.cache_directory = DiskCache::default_directory();
    if (!session.cache_directory && options.verbose && session.use_cache)
      write_note("cache not used: none of WEFT_CACHE_DIR, XDG_CACHE_HOME and HOME is set\n");
  }
  if (!options.dump_directory.empty()) session.dump_directory = options.dump_directory;
  if (options.verbose) session.trace = [](std::string_view line) { write_note(fmt::format("{}\n", line)); };
  if (options.verbose && options.subcommand != "repl") {
    // A session knows its tensors, but not where they are from: the line that does the same is the one that was given.
    std::string same = "weft run";
    for (std::size_t word = 1; word < options.given.size(); ++word) {
      if (options.given[word] != "--verbose") same += fmt::format(" {}", shell_word(options.given[word]));
    }
    session.trace = [same](std::string_view line) {
      const std::size_t told = line.find(" # ");
      const bool is_command = line.starts_with("weft run ") && told != std::string_view::npos;
      write_note(fmt::format("{}{}\n", is_command ? same : "", is_command ? line.substr(told) : line));
    };
  }
  auto calibration = calibration_text();
  if (!calibration) return std::unexpected(calibration.error());
  session.calibration = std::move(calibration->text);
  session.calibration_name = std::move(calibration->name);
  return session;
}

Expected<void> add_format(const std::string& text, EvaluateOptions& evaluate) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    return input_error(fmt::format("--format wants NAME:KINDS[:ORDER][:SCALAR] or NAME:like(OPERAND), not '{}'", text));
  }
  const std::string name = text.substr(0, colon);
  if (evaluate.formats.contains(name) || evaluate.patterns.contains(name)) {
    return input_error(fmt::format("--format is given twice for {}", name));
  }
  if (const auto pattern = pattern_of(std::string_view(text).substr(colon + 1))) {
    evaluate.patterns[name] = *pattern;
    return {};
  }
  auto format = parse_format(std::string_view(text).substr(colon + 1));
  if (!format) return fail(format.error().kind, fmt::format("--format {}: {}", text, format.error().message));
  evaluate.formats[name] = std::move(*format);
  return {};
}

Expected<void> run_or_plan(const CommandOptions& options, bool run) {
  const auto start = Clock::now();
  const auto parsed = parse_expression(options.arguments.front());
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<OperandText> operands;
  std::vector<std::string> given;
  for (std::size_t argument = 1; argument < options.arguments.size(); ++argument) {
    operands.push_back(parse_operand(options.arguments[argument]));
    given.push_back(operands.back().name);
  }
  const auto names = operand_names(*parsed, given);
  if (!names) return std::unexpected(names.error());
  const auto outputs = destinations(options.outputs, *parsed);
  if (!outputs) return std::unexpected(outputs.error());
  if (options.json && !options.json->empty()) {
    if (auto place = writable_place(*options.json); !place) return place;
  }
  if (!options.page.empty()) {
    if (auto place = writable_place(options.page); !place) return place;
  }
  const auto wanted = stages(options);
  if (!wanted) return std::unexpected(wanted.error());
  EvaluateOptions evaluate;
  for (const std::string& text : options.formats) {
    if (auto added = add_format(text, evaluate); !added) return added;
  }
  for (const auto& [name, path] : *outputs) evaluate.results.push_back(name);
  evaluate.tree = options.tree;
  if (!options.schedule_file.empty()) {
    auto text = file_text(options.schedule_file);
    if (!text) return std::unexpected(text.error());
    if (text->find_first_not_of(" \t\r\n") == std::string::npos) {
      return input_error(fmt::format("{} holds no schedule; --emit schedule prints one", options.schedule_file));
    }
    evaluate.schedule = std::move(*text);
    evaluate.schedule_name = options.schedule_file;
  }
  if (!evaluate.schedule.empty() && !evaluate.tree.empty()) {
    return input_error("--tree and --schedule contradict each other: a schedule contains its tree");
  }
  bool replaced = false;  // the summary, by a stage on standard output
  for (const auto& [stage, path] : *wanted) {
    evaluate.stages.push_back(stage);
    replaced = replaced || path.empty();
  }
  const auto grade = specialization(options);
  if (!grade) return std::unexpected(grade.error());
  evaluate.specialize = *grade;
  evaluate.unfused = options.unfused;
  evaluate.prove = options.prove;
  evaluate.objective = options.objective;
  evaluate.repeat = options.repeat;
  evaluate.calls = options.calls.value_or(std::max(1U, options.repeat));
  evaluate.run = run;
  const bool explained = options.json || (!options.quiet && !replaced);
  evaluate.why = !options.page.empty() || (!run && explained);
  evaluate.count = options.count || !options.page.empty();
  evaluate.compile = options.json.has_value();

  const auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  auto chosen = session_options(options, *resources);
  if (!chosen) return std::unexpected(chosen.error());
  auto session = Session::create(std::move(*chosen));
  if (!session) return std::unexpected(session.error());
  std::map<std::string, double> read_ms;
  for (std::size_t operand = 0; operand < operands.size(); ++operand) {
    const std::string& name = (*names)[operand];
    const auto reading = Clock::now();
    const auto format = evaluate.formats.find(name);
    auto tensor = load_operand(operands[operand].spec,
                               format == evaluate.formats.end() ? std::nullopt : std::optional<Format>(format->second),
                               *resources, name);
    if (!tensor) return std::unexpected(tensor.error());
    read_ms[name] = milliseconds_since(reading);
    session->set(name, std::move(*tensor));
  }
  if (resources->progress) clear_progress();

  const auto evaluation = session->evaluate(options.arguments.front(), *names, evaluate);
  if (!evaluation) return std::unexpected(evaluation.error());
  for (const std::string& name : evaluation->report.not_computed) {
    if (!options.quiet)
      write_note(fmt::format("note: {0} is not computed: nothing reads it, and neither --out nor --format names it\n", name));
  }
  for (const auto& [stage, path] : *wanted) {
    if (auto written = write_text(path, evaluation->report.stages.at(stage)); !written) return written;
  }
  for (const auto& [name, path] : *outputs) {
    if (!run) continue;
    if (auto written = write_tensor(evaluation->results.at(name), path, *resources, name); !written) return written;
  }
  if (resources->progress) clear_progress();
  if (!options.page.empty()) {
    auto written = guarded({"writing ", options.page}, [&] { return write_text(options.page, page(evaluation->report, read_ms, run)); });
    if (!written) return written;
  }
  if (options.json) {
    return guarded({"writing the report"}, [&] { return write_text(*options.json, report_json(evaluation->report, read_ms, run)); });
  }
  if (options.quiet || replaced) return {};
  const double total = milliseconds_since(start);
  return guarded({"writing the summary"}, [&] { return write_text("", summary(*evaluation, read_ms, total)); });
}

}  // namespace weft
