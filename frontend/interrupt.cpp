#include "frontend/interrupt.h"

#include <csignal>
#include <sys/time.h>
#include <unistd.h>

namespace weft {
namespace {

// A signal handler can reach nothing but static storage.
Cancellation* interrupted = nullptr;

void on_alarm(int) { _exit(130); }

void on_interrupt(int) {
  if (interrupted->cancelled()) _exit(130);
  interrupted->cancel();
  const itimerval patience{{0, 0}, {0, 800'000}};
  setitimer(ITIMER_REAL, &patience, nullptr);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void cancel_on_interrupt(const Cancellation& cancellation) {
  static Cancellation shared = cancellation;
  interrupted = &shared;
  handle(SIGALRM, on_alarm);
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
}

}  // namespace weft
