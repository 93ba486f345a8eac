// :save, :source, :history, :html, :output and :!.
#include <fmt/format.h>

#include <sys/wait.h>

#include <charconv>

#include "frontend/file_text.h"
#include "frontend/page.h"
#include "frontend/repl/commands.h"
#include "frontend/repl/file_argument.h"
#include "frontend/repl/script.h"
#include "frontend/terminal.h"

namespace weft {
namespace {

constexpr unsigned most_nested = 16;

Expected<std::string> only_path(const std::string& command, const std::string& argument) {
  auto [path, rest] = leading_file(argument);
  if (!path.empty() && rest.empty()) return std::move(path);
  return input_error(fmt::format(":{} wants one FILE, not '{}'; a name with blanks stands in quotes", command, argument));
}

}  // namespace

Expected<void> command_save(Repl& repl, const std::string& argument) {
  const auto path = only_path("save", argument);
  if (!path) return std::unexpected(path.error());
  std::string text;
  for (const std::string& statement : repl.said()) text += statement + '\n';
  return write_text(*path, text);
}

Expected<void> command_source(Repl& repl, const std::string& argument) {
  const auto path = only_path("source", argument);
  if (!path) return std::unexpected(path.error());
  if (repl.sourced() == most_nested) {
    return input_error(fmt::format(":source {}: {} scripts are already nested; does one source itself?", *path, most_nested));
  }
  auto text = file_text(*path);
  if (!text) return std::unexpected(text.error());
  repl.begin_source();
  const ScriptEnd end = run_lines(
      lines_of(std::move(*text)), [&](const std::string& one) { return repl.execute(one); }, [&] { return repl.finished(); });
  repl.end_source();
  if (end.done) return {};
  return fail(end.done.error().kind, fmt::format("{}:{}: {}", *path, end.line, end.done.error().message));
}

Expected<void> command_history(Repl& repl, const std::string& argument) {
  if (!repl.place().history) return unsupported("lines are remembered only where they are typed, at a terminal");
  const std::vector<std::string> entries = repl.place().history();
  std::size_t count = entries.size();
  if (!argument.empty()) {
    const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), count);
    if (error != std::errc() || end != argument.data() + argument.size()) {
      return input_error(fmt::format(":history wants a number of lines, not '{}'", argument));
    }
  }
  std::string text;
  for (std::size_t at = entries.size() - std::min(count, entries.size()); at < entries.size(); ++at) {
    text += fmt::format("{:>5}  {}\n", at + 1, entries[at]);
  }
  return repl.print(text);
}

Expected<void> command_html(Repl& repl, const std::string& argument) {
  const auto [path, expression] = leading_file(argument);
  if (path.empty()) return input_error(":html wants FILE, and an expression that is not the last one");
  if (auto place = writable_place(path); !place) return place;
  EvaluateOptions options;
  options.why = true;
  options.count = true;
  const auto evaluation = repl.evaluate(expression, options);
  if (!evaluation) return std::unexpected(evaluation.error());
  return write_text(path, page(evaluation->report, {}, true));
}

Expected<void> command_output(Repl& repl, const std::string& argument) {
  if (argument.empty()) return repl.end_output();
  const auto path = only_path("output", argument);
  if (!path) return std::unexpected(path.error());
  return repl.begin_output(*path);
}

Expected<void> command_shell(Repl& repl, const std::string& argument) {
  if (!repl.place().shell) return unsupported("shell commands run only where they are typed, at a terminal; not from a script");
  if (argument.empty()) return input_error("! is followed by a shell command, as in !ls");
  const int status = repl.place().shell(argument);
  if (status == -1) return resource_error("no process could be started for the shell");
  if (WIFSIGNALED(status)) return repl.place().print(fmt::format("ended by signal {}\n", WTERMSIG(status)));
  if (WEXITSTATUS(status) == 0) return {};
  return repl.place().print(fmt::format("exit status {}\n", WEXITSTATUS(status)));
}

}  // namespace weft
