#include "frontend/repl/script.h"

#include <algorithm>

#include "frontend/repl/statement.h"

namespace weft {

NextLine lines_of(std::string text) {
  return [text = std::move(text), at = std::size_t{0}]() mutable -> std::optional<std::string> {
    if (at >= text.size()) return std::nullopt;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    return line;
  };
}

ScriptEnd run_lines(const NextLine& next_line, const std::function<Expected<void>(const std::string&)>& execute,
                    const std::function<bool()>& finished) {
  std::size_t number = 0;
  std::size_t first = 0;
  while (!finished()) {
    std::optional<std::string> line = next_line();
    if (!line) break;
    first = ++number;
    std::string text = joined("", without_comment(*line));
    while (goes_on(text) && (line = next_line())) {
      ++number;
      const std::string_view more = without_comment(*line);
      // An empty line ends what was never closed; the error is then where it began.
      if (line->find_first_not_of(" \t\r") == std::string::npos) break;
      text = joined(std::move(text), more);
    }
    if (auto done = execute(text); !done) return {first, std::move(done)};
  }
  return {first, {}};
}

}  // namespace weft
