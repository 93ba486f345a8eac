#include "frontend/repl/run.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "frontend/file_text.h"
#include "frontend/interrupt.h"
#include "frontend/repl/repl.h"
#include "frontend/terminal.h"

namespace weft {
namespace {

/// The next line without its newline; nothing at the end.
using NextLine = std::function<std::optional<std::string>()>;

NextLine lines_of(std::string text) {
  return [text = std::move(text), at = std::size_t{0}]() mutable -> std::optional<std::string> {
    if (at >= text.size()) return std::nullopt;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    return line;
  };
}

/// Read as they come, so that another program can wait for each answer.
std::optional<std::string> standard_input_line() {
  char* buffer = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&buffer, &capacity, stdin);
  std::optional<std::string> line;
  if (length >= 0) line = std::string(buffer, static_cast<std::size_t>(length));
  std::free(buffer);
  if (line && line->ends_with('\n')) line->pop_back();
  return line;
}

ReplPlace script_place(const CommandOptions& options) {
  ReplPlace place;
  place.print = [](std::string_view text) { return write_text("", text); };
  place.note = [quiet = options.quiet](std::string_view line) {
    if (!quiet) fmt::print(stderr, "{}\n", line);
  };
  place.progress = terminal_progress(options.quiet);
  place.cancellation = [] {
    Cancellation cancellation;
    cancel_on_interrupt(cancellation);
    return cancellation;
  };
  return place;
}

Expected<int> run_script(const CommandOptions& options, const std::string& name, const NextLine& next_line) {
  auto session = Repl::create(options, script_place(options));
  if (!session) return std::unexpected(session.error());
  std::size_t number = 0;
  while (!session->finished()) {
    std::optional<std::string> line = next_line();
    if (!line) break;
    const std::size_t first = ++number;
    std::string text = joined("", without_comment(*line));
    while (goes_on(text) && (line = next_line())) {
      ++number;
      const std::string_view more = without_comment(*line);
      // An empty line ends what was never closed; the error is then where it began.
      if (line->find_first_not_of(" \t\r") == std::string::npos) break;
      text = joined(std::move(text), more);
    }
    const auto done = session->execute(text);
    if (session->resources().progress) clear_progress();
    if (done) continue;
    fmt::print(stderr, "{}:{}: error: {}\n", name, first, done.error().message);
    return exit_status(done.error().kind);
  }
  return 0;
}

}  // namespace

Expected<int> repl(const CommandOptions& options) {
  if (!options.arguments.empty() && options.arguments.front() != "-") {
    const std::string& script = options.arguments.front();
    auto text = file_text(script);
    if (!text) return std::unexpected(text.error());
    return run_script(options, script, lines_of(std::move(*text)));
  }
  return run_script(options, "<stdin>", standard_input_line);
}

}  // namespace weft
