#include "engine/succession.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

using std::chrono::microseconds;

TEST_CASE("threads are woken for long work, for short work in quick succession, and never for what is over at once") {
  Clock::time_point now = Clock::now();
  // Runs of 30 us on one thread, so many microseconds after each other; whether threads pay for the last.
  const auto after_runs = [&](Succession& succession, int runs, int pause) {
    bool pays = false;
    for (int run = 0; run < runs; ++run) {
      pays = succession.threads_pay(30'000, now);
      succession.end(now += microseconds(30));
      now += microseconds(pause);
    }
    return pays;
  };
  Succession often;
  CHECK_FALSE(after_runs(often, 1, 5));
  CHECK_FALSE(after_runs(often, 2, 5));
  CHECK(after_runs(often, 1, 5));
  CHECK(after_runs(often, 5, 5));

  Succession seldom;
  CHECK_FALSE(after_runs(seldom, 50, 150));
  CHECK(after_runs(seldom, 50, 50));
  now += microseconds(1000);
  CHECK_FALSE(after_runs(seldom, 1, 0));

  Succession once;
  CHECK(once.threads_pay(Succession::waking_ns + 1, now));
  Succession tiny;
  bool pays = false;
  for (int run = 0; run < 1000; ++run) {
    pays = pays || tiny.threads_pay(Succession::least_ns, now);
    tiny.end(++now);
  }
  CHECK_FALSE(pays);
}

}  // namespace
}  // namespace weft
