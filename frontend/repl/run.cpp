#include "frontend/repl/run.h"

#include <fmt/format.h>

#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "frontend/file_text.h"
#include "frontend/interrupt.h"
#include "frontend/repl/activity.h"
#include "frontend/repl/completion.h"
#include "frontend/repl/history.h"
#include "frontend/repl/line_editor.h"
#include "frontend/repl/pager.h"
#include "frontend/repl/repl.h"
#include "frontend/repl/script.h"
#include "frontend/terminal.h"

namespace weft {
namespace {

/// Read as they come, so that another program can wait for each answer; without a byte order mark before the first.
std::optional<std::string> standard_input_line(bool first) {
  char* buffer = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&buffer, &capacity, stdin);
  std::optional<std::string> line;
  if (length >= 0) line = std::string(buffer, static_cast<std::size_t>(length));
  std::free(buffer);
  if (line && line->ends_with('\n')) line->pop_back();
  if (first && line && line->starts_with("\xEF\xBB\xBF")) line->erase(0, 3);
  return line;
}

/// `listen` lets an interrupt set a cancellation.
ReplPlace place_with(Activity& activity, void (*listen)(const Cancellation&)) {
  ReplPlace place;
  place.print = [&activity](std::string_view text) {
    activity.clear();
    return write_text("", text);
  };
  place.progress = activity.progress();
  place.cancellation = [listen] {
    Cancellation cancellation;
    listen(cancellation);
    return cancellation;
  };
  return place;
}

Expected<void> execute(Repl& session, Activity& activity, const std::string& text) {
  activity.begin();
  auto done = session.execute(text);
  activity.end();
  return done;
}

Expected<int> run_script(const CommandOptions& options, const std::string& name, const NextLine& next_line) {
  Activity activity(!options.quiet);
  auto session = Repl::create(options, place_with(activity, cancel_on_interrupt));
  if (!session) return std::unexpected(session.error());
  const ScriptEnd end = run_lines(
      next_line, [&](const std::string& text) { return execute(*session, activity, text); }, [&] { return session->finished(); });
  auto closed = session->end_output();
  if (!end.done) {
    write_note(fmt::format("{}:{}: error: {}\n", name, end.line, end.done.error().message));
    return exit_status(end.done.error().kind);
  }
  if (!closed) return std::unexpected(closed.error());
  return 0;
}

EditedLine edited_line(LineEditor& editor, const std::string& prompt) {
  const ModesOfTerminal kept;
  return editor.read(prompt);
}

/// What a line that goes on needs to be whole, or nothing: the session ends, or Ctrl-C threw it away.
std::optional<std::string> edited_statement(LineEditor& editor, History& history, bool& finished) {
  EditedLine line = edited_line(editor, "weft> ");
  std::string text(without_comment(line.text));
  // Lines become one entry; a comment that is not the last of it would swallow what follows.
  std::string entry = line.text;
  while (line.end == LineEnd::entered && goes_on(text)) {
    line = edited_line(editor, "  ... ");
    // An empty line ends what was never closed; the error shows where.
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) break;
    text = joined(std::move(text), without_comment(line.text));
    entry = text;
  }
  finished = line.end == LineEnd::finished;
  if (line.end != LineEnd::entered) return std::nullopt;
  const std::size_t before = history.entries().size();
  history.add(std::move(entry));
  if (history.entries().size() > before) editor.remember(history.entries().back());
  return text;
}

void report(const Error& error) {
  const char* const no_color = std::getenv("NO_COLOR");
  const bool colored = moves_cursor(STDERR_FILENO) && (no_color == nullptr || no_color[0] == '\0');
  if (error.kind == ErrorKind::cancelled) {
    write_note(fmt::format("{}\n", error.message));
  } else {
    write_note(fmt::format("{}error:{} {}\n", colored ? "\033[1;31m" : "", colored ? "\033[0m" : "", error.message));
  }
}

/// Text is edited in characters of the locale; where that has ASCII alone or is not installed, in those of UTF-8.
void take_characters_of_locale() {
  const char* const locale = std::setlocale(LC_CTYPE, "");
  const std::string_view name = locale == nullptr ? "C" : locale;
  if (name == "C" || name == "POSIX") std::setlocale(LC_CTYPE, "C.UTF-8");
}

Expected<int> run_interactive(const CommandOptions& options, MakeLineEditor make_editor) {
  take_characters_of_locale();
  Activity activity(!options.quiet);
  History history(history_path());
  ReplPlace place = place_with(activity, cancel_on_interrupt_and_go_on);
  place.history = [&history] { return history.entries(); };
  // How long a page is read, or a shell command runs, is none of what takes so long.
  place.print = [&activity](std::string_view text) {
    activity.end();
    auto printed = print_paged(text);
    activity.begin();
    return printed;
  };
  place.shell = [&activity](const std::string& command) {
    activity.end();
    const int status = std::system(command.c_str());
    activity.begin();
    return status;
  };
  auto session = Repl::create(options, std::move(place));
  if (!session) return std::unexpected(session.error());
  const std::unique_ptr<LineEditor> editor = make_editor([&](std::string_view before) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : session->tensors()) names.push_back(name);
    return complete(before, names);
  });
  for (const std::string& entry : history.entries()) editor->remember(entry);
  if (!options.quiet) {
    const unsigned threads = session->resources().threads.count();
    const std::string greeting = fmt::format("weft {} on {} thread{}; :help tells what can be said, Ctrl-D leaves\n",
                                             WEFT_VERSION, threads, threads == 1 ? "" : "s");
    if (auto written = write_text("", greeting); !written) return std::unexpected(written.error());
  }
  bool finished = false;
  while (!finished && !session->finished()) {
    const auto text = edited_statement(*editor, history, finished);
    if (!text) continue;
    if (const auto done = execute(*session, activity, *text); !done) {
      report(done.error());
      if (done.error().kind == ErrorKind::cancelled) editor->drop_pasted();
    }
    if (!options.quiet && activity.seconds() >= 1) write_note(fmt::format("({:.1f} s)\n", activity.seconds()));
  }
  if (auto closed = session->end_output(); !closed) return std::unexpected(closed.error());
  if (finished) (void)write_text("", "\n");  // the session is over either way
  return 0;
}

}  // namespace

Expected<int> repl(const CommandOptions& options, MakeLineEditor make_editor) {
  if (!options.arguments.empty() && options.arguments.front() != "-") {
    const std::string& script = options.arguments.front();
    auto text = file_text(script);
    if (!text) return std::unexpected(text.error());
    return run_script(options, script, lines_of(std::move(*text)));
  }
  const bool piped = !options.arguments.empty() || isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0;
  if (!piped) return run_interactive(options, make_editor);
  return run_script(options, "<stdin>", [first = true]() mutable { return standard_input_line(std::exchange(first, false)); });
}

}  // namespace weft
