#include "frontend/repl/activity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "frontend/terminal.h"
#include "runtime/guarded.h"
#include "runtime/thread.h"

namespace weft {
namespace {

/// A line that is wrapped could not be taken away.
std::size_t columns() { return std::max<std::size_t>(1, terminal_columns(STDERR_FILENO) - 1); }

}  // namespace

using Clock = std::chrono::steady_clock;

struct Activity::State {
  bool shown = false;
  std::mutex mutex;
  std::condition_variable ended;
  bool active = false;
  bool standing = false;  // there is a line to take away
  std::string what;
  double fraction = 0;
  Clock::time_point start;
  Thread clock;  // none where the system gives none: then nothing is shown

  void clear_line() {
    if (standing) std::fputs("\r\033[K", stderr);
    standing = false;
  }

  void show_line() {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    // The end of a long path says more than its beginning.
    const std::size_t most = columns() > 60 ? columns() - 40 : 20;
    const std::string shown_what = what.size() > most ? "..." + what.substr(what.size() - most + 3) : what;
    const std::string done = what.empty() ? "working" : fmt::format("{} {:.0f} %", shown_what, 100 * fraction);
    const std::string line = fmt::format("{}, {:.0f} s, Ctrl-C stops it", done, seconds);
    write_note(fmt::format("\r\033[K{}", line.substr(0, columns())));
    standing = true;
  }

  void tick() {
    std::unique_lock lock(mutex);
    const auto stopped = [&] { return !active; };
    if (ended.wait_for(lock, std::chrono::seconds(1), stopped)) return;
    do {
      // Without memory for it the line stays as it is.
      (void)had_memory_for([&] { show_line(); });
    } while (!ended.wait_for(lock, std::chrono::milliseconds(200), stopped));
  }
};

Activity::Activity(bool shown) : state_(std::make_shared<State>()) { state_->shown = shown && moves_cursor(STDERR_FILENO); }
Activity::~Activity() { end(); }

void Activity::begin() {
  state_->start = Clock::now();
  if (!state_->shown) return;
  state_->active = true;
  state_->what.clear();
  state_->clock = Thread([state = state_.get()] { state->tick(); });
}

void Activity::end() {
  if (!state_->clock.started()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->active = false;
  }
  state_->ended.notify_all();
  state_->clock.join();
  clear();
}

void Activity::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->clear_line();
  // What was done before the text is not what comes after it.
  state_->what.clear();
}

Progress Activity::progress() const {
  if (!state_->shown) return {};
  return [state = state_](std::string_view what, double fraction) {
    const std::lock_guard lock(state->mutex);
    state->what = fraction < 1 ? what : "";
    state->fraction = fraction;
  };
}

double Activity::seconds() const { return std::chrono::duration<double>(Clock::now() - state_->start).count(); }

}  // namespace weft
