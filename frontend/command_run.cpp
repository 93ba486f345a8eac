// weft run and weft plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/cache/cache_directory.h"
#include "engine/cache/disk_cache.h"
#include "engine/specialize.h"
#include "engine/stages.h"
#include "engine/trace.h"
#include "frontend/calibration.h"
#include "frontend/command.h"
#include "frontend/command_operands.h"
#include "frontend/file_text.h"
#include "frontend/interrupt.h"
#include "frontend/named_operands.h"
#include "frontend/nearest.h"
#include "frontend/operand.h"
#include "frontend/page.h"
#include "frontend/report_json.h"
#include "frontend/summary.h"
#include "frontend/terminal.h"
#include "runtime/elapsed.h"
#include "runtime/file_name.h"
#include "runtime/guarded.h"
#include "weft/session.h"

namespace weft {
namespace {

/// The name of the result that "--out PATH" means: the last, unless others are wanted too.
Expected<std::string> only_result(const std::string& path, const CommandOptions& options, const ParsedExpression& expression) {
  std::vector<std::string> wanted;
  for (const ParsedAssignment& assignment : expression.assignments) {
    const std::string& name = assignment.result.name;
    const auto is_named = [&](const std::string& text) { return text.starts_with(name + ":") || text.starts_with(name + "="); };
    const bool last = &assignment == &expression.assignments.back();
    if (last || std::ranges::any_of(options.formats, is_named) || std::ranges::any_of(options.outputs, is_named)) wanted.push_back(name);
  }
  if (wanted.size() == 1) return wanted.front();
  return input_error(fmt::format("--out {}: there are several results, {}: write --out {}={}", path, fmt::join(wanted, ", "),
                                 wanted.back(), path));
}

Expected<std::vector<Destination>> destinations(const CommandOptions& options, const ParsedExpression& expression) {
  std::vector<Destination> outputs;
  std::vector<std::string> results;
  for (const ParsedAssignment& assignment : expression.assignments) results.push_back(assignment.result.name);
  for (const std::string& text : options.outputs) {
    OperandText split = parse_operand(text);
    split.spec = at_home(split.spec);
    if (split.spec.empty()) return input_error(fmt::format("--out wants NAME=PATH, or PATH of the one result, not '{}'", text));
    if (split.name.empty()) {
      auto name = only_result(split.spec, options, expression);
      if (!name) return std::unexpected(name.error());
      split.name = std::move(*name);
    }
    if (std::ranges::find(results, split.name) == results.end()) {
      return input_error(fmt::format("--out names {}, which is no result of the expression; {} {}", split.name,
                                     results.size() == 1 ? "the result is" : "results are", fmt::join(results, ", ")));
    }
    if (auto known = writable_format(split.spec); !known) return std::unexpected(known.error());
    if (auto place = writable_place(split.spec); !place) return std::unexpected(place.error());
    outputs.emplace_back(std::move(split.name), std::move(split.spec));
  }
  const auto printed = std::ranges::count_if(outputs, [](const Destination& output) { return writes_standard_output(output.second); });
  if (printed > 1) return input_error("standard output is given for several results: it holds one");
  if (printed == 1 && options.json && options.json->empty())
    return input_error("--out - and --json both want standard output; give one a path");
  return outputs;
}

Expected<std::vector<Destination>> stages(const CommandOptions& options) {
  std::vector<Destination> wanted;
  for (const std::string& text : options.stages) {
    const std::size_t equals = text.find('=');
    Destination stage{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (!parse_stage(stage.first)) {
      return input_error(fmt::format("--emit knows no stage '{}'; stages are {}{}", stage.first, fmt::join(stage_words, ", "),
                                     did_you_mean(stage.first, {stage_words.begin(), stage_words.end()})));
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

/// Input error where two of the files that the options name are one.
Expected<void> written_once(const CommandOptions& options, const std::vector<Destination>& outputs,
                            const std::vector<Destination>& stages) {
  std::vector<Destination> files;
  for (const auto& [name, path] : outputs) files.emplace_back("result " + name, parse_file_name(path).path);
  for (const auto& [stage, path] : stages) {
    if (!path.empty()) files.emplace_back("--emit " + stage, path);
  }
  if (options.json && !options.json->empty()) files.emplace_back("--json", *options.json);
  if (!options.page.empty()) files.emplace_back("--html", options.page);
  return different_files(files);
}

/// Why a directory that was asked for holds no cache; empty if it can. Makes it, as the first store would.
std::string unusable(const std::string& directory) {
  if (const auto made = make_directories(directory); !made) return made.error().reason;
  const auto opened = CacheDirectory::open(directory);
  return opened ? std::string() : opened.error().reason;
}

/// The operand of "like(OPERAND)"; nothing if the text is no such thing.
std::optional<std::string> pattern_of(std::string_view text) {
  if (!text.starts_with("like(") || !text.ends_with(")")) return std::nullopt;
  return std::string(text.substr(5, text.size() - 6));
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
    // --verbose says so when the cache is used.
    if (session.use_cache && !options.quiet && !options.verbose) {
      if (const std::string why = unusable(options.cache_directory); !why.empty()) {
        write_note(fmt::format("note: the cache {} is not used: {}\n", options.cache_directory, why));
      }
    }
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
      if (options.given[word] != "--verbose" && options.given[word] != "-v") same += fmt::format(" {}", shell_word(options.given[word]));
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

Expected<std::string> schedule_text(const std::string& file) {
  auto text = file_text(file);
  if (text && text->find_first_not_of(" \t\r\n") == std::string::npos) {
    return input_error(fmt::format("{} holds no schedule; --emit schedule prints one", file));
  }
  return text;
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
  auto expression = command_expression(options.arguments);
  if (!expression) return std::unexpected(expression.error());
  const auto outputs = destinations(options, expression->parsed());
  if (!outputs) return std::unexpected(outputs.error());
  if (options.json && !options.json->empty()) {
    if (auto place = writable_place(*options.json); !place) return place;
  }
  if (!options.page.empty()) {
    if (auto place = writable_place(options.page); !place) return place;
  }
  const auto wanted = stages(options);
  if (!wanted) return std::unexpected(wanted.error());
  if (auto once = written_once(options, *outputs, *wanted); !once) return once;
  EvaluateOptions evaluate;
  for (const std::string& text : options.formats) {
    if (auto added = add_format(text, evaluate); !added) return added;
  }
  for (const auto& [name, path] : *outputs) evaluate.results.push_back(name);
  evaluate.tree = options.tree;
  if (!options.schedule_file.empty()) {
    auto text = schedule_text(options.schedule_file);
    if (!text) return std::unexpected(text.error());
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
  const bool elsewhere = run && std::ranges::any_of(*outputs, [](const auto& output) { return writes_standard_output(output.second); });
  if (replaced && elsewhere) return input_error("--emit and --out - both want standard output; give one a path");
  const auto grade = specialization(options);
  if (!grade) return std::unexpected(grade.error());
  evaluate.specialize = *grade;
  evaluate.unfused = options.unfused;
  evaluate.prove = options.prove;
  evaluate.objective = options.objective;
  evaluate.repeat = options.repeat;
  evaluate.choose_layouts = true;
  evaluate.calls = options.calls.value_or(std::max(1U, options.repeat));
  evaluate.run = run;
  const bool planned = options.json || (!options.quiet && !replaced);
  evaluate.why = !options.page.empty() || (planned && (!run || options.explain));
  evaluate.count = options.count || !options.page.empty();
  evaluate.compile = options.json.has_value();
  evaluate.proofs = options.json && options.explain;

  const auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  auto chosen = session_options(options, *resources);
  if (!chosen) return std::unexpected(chosen.error());
  auto session = Session::create(std::move(*chosen));
  if (!session) return std::unexpected(session.error());
  auto operands = load_operands(*expression, evaluate.formats, *resources);
  if (!operands) return std::unexpected(operands.error());
  for (auto& [name, tensor] : operands->tensors) session->set(name, std::move(tensor));
  if (resources->progress) clear_progress();

  for (const std::string& note : operands->notes) {
    if (!options.quiet) write_note(fmt::format("note: {}\n", note));
  }
  const auto evaluation = weft::evaluate(*session, expression->text, expression->names, evaluate);
  if (resources->progress) clear_progress();
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
    const Resources writing = writing_resources(*resources, path);
    if (auto written = write_tensor(evaluation->results.at(name), path, writing, name); !written) return written;
  }
  if (resources->progress) clear_progress();
  const auto& read_ms = operands->read_ms;
  if (!options.page.empty()) {
    auto written = guarded({"writing ", options.page}, [&] { return write_text(options.page, page(evaluation->report, read_ms, run)); });
    if (!written) return written;
  }
  if (options.json) {
    return guarded({"writing the report"}, [&] { return write_text(*options.json, report_json(evaluation->report, read_ms, run)); });
  }
  if (replaced) return {};
  return guarded({"writing the summary"}, [&]() -> Expected<void> {
    std::string text;
    if (options.quiet) {
      text = scalars_text(*evaluation);
    } else if (!run) {
      text = plan_text(evaluation->report);
    } else {
      text = results_text(*evaluation);
      if (options.explain) text += plan_text(evaluation->report);
      text += times_text(evaluation->report, read_ms);
    }
    if (!elsewhere) return write_text("", text);
    if (!options.quiet) write_note(text);
    return {};
  });
}

}  // namespace weft
