#include "frontend/interrupt.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <deque>
#include <string_view>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include "frontend/terminal.h"
#include "runtime/unfinished_files.h"

namespace weft {
namespace {

// A signal handler can reach nothing but static storage.
std::atomic<const Cancellation*> interrupted{nullptr};
std::atomic<bool> goes_on_after{false};
std::atomic<std::int64_t> interrupted_at{0};  // milliseconds

termios modes_before{};
std::atomic<bool> has_modes{false};
std::atomic<bool> marks_pasted_text{false};

/// Only of a terminal that is ours: behind a process that was suspended the shell edits lines.
void restore_terminal() {
  if (!has_modes.load() || tcgetpgrp(STDIN_FILENO) != getpgrp()) return;
  tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
  const std::string_view end = marks_pasted_text.load() ? "\033[?2004l\n" : "\n";
  (void)!::write(STDOUT_FILENO, end.data(), end.size());
}

// Without a cancellation that was noticed in time, the sentence is the handler's to write.
void end_interrupted() {
  restore_terminal();
  remove_unfinished_files();
  constexpr std::string_view sentence = "error: interrupted\n";
  (void)!::write(STDERR_FILENO, sentence.data(), sentence.size());
  _exit(130);
}

void on_alarm(int) { end_interrupted(); }

// The default action comes next, so that what waits for the process learns of the signal.
void on_end(int signal) {
  restore_terminal();
  remove_unfinished_files();
  raise(signal);
}

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

void on_interrupt(int signal) {
  const Cancellation& cancellation = *interrupted.load();
  const bool again = cancellation.cancelled();
  if (goes_on_after.load() && signal == SIGINT) {
    if (again && now() - interrupted_at.load() >= 1000) end_interrupted();
    if (!again) interrupted_at.store(now());
    cancellation.cancel();
    return;
  }
  if (again) end_interrupted();
  cancellation.cancel();
  const itimerval patience{{0, 0}, {0, 800'000}};
  setitimer(ITIMER_REAL, &patience, nullptr);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void listen(const Cancellation& cancellation) {
  // Kept for ever, because a handler on another thread may just be reading the one before.
  static std::deque<Cancellation> given;
  given.push_back(cancellation);
  interrupted.store(&given.back());
  handle(SIGALRM, on_alarm);
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
}

}  // namespace

void end_without_leftovers() {
  // A file beyond the limit of its size is then an error of write().
  signal(SIGXFSZ, SIG_IGN);
  for (const int ending : {SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    struct sigaction known{};
    // What the caller had ignored, as nohup does, stays so.
    if (sigaction(ending, nullptr, &known) != 0 || known.sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = on_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
    sigaction(ending, &action, nullptr);
  }
}

ModesOfTerminal::ModesOfTerminal() {
  has_modes.store(tcgetattr(STDIN_FILENO, &modes_before) == 0);
  marks_pasted_text.store(moves_cursor(STDOUT_FILENO));
}

ModesOfTerminal::~ModesOfTerminal() { has_modes.store(false); }

void cancel_on_interrupt(const Cancellation& cancellation) {
  goes_on_after.store(false);
  listen(cancellation);
}

void cancel_on_interrupt_and_go_on(const Cancellation& cancellation) {
  goes_on_after.store(true);
  listen(cancellation);
}

}  // namespace weft
