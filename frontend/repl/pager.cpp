#include "frontend/repl/pager.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <algorithm>
#include <cstdlib>

#include "frontend/terminal.h"

namespace weft {
namespace {

/// -F: what fits after all is left on the screen; -R: colours; -X: so is what was read.
constexpr const char* usual_pager = "if command -v less >/dev/null; then exec less -FRX; else exec cat; fi";

/// Rows that the text takes where lines are wrapped.
std::size_t rows_of(std::string_view text, std::size_t columns) {
  std::size_t rows = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    rows += 1 + (end > 0 ? (end - 1) / columns : 0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

/// A signal that goes to the pager alone while this lives.
class Ignored {
 public:
  explicit Ignored(int signal) : signal_(signal) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, &before_);
  }
  ~Ignored() { sigaction(signal_, &before_, nullptr); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

}  // namespace

Expected<void> print_paged(std::string_view text) {
  winsize size{};
  const char* const pager = std::getenv("PAGER");
  // A terminal without a cursor that moves has no pages.
  const bool wanted = (pager == nullptr || *pager != '\0') && std::getenv("TERM") != nullptr && moves_cursor(STDOUT_FILENO);
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  // The prompt takes a row too.
  if (!wanted || !known || rows_of(text, size.ws_col) < size.ws_row) return write_text("", text);
  FILE* const pipe = popen(pager != nullptr ? pager : usual_pager, "w");
  if (pipe == nullptr) return write_text("", text);
  // From here on: programs go on ignoring what was ignored when they were started, and Ctrl-C would not end "cat".
  const Ignored interrupt(SIGINT);
  const Ignored closed(SIGPIPE);
  (void)std::fwrite(text.data(), 1, text.size(), pipe);
  const int status = pclose(pipe);
  // A shell says 127 where there is no such command, having read nothing.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return write_text("", text);
  return {};
}

}  // namespace weft
