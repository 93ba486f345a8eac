// Without libedit: lines as the terminal itself edits them.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "frontend/repl/line_editor.h"

namespace weft {

namespace {

class PlainLines : public LineEditor {
 public:
  EditedLine read(const std::string& prompt) override;
  void remember(const std::string&) override {}

 private:
  std::string read_;  // and not yet handed out
};

EditedLine PlainLines::read(const std::string& prompt) {
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  while (true) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return {LineEnd::entered, std::move(line)};
    }
    // Unlike read(), poll() ends at every signal.
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, -1) < 0 && errno == EINTR) {
      read_.clear();
      std::fputs("\n", stdout);
      return {LineEnd::interrupted, ""};
    }
    char bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {LineEnd::finished, ""};
    read_.append(bytes, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::unique_ptr<LineEditor> make_line_editor(LineEditor::Complete) { return std::make_unique<PlainLines>(); }

}  // namespace weft
