#include "frontend/background.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace weft::background_test {

TEST_CASE("work is done, several pieces at once") {
  Background background(2);
  std::promise<void> first, second;
  std::promise<void> done, other_done;
  // Each waits for the other, so both must be under way.
  background.post([&](bool dropped) {
    CHECK_FALSE(dropped);
    first.set_value();
    second.get_future().wait();
    done.set_value();
  });
  background.post([&](bool) {
    second.set_value();
    first.get_future().wait();
    other_done.set_value();
  });
  done.get_future().wait();
  other_done.get_future().wait();
}

TEST_CASE("what has not begun is dropped at the end, and told so") {
  std::promise<void> begun, go;
  std::atomic<int> run{0}, dropped{0};
  const auto count = [&](bool gone) { ++(gone ? dropped : run); };
  std::future<void> ending;
  {
    auto background = std::make_shared<Background>(1);
    background->post([&](bool) {
      begun.set_value();
      go.get_future().wait();
    });
    begun.get_future().wait();
    for (int number = 0; number < 5; ++number) background->post(count);
    ending = std::async(std::launch::async, [held = std::move(background)]() mutable { held.reset(); });
  }
  while (dropped < 5) std::this_thread::yield();
  go.set_value();
  ending.wait();
  CHECK(run == 0);
}

TEST_CASE("work may hold the last handle of its background") {
  std::promise<void> release, ended;
  auto background = std::make_shared<Background>(1);
  struct Teller {
    std::promise<void>& told;
    ~Teller() { told.set_value(); }
  };
  auto teller = std::make_shared<Teller>(ended);
  background->post([held = background, teller = std::move(teller), &release](bool) { release.get_future().wait(); });
  background.reset();
  release.set_value();
  ended.get_future().wait();
}

TEST_CASE("in the child of a fork the caller does the work, and the end waits for nobody") {
  auto background = std::make_unique<Background>(2);
  const auto done = [&](unsigned times) {
    std::vector<std::promise<void>> told(times);
    for (std::promise<void>& each : told) background->post([&each](bool) { each.set_value(); });
    for (std::promise<void>& each : told) each.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they wait again
  };
  // Twice, so that the condition variable has two groups of waiters.
  done(2);
  done(1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    unsigned ran = 0;
    for (int n = 0; n < 4; ++n) background->post([&](bool dropped) { ran += dropped ? 0 : 1; });
    background.reset();
    ::_exit(ran == 4 ? 0 : 1);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace weft::background_test
