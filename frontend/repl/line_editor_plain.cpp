// Without libedit: lines as the terminal itself edits them.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "frontend/repl/line_editor.h"

namespace weft {

struct LineEditor::State {
  std::string read;  // and not yet handed out
};

LineEditor::LineEditor(Complete) : state_(std::make_unique<State>()) {}
LineEditor::~LineEditor() = default;

EditedLine LineEditor::read(const std::string& prompt) {
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  while (true) {
    if (const std::size_t end = state_->read.find('\n'); end != std::string::npos) {
      std::string line = state_->read.substr(0, end);
      state_->read.erase(0, end + 1);
      return {LineEnd::entered, std::move(line)};
    }
    // Unlike read(), poll() ends at every signal.
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, -1) < 0 && errno == EINTR) {
      state_->read.clear();
      std::fputs("\n", stdout);
      return {LineEnd::interrupted, ""};
    }
    char bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {LineEnd::finished, ""};
    state_->read.append(bytes, static_cast<std::size_t>(count));
  }
}

void LineEditor::remember(const std::string&) {}

}  // namespace weft
