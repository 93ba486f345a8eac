#include "frontend/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>

#include "engine/codegen/codegen.h"
#include "frontend/command_line.h"
#include "frontend/operand.h"
#include "frontend/option_words.h"
#include "frontend/report_json.h"
#include "frontend/terminal.h"
#include "runtime/guarded.h"
#include "weft/layout.h"

namespace weft {
namespace {

constexpr const char* operand_help = R"(
An OPERAND is NAME=SPEC, or just SPEC in order with einsum. A SPEC is
  a file          T=flights.tns.zst, or T=x.tns:100x200x300 with an explicit shape; .tns .mtx .npy .npz, each also .gz
                  .zst; M=x.npz:NAME is a member; where the name says no format the content does, or M=mtx:PATH
  standard input  T=-, once, or T=mtx:-; pipes are read as files are: T=<(zstdcat x.tns.zst)
  generated       B=uniform(2000x32,seed=1)   ones(2000x32)   sparse(2000x300x50,nnz=10000,seed=1)
  a scalar        s=2.5
Expressions: 'A(i,r) = T(i,j,k) * B(j,r) * C(k,r)' or einsum 'ijk,jr,kr->ir', with names 'A = ijk,jr,kr->ir T B C';
parentheses pin the contraction tree. Several assignments are separated by ';' or new lines, as in
'S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)'. The last, and those that --out or --format names, are
results; the others are intermediates that may be fused away, and are not computed where nothing reads them.
)";

std::string layout_help() {
  return fmt::format(R"(A LAYOUT is (MODES) -> (VALUE:KIND, ...). A VALUE is a sum of modes with factors, /n (floor division) and %n (its
remainder); a name that is no mode, the start of a block, which a level below subtracts; or *, a slot. A KIND is
d dense, s compressed, u repeating, q singleton, h hashed, b bitmap, v as long as its fiber; d(LO..HI) and d(n) are
ranges of values, s<8> has coordinates of 8 bits, s desc and s unordered say in which order these stand.
Names: {}.
)",
                     fmt::join(layout_names(), " "));
}

constexpr const char* statuses =
    "Exit status: 0 success, 2 wrong input, 3 not supported, 4 internal error, 5 limit reached, 130 interrupted.";

/// Lines that run as they stand, in order, anywhere.
constexpr std::pair<std::string_view, const char*> examples[] = {
    {"weft", R"(
weft 'ij,j->i' 'sparse(1000x1000,nnz=5000,seed=1)' 'ones(1000)'
weft run 'A(i,r) = T(i,j,k) * B(j,r) * C(k,r)' 'T=sparse(2000x300x50,nnz=100000)' 'B=uniform(300x16)' 'C=uniform(50x16)')"},
    {"run", R"(
weft run 'A(i,r) = T(i,j,k) * B(j,r) * C(k,r)' 'T=sparse(2000x300x50,nnz=100000)' 'B=uniform(300x16)' 'C=uniform(50x16)'
weft 'ij,jk->ik' 'sparse(500x400,nnz=3000,seed=1)' 'sparse(400x300,nnz=3000,seed=2)' --format out:ds -o product.mtx)"},
    {"plan", R"(
weft plan 'A(i,r) = T(i,j,k) * B(j,r) * C(k,r)' 'T=sparse(2000x300x50,nnz=100000)' 'B=uniform(300x16)' 'C=uniform(50x16)'
weft plan 'ij,jk->ik' 'sparse(500x400,nnz=3000,seed=1)' 'uniform(400x32)' --emit loops)"},
    {"compare", R"(
weft plan 'ij,jk,k->i' 'sparse(900x900,nnz=9000)' 'uniform(900x32)' 'ones(32)' --emit schedule=a.schedule --tree '(T0 * T1) * T2' --quiet
weft compare a.schedule a.schedule 'ij,jk,k->i' 'sparse(900x900,nnz=9000)' 'uniform(900x32)' 'ones(32)')"},
    {"repl", R"(
weft repl
weft repl --threads 1)"},
    {"info", R"(
weft info 'sparse(1000x1000,nnz=5000,seed=1)'
weft info 'uniform(20x30)' --json)"},
    {"convert", R"(
weft convert 'sparse(100x80,nnz=500,seed=1)' x.mtx
weft convert x.mtx x.tns.zst)"},
    {"layout", R"(
weft layout 'bcsr(4,4)' --shape 100x200
weft layout '(i,j) -> (i:d, j-i:d(-1..2))' --shape 100x100 --json)"},
    {"cache", R"(
weft cache status
weft cache path)"},
    {"calibrate", R"(
weft calibrate --output machine.calibration
weft calibrate --output machine.calibration --quiet)"},
};

std::string footer_of(std::string_view command, const std::string& text = "") {
  const auto found = std::ranges::find(examples, command, &std::pair<std::string_view, const char*>::first);
  return fmt::format("{}{}Examples:{}", text, text.empty() ? "" : "\n", found->second);
}

constexpr std::size_t names_width = 28;   // of the column of options
constexpr std::size_t widest_help = 100;  // where no terminal is narrower

/// The lines of a text that stands behind a column of names.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string lines;
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos) end = text.find(' ', width);
    if (end == std::string_view::npos) break;
    lines += std::string(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text);
}

/// How a command is called, "weft run EXPR OPERAND... [options]", and its options in lines that fit the terminal.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) { column_width(names_width); }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(Formatter::make_option_desc(option), text_width_);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream text;
    CLI::detail::format_help(text, command->get_name(), wrapped(command->get_description(), text_width_), names_width);
    return text.str();
  }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }
  std::string make_positionals(const CLI::App*) const override { return ""; }

 private:
  std::string usage_;
  std::size_t text_width_ =
      std::clamp<std::size_t>(terminal_columns(STDOUT_FILENO), 2 * names_width, widest_help) - names_width;
};

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& what, const std::string& usage) {
  CLI::App* command = app.add_subcommand(name, what);
  command->formatter(std::make_shared<Help>(fmt::format("weft {} {}", name, usage)));
  return *command;
}

/// Without the blank that tells CLI11 that a word with a dash is no option.
std::string shown_word(const std::string& text) { return text.starts_with(" -") ? text.substr(1) : text; }

/// An option that is given has a value: an empty one is a script's mistake, not the default.
std::string not_empty(const std::string& text) { return text.empty() ? "the value is empty" : ""; }

std::string positive(const std::string& text) {
  double value = 0;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  const bool is_positive = is_number && std::isfinite(value) && value > 0;
  return is_positive ? "" : fmt::format("'{}' is not a number above 0", shown_word(text));
}

/// Of --quiet and --verbose the last one counts. What compiles nothing takes --verbose too; its help leaves it out.
void add_loudness(CLI::App& app, CommandOptions& options, const std::string& quiet, bool compiles = true) {
  app.add_flag_callback("-q,--quiet", [&options] { options.quiet = true, options.verbose = false; }, quiet)->trigger_on_parse();
  CLI::Option* const verbose = app.add_flag_callback(
      "-v,--verbose", [&options] { options.verbose = true, options.quiet = false; },
      "one line per plan, compile, load and run");
  verbose->trigger_on_parse();
  if (!compiles) verbose->group("");
}

void add_json(CLI::App& app, CommandOptions& options) {
  app.add_option("--json", options.json_text, "machine-readable report instead of the summary; --json=PATH writes a file")
      ->type_name("[=PATH]");
}

/// The type of an option's value in help; the range that is checked is told where it is wrong.
CLI::Option* counts(CLI::Option* option, unsigned most) {
  const auto wrong = [most](const std::string& text) {
    unsigned value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value) && value >= 1 && value <= most;
    return is_number ? "" : fmt::format("'{}' is not a whole number from 1 to {}", shown_word(text), most);
  };
  return option->check(wrong)->type_name("N");
}

void add_resource_options(CLI::App& app, CommandOptions& options) {
  counts(app.add_option("-t,--threads", options.threads, "number of threads (default: all cores)"), 4096);
  app.add_option("--memory-limit", options.memory_limit, "over everything allocated, for example 4G")
      ->check(not_empty)
      ->type_name("SIZE");
}

void add_cache_options(CLI::App& app, CommandOptions& options) {
  app.add_flag("--no-cache", options.no_cache, "plan and compile anew and store nothing");
  app.add_option("--cache-dir", options.cache_directory,
                 "of plans and kernels (default: WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft, ~/.cache/weft)")
      ->check(not_empty)
      ->type_name("DIR");
}

/// What changes the code of a kernel.
void add_kernel_options(CLI::App& app, CommandOptions& options) {
  app.add_option("--specialize", options.specialize,
                 "kernels for formats alone (generic), also sizes (profiled, default), also small patterns (baked), or auto by --calls")
      ->check(not_empty)
      ->type_name("GRADE");
  app.add_flag("--deterministic", options.deterministic, "bit-identical results for every number of threads");
  app.add_flag("--strict-fp", options.strict_fp, "the nest as printed: no FMA, every sum in loop order");
  app.add_flag("--checked", options.checked, "kernels check every access (slow)");
}

CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& what) {
  return app.add_option(name, values, what)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

/// What concerns every evaluation of a session.
void add_session_options(CLI::App& app, CommandOptions& options) {
  app.add_option("--calls", options.calls, "how often this is expected to run; amortises layout conversions")
      ->check(positive)
      ->type_name("N");
  add_cache_options(app, options);
  app.add_option("--dump", options.dump_directory, "directory for the loops, LLVM IR and assembly of every kernel (default: WEFT_DUMP)")
      ->check(not_empty)
      ->type_name("DIR");
  add_kernel_options(app, options);
  app.add_flag("--paranoid", options.paranoid, "plan and compile what the disk cache holds all the same, and compare");
}

void add_prompt(CLI::App& app, CommandOptions& options) {
  app.add_option("SCRIPT", options.arguments, "a file of statements; without it, or with -, standard input")
      ->type_name("");
  add_list(app, "--format", options.formats, "NAME:KINDS[:ORDER][:SCALAR] or NAME:LAYOUT[:SCALAR], as :format takes it")->type_name("SPEC");
  counts(app.add_option("--repeat", options.repeat, "runs of :time"), 1'000'000'000U);
  add_session_options(app, options);
  add_resource_options(app, options);
  add_loudness(app, options, "print only what is asked for, no progress");
  app.footer(footer_of("repl", "SCRIPT is a file of statements; without it, or with -, standard input is read. At the prompt :help tells "
                               "what can be said.\nA script or pipe ends at its first error, with its exit status.\n"));
}

void add_formats(CLI::App& app, CommandOptions& options) {
  add_list(app, "--format", options.formats,
           "NAME:KINDS[:ORDER][:SCALAR] or NAME:LAYOUT[:SCALAR], as weft layout explains it: of an operand or a result; "
           "NAME:like(OPERAND): a result at the positions of an operand")
      ->type_name("SPEC");
}

/// weft run and weft plan, which take the same options, so that one line serves both; a plan, which writes no result, does not
/// list --out.
void add_evaluation(CLI::App& app, CommandOptions& options, bool run) {
  app.add_option("ARGUMENTS", options.arguments, "EXPR OPERAND...")->type_name("");
  add_formats(app, options);
  CLI::Option* out = add_list(app, "-o,--out", options.outputs,
                              "NAME=PATH: write a result, or PATH if there is one (.tns .mtx .npy .npz; - is standard output)")
                         ->type_name("[NAME=]PATH");
  if (!run) out->group("");
  counts(app.add_option("--repeat", options.repeat, run ? "run N times after one warm-up" : "the usual --calls; nothing is run"),
         1'000'000'000U);
  app.add_option("--tree", options.tree, "contraction tree, for example '((T * C) * B)'; of several assignments '...; ...'")
      ->check(not_empty)
      ->type_name("TEXT");
  app.add_option("--schedule", options.schedule_file, "file with a schedule, as --emit schedule prints it")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--objective", options.objective,
                 "time (default) or workspace-order: fewest dimensions of the largest workspace, of the tree of least work or --tree")
      ->check(not_empty)
      ->type_name("NAME");
  app.add_flag("--prove", options.prove, "search until no cheaper plan can exist, with Z3 as judge; optimal: tree or all");
  app.add_flag("--unfused", options.unfused, "the best plan that stores every intermediate, for comparison");
  add_session_options(app, options);
  add_list(app, "--emit", options.stages, "STAGE[=PATH]: network, tree, schedule, loops, proofs, signature, llvm, asm, object")
      ->type_name("STAGE");
  app.add_option("--html", options.page, "write one self-contained page that shows the plan, and after a run what was measured")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_flag("--count", options.count,
               run ? "count the iterations of every loop in a run of its own (--html does too)" : "of a run alone: a plan counts nothing");
  app.add_flag("--explain", options.explain,
               run ? "after the results the plan: loops with their costs, layouts, memory, why"
                   : "what is printed anyway; into --json also what the loops rest on");
  add_resource_options(app, options);
  add_json(app, options);
  add_loudness(app, options, run ? "print a scalar's number alone, else nothing; no progress" : "print nothing, no progress");
  app.footer(footer_of(run ? "run" : "plan", operand_help));
}

void add_comparison(CLI::App& app, CommandOptions& options) {
  app.add_option("ARGUMENTS", options.arguments, "SCHEDULE SCHEDULE EXPR OPERAND...")->type_name("");
  add_formats(app, options);
  counts(app.add_option("--repeat", options.repeat,
                        "pairs of runs after one warm-up of both (default: as many as take a second, 10 at least)"),
         1'000'000'000U);
  add_cache_options(app, options);
  add_kernel_options(app, options);
  add_resource_options(app, options);
  add_json(app, options);
  add_loudness(app, options, "print the ratio alone, no progress");
  app.footer(footer_of("compare", "A SCHEDULE is a file as weft plan --emit schedule=FILE writes it. Both run in turns, each first in "
                                  "every second pair; the ratio is that\nof the second's time to the first's.\n"));
}

/// "->" begins an expression, "-2" and "-inf" are values and "-:3x4" standard input, whatever CLI11 takes them for.
bool is_mistaken_for_option(std::string_view argument) {
  if (argument.size() < 2 || argument[0] != '-') return false;
  std::string word(argument.substr(1));
  std::ranges::transform(word, word.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const bool is_number = word == "inf" || word == "infinity" || word == "nan" || (word[0] >= '0' && word[0] <= '9');
  return is_number || word[0] == '>' || word[0] == '.' || word[0] == ':';
}

/// A bare --json must not take the next argument as its path: only --json=PATH names one. A blank before what is no
/// option tells CLI11 so; expressions and values may have it. Last word first, as CLI11 wants them.
std::vector<std::string> explicit_arguments(std::vector<std::string> words) {
  const auto literal = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (word < literal && *word == "--json") *word = "--json=-";
    for (const auto& [letter, name] : {std::pair("-o=", "--out"), std::pair("-t=", "--threads")}) {
      if (word < literal && word->starts_with(letter)) *word = name + word->substr(2);
    }
    if ((word > literal && word->starts_with('-')) || is_mistaken_for_option(*word)) word->insert(0, 1, ' ');
  }
  // CLI11 would end the command there, which has all the words that it must have.
  if (literal != words.end()) words.erase(literal);
  std::ranges::reverse(words);
  return words;
}

/// The home directory for the '~' of all files and directories that are named as such; operands and results see to theirs.
void name_home(CommandOptions& options) {
  for (std::string* path :
       {&options.schedule_file, &options.cache_directory, &options.output, &options.page, &options.dump_directory}) {
    *path = at_home(*path);
  }
  for (std::string& stage : options.stages) {
    const std::size_t path = stage.find('=') + 1;
    if (path != 0) stage = stage.substr(0, path) + at_home(stage.substr(path));
  }
  const std::size_t files = options.subcommand == "compare" || options.subcommand == "convert" ? 2 : options.subcommand == "repl" ? 1 : 0;
  for (std::string& file : std::span(options.arguments).first(std::min(files, options.arguments.size()))) file = at_home(file);
}

/// Known before anything else, so that an error in another option is reported as JSON too.
std::optional<std::string> requested_json(int argc, const char* const* argv) {
  std::optional<std::string> path;
  for (int argument = 1; argument < argc; ++argument) {
    const std::string_view text = argv[argument];
    if (text == "--") break;
    if (text == "--json") path = "";
    if (text.starts_with("--json=")) path = text.substr(7) == "-" ? "" : at_home(std::string(text.substr(7)));
  }
  return path;
}

/// The options of a command, with their dashes.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string defect_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  if (const auto rest = app.remaining(true); dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !rest.empty()) {
    if (rest.front().starts_with('-')) return unknown_option(rest.front(), command.get_name(), options_of(command));
    return fmt::format("{} is one argument too many; weft {} --help tells what it takes", rest.front(), command.get_name());
  }
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (const CLI::Option* const wants = command.get_option_no_throw(option);
      wants != nullptr && dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::size_t given = wants->count();
    if (given > 1) return fmt::format("{} is given {}", option, given == 2 ? "twice" : fmt::format("{} times", given));
    return fmt::format("{0} wants a value: {0} {1}", option, wants->get_type_name());
  }
  return fmt::format("{}\nweft {} --help tells what it takes", text, command.get_name());
}

/// CLI11 wants to report by itself; what it says becomes an error like every other.
Expected<std::optional<int>> parse(CLI::App& app, std::vector<std::string> words) {
  const auto is_called = [&](const CLI::App* one) { return !words.empty() && one->get_name() == words.front(); };
  for (const CLI::App* command : app.get_subcommands(is_called)) {
    const auto defect = long_option_with_one_dash(words, command->get_name(), options_of(*command));
    if (defect) return input_error(*defect);
  }
  try {
    app.parse(explicit_arguments(std::move(words)));
  } catch (const CLI::Success& done) {
    std::ostringstream text;
    const int status = app.exit(done, text, text);
    if (auto written = write_text("", text.str()); !written) return std::unexpected(written.error());
    return std::optional<int>(status);
  } catch (const CLI::ParseError& error) {
    return input_error(defect_of(app, error));
  }
  return std::optional<int>();
}

/// What a launcher of MPI tells its processes: how many there are.
unsigned ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const text = std::getenv(name);
    unsigned number = 0;
    if (text != nullptr && std::from_chars(text, text + std::strlen(text), number).ec == std::errc() && number > 1) return number;
  }
  return 1;
}

/// Every rank would do the same work and write the same files.
Expected<void> one_rank(const std::string& command) {
  if (ranks() == 1 || (command != "run" && command != "compare" && command != "repl")) return {};
  return unsupported(fmt::format("weft {} is one of {} MPI ranks: several ranks are not supported yet; start one, with --threads",
                                 command, ranks()));
}

void report_error(const Error& reason, const CommandOptions& options) {
  clear_progress();
  const Error error = in_words_of_the_command(reason);
  write_note(fmt::format("error: {}\n", error.message));
  if (options.json) {
    // Where the report cannot go, standard error has said the first error already.
    if (const auto written = write_text(*options.json, error_json(error)); !written && written.error().message != error.message) {
      write_note(fmt::format("error: {}\n", written.error().message));
    }
  }
}

/// What a command wants, and how many words that is at least and at most.
Expected<void> enough_arguments(const CommandOptions& options) {
  struct Wanted {
    std::string_view command, what, usage;
    std::size_t least, most;
  };
  static constexpr Wanted all[] = {
      {"run", "an expression and its operands", "EXPR OPERAND...", 1, ~std::size_t{0}},
      {"plan", "an expression and its operands", "EXPR OPERAND...", 1, ~std::size_t{0}},
      {"compare", "two schedules, an expression and its operands", "SCHEDULE SCHEDULE EXPR OPERAND...", 3,
       ~std::size_t{0}},
      {"repl", "one script at most", "[SCRIPT]", 0, 1},
      {"info", "one file", "FILE", 1, 1},
      {"convert", "two files", "IN OUT", 2, 2},
      {"layout", "one layout", "LAYOUT --shape SHAPE", 1, 1},
      {"cache", "one of status, clear and path", "status", 1, 1},
  };
  const auto wanted = std::ranges::find(all, options.subcommand, &Wanted::command);
  const std::size_t given = options.arguments.size();
  if (wanted == std::end(all) || (given >= wanted->least && given <= wanted->most)) return {};
  return input_error(fmt::format("weft {} wants {}: weft {} {}; {} given", wanted->command, wanted->what, wanted->command, wanted->usage,
                                 given == 0 ? "nothing is" : given == 1 ? "one word is" : fmt::format("{} words are", given)));
}

Expected<void> dispatch(const CommandOptions& options) {
  if (options.subcommand == "run") return run_or_plan(options, true);
  if (options.subcommand == "plan") return run_or_plan(options, false);
  if (options.subcommand == "compare") return compare(options);
  if (options.subcommand == "info") return info(options);
  if (options.subcommand == "convert") return convert_file(options);
  if (options.subcommand == "layout") return describe_layout(options);
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

static Expected<int> executed(int argc, const char* const* argv, const ReplCommandLine& repl, CommandOptions& options) {
  options.json = requested_json(argc, argv);
  auto words = command_words({argv + std::min(argc, 1), argv + argc});
  if (!words) return std::unexpected(words.error());
  options.given = *words;
  CLI::App app("weft evaluates sums of products of sparse and dense tensors by fused, compiled loops.", "weft");
  app.formatter(std::make_shared<Help>("weft COMMAND ... [options]\n       weft EXPR OPERAND... [options]     the same as weft run"));
  app.set_version_flag("-V,--version", fmt::format("weft {} ({})", WEFT_VERSION, code_generator_version()), "the version, and exit");
  app.set_help_flag("-h,--help", "this text, or the help of a command (as weft help COMMAND)");
  app.require_subcommand(0, 1);
  app.footer(footer_of("weft", fmt::format("\n{}\n", statuses)));
  const std::string evaluation = "EXPR OPERAND... [options]";
  add_evaluation(add_command(app, "run", "evaluate an expression; print and write its results", evaluation), options, true);
  add_evaluation(add_command(app, "plan", "the plan of an expression and what it will cost, without running it", evaluation),
                 options, false);
  add_comparison(add_command(app, "compare", "run two schedules in turns and print the ratio of their times",
                             "SCHEDULE SCHEDULE EXPR OPERAND... [options]"),
                 options);
  add_prompt(add_command(app, "repl", "evaluate at a prompt, or what a script or standard input says", "[SCRIPT] [options]"), options);
  CLI::App& describe = add_command(app, "info", "shape, nonzeros, density and fiber statistics of a tensor", "FILE [options]");
  describe.add_option("FILE", options.arguments, "a file, FILE:SHAPE, or a generated tensor");
  CLI::App& between = add_command(app, "convert", "convert a tensor between file formats", "IN OUT [options]");
  between.add_option("FILES", options.arguments, "IN OUT");
  for (CLI::App* each : {&describe, &between}) {
    each->add_option("--format", options.format,
                     "what the tensor is stored in meanwhile: KINDS[:ORDER][:SCALAR] or a layout, as weft layout explains it")
        ->check(not_empty)
        ->type_name("FORMAT");
    add_resource_options(*each, options);
    add_json(*each, options);
    add_loudness(*each, options, "print nothing, no progress", false);
    each->footer(footer_of(each->get_name()));
  }
  CLI::App& layout = add_command(app, "layout", "what a layout means: its levels, their arrays, which coordinates have a place",
                                 "LAYOUT --shape SHAPE [options]");
  layout.add_option("LAYOUT", options.arguments, "(i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d), or a name such as bcsr(4,4)");
  layout.add_option("--shape", options.shape, "the extents of the modes, for example 100x200")->check(not_empty)->type_name("SHAPE");
  layout.add_flag("--no-cache", options.no_cache, "prove anew and store nothing");
  layout.add_option("--cache-dir", options.cache_directory, "directory of verdicts, plans and kernels; also WEFT_CACHE_DIR")
      ->check(not_empty)
      ->type_name("DIR");
  add_json(layout, options);
  add_loudness(layout, options, "print nothing", false);
  layout.footer(footer_of("layout", layout_help()));
  CLI::App& stored =
      add_command(app, "cache", "the plans, kernels and proofs stored on disk: status, clear or path", "status|clear|path [options]");
  stored.add_option("ACTION", options.arguments, "status, clear or path");
  stored.add_option("--cache-dir", options.cache_directory, "directory of the cache")->check(not_empty)->type_name("DIR");
  add_json(stored, options);
  add_loudness(stored, options, "print nothing but the path", false);
  stored.footer(footer_of("cache"));
  CLI::App& measure =
      add_command(app, "calibrate", "measure the constants of the cost model on this machine, in a second or two", "[options]");
  measure.add_option("-o,--output", options.output,
                     "file to write (default: WEFT_CALIBRATION, $XDG_CONFIG_HOME/weft/calibration, ~/.config/weft/calibration)")
      ->check(not_empty)
      ->type_name("FILE");
  add_loudness(measure, options, "print nothing, no progress", false);
  measure.footer(footer_of("calibrate"));

  const auto parsed = parse(app, std::move(*words));
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (app.get_subcommands().empty()) {
    write_note(app.help());
    return exit_status(ErrorKind::input);
  }
  options.subcommand = app.get_subcommands().front()->get_name();
  for (std::vector<std::string>* words_of : {&options.arguments, &options.formats, &options.outputs, &options.stages}) {
    for (std::string& word : *words_of) word = shown_word(word);
  }
  for (std::string* word :
       {&options.tree, &options.schedule_file, &options.objective, &options.memory_limit, &options.cache_directory,
        &options.output, &options.page, &options.dump_directory, &options.specialize, &options.shape, &options.format}) {
    *word = shown_word(*word);
  }
  name_home(options);
  if (auto enough = enough_arguments(options); !enough) return std::unexpected(enough.error());
  if (auto alone = one_rank(options.subcommand); !alone) return std::unexpected(alone.error());
  if (options.subcommand == "repl") return repl(options);
  if (const auto done = dispatch(options); !done) return std::unexpected(done.error());
  return 0;
}

int command(int argc, const char* const* argv, const ReplCommandLine& repl) {
  CommandOptions options;
  const auto status = guarded({"running weft"}, [&] { return executed(argc, argv, repl, options); });
  if (status) return *status;
  // Telling needs memory as well.
  if (!had_memory_for([&] { report_error(status.error(), options); })) std::fputs("error: out of memory\n", stderr);
  return exit_status(status.error().kind);
}

}  // namespace weft
