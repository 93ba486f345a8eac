#include "runtime/succession.h"

#include <doctest/doctest.h>

#include <vector>

#include "weft/memory.h"

namespace weft::succession_test {
namespace {

using std::chrono::microseconds;

/// Work at times that are told.
struct Told {
  Succession& succession;
  Clock::time_point now = Clock::now();

  /// Works for so many microseconds, then pauses; whether threads paid.
  bool works(int duration, int pause = 5) { return works(duration, 1000.0 * duration, pause); }
  bool works(int duration, double shared_ns, int pause) {
    const bool pays = succession.threads_pay(shared_ns, now);
    succession.end(shared_ns, now += microseconds(duration));
    now += microseconds(pause);
    return pays;
  }
};

}  // namespace

TEST_CASE("threads are woken for long work, for short work in quick succession, and never for what is over at once") {
  // Runs of 30 us on one thread, so many microseconds after each other; whether threads pay for the last.
  const auto after_runs = [](Told& told, int runs, int pause) {
    bool pays = false;
    for (int run = 0; run < runs; ++run) pays = told.works(30, pause);
    return pays;
  };
  Succession of_often;
  Told often{of_often};
  CHECK_FALSE(after_runs(often, 1, 5));
  CHECK_FALSE(after_runs(often, 2, 5));
  CHECK(after_runs(often, 1, 5));
  CHECK(after_runs(often, 5, 5));

  Succession of_seldom;
  Told seldom{of_seldom};
  CHECK_FALSE(after_runs(seldom, 50, 150));
  CHECK(after_runs(seldom, 50, 50));
  seldom.now += microseconds(1000);
  CHECK_FALSE(after_runs(seldom, 1, 0));

  Succession once;
  CHECK(once.threads_pay(Succession::waking_ns + 1, Clock::now()));
  Succession of_tiny;
  Told tiny{of_tiny};
  bool pays = false;
  for (int run = 0; run < 1000; ++run) pays = pays || tiny.works(1, Succession::least_ns, 0);
  CHECK_FALSE(pays);
}

TEST_CASE("work that one thread does neither counts nor keeps the workers awake") {
  Succession shared;
  Told told{shared};
  for (int run = 0; run < 100; ++run) {
    CAPTURE(run);
    CHECK_FALSE(told.works(1000, 0, 5));
    CHECK_FALSE(told.works(30));
  }
  // While it is short, the workers are still awake behind it.
  bool pays = false;
  for (int run = 0; run < 10; ++run) {
    told.works(40, 0, 5);
    pays = told.works(30);
  }
  CHECK(pays);
}

TEST_CASE("work of whatever copy of the threads follows that of the others") {
  const Threads threads(2);
  const std::vector<Threads> copies(8, threads);
  Clock::time_point now = Clock::now();
  std::vector<bool> pays;
  for (const Threads& copy : copies) {
    Told told{copy.succession(), now};
    pays.push_back(told.works(30));
    now = told.now;
  }
  CHECK(pays == std::vector<bool>{false, false, false, true, true, true, true, true});
  const Threads other(2);
  Told others{other.succession(), now};
  CHECK_FALSE(others.works(30));
}

}  // namespace weft::succession_test
