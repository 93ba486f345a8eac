#include "frontend/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/codegen/codegen.h"
#include "frontend/report_json.h"
#include "frontend/terminal.h"
#include "runtime/guarded.h"

namespace weft {
namespace {

constexpr const char* operand_help = R"(
An OPERAND is NAME=SPEC, or just SPEC in order with einsum. A SPEC is
  a file          T=flights.tns.zst, T=x.tns:100x200x300 with an explicit shape (.tns .mtx .npy; text also .gz .zst)
  generated       B=uniform(2000x32,seed=1)   ones(2000x32)   sparse(2000x300x50,nnz=10000,seed=1)
  a scalar        s=2.5
Expressions: 'A(i,r) = T(i,j,k) * B(j,r) * C(k,r)' or einsum 'ijk,jr,kr->ir'; parentheses pin the contraction tree.
Several assignments are separated by ';' or new lines: 'S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)'. The
last, and those that --out or --format names, are results; the others are intermediates that may be fused away, and are
not computed where nothing reads them.
Exit status: 0 success, 2 wrong input, 3 not supported, 4 internal error, 5 limit reached, 130 interrupted.)";

/// An option that is given has a value: an empty one is a script's mistake, not the default.
std::string not_empty(const std::string& text) { return text.empty() ? "the value is empty" : ""; }

std::string positive(const std::string& text) {
  double value = 0;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  return is_number && std::isfinite(value) && value > 0 ? "" : fmt::format("'{}' is not a number above 0", text);
}

void add_output_options(CLI::App& app, CommandOptions& options) {
  app.add_option("--json", options.json_text, "machine-readable report instead of the summary; --json=PATH writes a file")
      ->type_name("[=PATH]");
  app.add_flag("--quiet", options.quiet, "no summary, no progress");
  app.add_flag("--verbose", options.verbose, "one line per plan, compile, load and run");
}

void add_resource_options(CLI::App& app, CommandOptions& options) {
  app.add_option("--threads", options.threads, "number of threads (default: all cores)")
      ->check(CLI::Range(1U, 4096U))
      ->type_name("N");
  app.add_option("--memory-limit", options.memory_limit, "over everything allocated, for example 4G")
      ->check(not_empty)
      ->type_name("SIZE");
}

/// What concerns every evaluation of a session.
void add_session_options(CLI::App& app, CommandOptions& options) {
  app.add_option("--calls", options.calls, "how often this is expected to run; amortises layout conversions")
      ->check(positive)
      ->type_name("N");
  app.add_flag("--no-cache", options.no_cache, "plan and compile anew and store nothing");
  app.add_option("--cache-dir", options.cache_directory, "of plans and kernels (default: WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft, ~/.cache/weft)")
      ->check(not_empty);
  app.add_option("--dump", options.dump_directory, "directory for the loops, LLVM IR and assembly of every kernel (default: WEFT_DUMP)")
      ->check(not_empty)
      ->type_name("DIR");
  app.add_option("--specialize", options.specialize, "kernels for formats alone (generic), also sizes (profiled, default), also small patterns (baked), or auto by --calls")
      ->check(not_empty)
      ->type_name("GRADE");
  app.add_flag("--paranoid", options.paranoid, "plan and compile what the disk cache holds all the same, and compare");
  app.add_flag("--deterministic", options.deterministic, "bit-identical results for every number of threads");
  app.add_flag("--strict-fp", options.strict_fp, "the nest as printed: no FMA, every sum in loop order");
  app.add_flag("--checked", options.checked, "kernels check every access (slow)");
}

void add_prompt(CLI::App& app, CommandOptions& options) {
  app.add_option("SCRIPT", options.arguments, "a file of statements; without it, or with -, standard input")->expected(0, 1)->type_name("");
  app.add_option("--format", options.formats, "NAME:KINDS[:ORDER][:SCALAR], as :format takes it")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--repeat", options.repeat, "runs of :time")->check(CLI::Range(1U, 1'000'000'000U))->type_name("N");
  add_session_options(app, options);
  add_resource_options(app, options);
  app.add_flag("--quiet", options.quiet, "print only what is asked for, no progress");
  app.add_flag("--verbose", options.verbose, "one line per plan, compile, load and run");
  app.footer("At the prompt :help tells what can be said. A script or pipe ends at its first error, with its exit status.");
}

void add_evaluation(CLI::App& app, CommandOptions& options) {
  app.add_option("ARGUMENTS", options.arguments, "EXPR OPERAND...")->required()->type_name("");
  app.add_option("--format", options.formats, "NAME:KINDS[:ORDER][:SCALAR]: layout of an operand, format of a result; NAME:like(OPERAND): a result at the positions of an operand")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--out", options.outputs, "NAME=PATH: write a result (.tns .mtx .npy)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--repeat", options.repeat, "run N times after one warm-up")->check(CLI::Range(1U, 1'000'000'000U))->type_name("N");
  app.add_option("--tree", options.tree, "contraction tree, for example '((T * C) * B)'; of several assignments '...; ...'")->check(not_empty);
  app.add_option("--schedule", options.schedule_file, "file with a schedule, as --emit schedule prints it")->check(not_empty);
  app.add_option("--objective", options.objective, "time (default) or workspace-order: fewest dimensions of the largest workspace, of the tree of least work or --tree")
      ->check(not_empty)
      ->type_name("NAME");
  add_session_options(app, options);
  app.add_option("--emit", options.stages, "STAGE[=PATH]: network, tree, schedule, loops, signature, llvm, asm, object")
      ->type_name("STAGE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--html", options.page, "write one self-contained page that shows the plan, and after a run what was measured")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_flag("--count", options.count, "count the iterations of every loop in a run of its own (--html does too)");
  app.add_flag("--prove", options.prove, "search until no cheaper plan can exist, with Z3 as judge; optimal: tree or all");
  app.add_flag("--unfused", options.unfused, "the best plan that stores every intermediate, for comparison");
  add_resource_options(app, options);
  add_output_options(app, options);
  app.footer(operand_help);
}

/// "->" begins an expression and "-2" a value, whatever CLI11 takes them for.
bool is_mistaken_for_option(std::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' &&
         (argument[1] == '>' || argument[1] == '.' || (argument[1] >= '0' && argument[1] <= '9'));
}

/// A bare --json must not take the next argument as its path: only --json=PATH names one. A blank before what is no
/// option tells CLI11 so; expressions and values may have it.
std::vector<std::string> explicit_arguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  bool literal = false;
  for (int argument = argc - 1; argument > 0; --argument) {
    arguments.emplace_back(argv[argument]);
  }
  for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
    literal = literal || *argument == "--";
    if (!literal && *argument == "--json") *argument = "--json=-";
    if (is_mistaken_for_option(*argument)) argument->insert(0, 1, ' ');
  }
  return arguments;
}

/// Known before anything else, so that an error in another option is reported as JSON too.
std::optional<std::string> requested_json(int argc, const char* const* argv) {
  std::optional<std::string> path;
  for (int argument = 1; argument < argc; ++argument) {
    const std::string_view text = argv[argument];
    if (text == "--") break;
    if (text == "--json") path = "";
    if (text.starts_with("--json=")) path = text.substr(7) == "-" ? "" : text.substr(7);
  }
  return path;
}

/// CLI11 wants to report by itself; what it says becomes an error like every other.
Expected<std::optional<int>> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(explicit_arguments(argc, argv));
  } catch (const CLI::Success& done) {
    std::ostringstream text;
    const int status = app.exit(done, text, text);
    if (auto written = write_text("", text.str()); !written) return std::unexpected(written.error());
    return std::optional<int>(status);
  } catch (const CLI::ParseError& error) {
    return input_error(std::string(error.what()) + "\nRun with --help for more information.");
  }
  return std::optional<int>();
}

void report_error(const Error& error, const CommandOptions& options) {
  write_note(fmt::format("error: {}\n", error.message));
  if (options.json) {
    // Where the report cannot go, standard error has said the first error already.
    if (const auto written = write_text(*options.json, error_json(error)); !written && written.error().message != error.message) {
      write_note(fmt::format("error: {}\n", written.error().message));
    }
  }
}

Expected<void> dispatch(const CommandOptions& options) {
  if (options.subcommand == "run") return run_or_plan(options, true);
  if (options.subcommand == "plan") return run_or_plan(options, false);
  if (options.subcommand == "info") return info(options);
  if (options.subcommand == "convert") return convert_file(options);
  if (options.subcommand == "cache") return cache(options);
  if (options.subcommand == "calibrate") return calibrate(options);
  return internal_error(fmt::format("weft {} has no function", options.subcommand));
}

}  // namespace

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return 2;
    case ErrorKind::unsupported:
      return 3;
    case ErrorKind::resource:
      return 5;
    case ErrorKind::cancelled:
      return 130;
    case ErrorKind::internal:
      break;
  }
  return 4;
}

static Expected<int> executed(int argc, const char* const* argv, ReplCommandLine repl, CommandOptions& options) {
  options.json = requested_json(argc, argv);
  options.given.assign(argv + std::min(argc, 1), argv + argc);
  CLI::App app("weft evaluates sums of products of sparse and dense tensors by fused, compiled loops.", "weft");
  app.set_version_flag("--version", fmt::format("weft {} ({})", WEFT_VERSION, code_generator_version()));
  app.set_help_flag("-h,--help", "this text, or the help of a command");
  app.require_subcommand(0, 1);
  CLI::App* run = app.add_subcommand("run", "evaluate an expression; print a summary; write results");
  add_evaluation(*run, options);
  CLI::App* plan = app.add_subcommand("plan", "the plan of an expression and what it will cost, without running it");
  add_evaluation(*plan, options);
  CLI::App* prompt = app.add_subcommand("repl", "evaluate at a prompt, or what a script or standard input says");
  add_prompt(*prompt, options);
  CLI::App* describe = app.add_subcommand("info", "shape, nonzeros, density and fiber statistics of a tensor");
  describe->add_option("FILE", options.arguments, "a file, FILE:SHAPE, or a generated tensor")->required()->expected(1);
  add_resource_options(*describe, options);
  add_output_options(*describe, options);
  CLI::App* between = app.add_subcommand("convert", "convert a tensor between file formats");
  between->add_option("FILES", options.arguments, "IN OUT")->required()->expected(2);
  add_resource_options(*between, options);
  add_output_options(*between, options);
  CLI::App* stored = app.add_subcommand("cache", "the plans and kernels stored on disk: status, clear or path");
  stored->add_option("ACTION", options.arguments, "status, clear or path")->required()->expected(1);
  stored->add_option("--cache-dir", options.cache_directory, "directory of the cache")->check(not_empty);
  add_output_options(*stored, options);

  CLI::App* measure = app.add_subcommand("calibrate", "measure the constants of the cost model on this machine");
  measure->add_option("--output", options.output, "file to write (default: WEFT_CALIBRATION, $XDG_CONFIG_HOME/weft/calibration, ~/.config/weft/calibration)")
      ->check(not_empty)
      ->type_name("FILE");
  measure->add_flag("--quiet", options.quiet, "no summary, no progress");

  const auto parsed = parse(app, argc, argv);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (app.get_subcommands().empty()) {
    write_note(app.help());
    return exit_status(ErrorKind::input);
  }
  options.subcommand = app.get_subcommands().front()->get_name();
  for (std::string& argument : options.arguments) {
    if (argument.starts_with(' ') && is_mistaken_for_option(std::string_view(argument).substr(1))) argument.erase(0, 1);
  }
  if (options.quiet && options.verbose) {
    return input_error("--quiet and --verbose contradict each other");
  }
  if (options.subcommand == "repl") return repl(options);
  if (const auto done = dispatch(options); !done) return std::unexpected(done.error());
  return 0;
}

int command(int argc, const char* const* argv, ReplCommandLine repl) {
  CommandOptions options;
  const auto status = guarded({"running weft"}, [&] { return executed(argc, argv, repl, options); });
  if (status) return *status;
  // Telling needs memory as well.
  if (!had_memory_for([&] { report_error(status.error(), options); })) std::fputs("error: out of memory\n", stderr);
  return exit_status(status.error().kind);
}

}  // namespace weft
