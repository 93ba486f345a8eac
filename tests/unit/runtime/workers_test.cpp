#include "runtime/workers.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/shared_loop.h"
#include "unit/pretended_cpus.h"
#include "unit/refused_threads.h"
#include "weft/memory.h"

namespace workers_test {

using namespace weft;
using pretended_cpus::Pretending;
using refused_threads::Refusing;

namespace {

/// Waits until it is so, ten seconds at most; whether it became so.
bool becomes(const std::function<bool()>& so) {
  const auto start = std::chrono::steady_clock::now();
  while (!so()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10)) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Runs `tasks` tasks, each of which waits until `together` have begun: how many threads took part. 0 if a task did not
/// run once, or a slot was not below the count.
std::size_t threads_in(const Threads& threads, std::size_t tasks, int together) {
  std::mutex mutex;
  std::set<std::thread::id> used;
  std::vector<std::atomic<int>> runs(tasks);
  std::atomic<int> begun{0};
  std::atomic<bool> good{true};
  threads.for_each(tasks, [&](std::size_t task, unsigned slot) {
    {
      const std::lock_guard lock(mutex);
      used.insert(std::this_thread::get_id());
    }
    ++runs[task];
    ++begun;
    if (!becomes([&] { return begun >= together; }) || slot >= threads.count()) good = false;
  });
  for (const auto& run : runs) good = good && run == 1;
  return good ? used.size() : 0;
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("where the system starts no more threads, those that there are do the work, and more are asked for later") {
  const Pretending eight(8);
  for (int allowed = 0; allowed <= 7; ++allowed) {
    CAPTURE(allowed);
    const Threads threads(8);
    CHECK(threads.available() == 8);
    {
      const Refusing refusing(allowed);
      CHECK(threads_in(threads, 1000, allowed + 1) == static_cast<std::size_t>(allowed) + 1);
      CHECK(threads.available() == static_cast<unsigned>(allowed) + 1);
      CHECK(threads.count() == 8);
      // Not in every loop: asking takes time.
      CHECK(threads_in(threads, 1000, allowed + 1) == static_cast<std::size_t>(allowed) + 1);
      CHECK(refusing.asked() <= 8);
    }
    if (allowed % 3 != 0) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    CHECK(threads_in(threads, 1000, 8) == 8);
    CHECK(threads.available() == 8);
  }
}

TEST_CASE("no more threads than CPUs are started, and only as many as have something to do") {
#ifndef WEFT_THREADS_BEYOND_CPUS
  {
    const Pretending three(3);
    const Refusing counting(INT_MAX);
    const Threads threads(16);
    CHECK(threads.count() == 16);
    CHECK(threads.available() == 3);
    CHECK(threads_in(threads, 100, 3) == 3);
    CHECK(counting.asked() == 2);
  }
#endif
  const Pretending eight(8);
  const Refusing counting(INT_MAX);
  const Threads threads(8);
  CHECK(threads_in(threads, 1, 1) == 1);
  CHECK(counting.asked() == 0);
  CHECK(threads_in(threads, 2, 2) == 2);
  CHECK(counting.asked() == 1);
  CHECK(threads_in(threads, 5, 5) == 5);
  CHECK(counting.asked() == 4);
}

TEST_CASE("what a task throws comes out on the calling thread, and the tasks that had not begun are left out") {
  const Pretending four(4);
  const auto on_this_thread = [](unsigned slots, const std::function<void(unsigned)>& body) {
    for (unsigned slot = 0; slot < slots; ++slot) body(slot);
  };
  for (const Threads& threads : {Threads(1), Threads(2), Threads(4), Threads::of_caller(2), Threads(2, on_this_thread)}) {
    for (const std::size_t at : {0, 1, 500, 999}) {
      std::atomic<int> ran{0};
      CHECK_THROWS_AS(threads.for_each(1000, [&](std::size_t task, unsigned) {
        ++ran;
        if (task == at) throw std::bad_alloc();
      }), std::bad_alloc);
      CHECK(ran >= 1);
    }
    // All threads throw; one of them is heard, and what would take hours is not begun.
    std::atomic<int> thrown{0};
    CHECK_THROWS_AS(threads.for_each(std::size_t{1} << 40, [&](std::size_t, unsigned) {
      ++thrown;
      throw std::length_error("long");
    }), std::length_error);
    CHECK(thrown <= 4);
    std::atomic<int> total{0};
    threads.for_each(100, [&](std::size_t, unsigned) { ++total; });
    CHECK(total == 100);
  }
  // Of a worker, while the caller is in a task of its own.
  const Threads threads(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> thrown{false};
  CHECK_THROWS_AS(threads.for_each(2, [&](std::size_t, unsigned) {
    if (std::this_thread::get_id() == caller) {
      CHECK(becomes([&] { return thrown.load(); }));
    } else {
      thrown = true;
      throw std::bad_alloc();
    }
  }), std::bad_alloc);
}

TEST_CASE("more tasks than a word counts are taken in groups, each once") {
  // Every task of a group in turn: the first group of each thread begins where its part does.
  constexpr std::size_t all = ~std::size_t{0};
  std::vector<std::size_t> first;
  const SharedLoop::Body body = [&](std::size_t task, unsigned) {
    first.push_back(task);
    if (first.size() == 3) throw std::length_error("enough");
  };
  for (const std::size_t tasks : {std::size_t{1} << 31, (std::size_t{1} << 33) - 1, std::size_t{1} << 33, all}) {
    for (unsigned slot = 0; slot < 2; ++slot) {
      first.clear();
      SharedLoop loop(tasks, 2, body);
      loop.work(slot);
      CHECK_THROWS_AS(loop.rethrow(), std::length_error);
      REQUIRE(first.size() == 3);
      // The half of the groups, of which the last may be short.
      const std::size_t begin = slot == 0 ? 0 : tasks / 2 + (tasks % 2);
      CHECK(first[0] - begin <= (tasks >> 31) + 1);
      CHECK(first[1] == first[0] + 1);
      CHECK(first[2] == first[0] + 2);
    }
  }
  std::vector<int> runs(1000);
  const SharedLoop::Body count = [&](std::size_t task, unsigned) { ++runs[task]; };
  SharedLoop loop(1000, 100, count);
  loop.work(70);
  for (const int run : runs) CHECK(run == 1);
}

TEST_CASE("a thread that waits begins no task of another loop") {
  const Pretending three(3);
  const Threads threads(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> waits{false}, others_done{false}, strayed{false};
    std::thread::id first_caller;
    std::thread first([&] {
      first_caller = std::this_thread::get_id();
      threads.for_each(2, [&](std::size_t, unsigned) {
        // A worker has the other task, for which this caller will wait.
        if (std::this_thread::get_id() == first_caller) {
          CHECK(becomes([&] { return waits.load(); }));
          return;
        }
        waits = true;
        CHECK(becomes([&] { return others_done.load(); }));
      });
    });
    CHECK(becomes([&] { return waits.load(); }));
    threads.for_each(200, [&](std::size_t, unsigned) {
      if (std::this_thread::get_id() == first_caller) strayed = true;
      std::this_thread::yield();
    });
    others_done = true;
    first.join();
    CHECK_FALSE(strayed);
  }
}

TEST_CASE("loops within tasks of several callers come to an end with any number of threads") {
  const Pretending eight(8);
  for (const int allowed : {0, 1, 3, 7}) {
    const Refusing refusing(allowed);
    const Threads threads(8);
    std::atomic<int> total{0};
    const auto caller = [&] {
      for (int round = 0; round < 5; ++round)
        threads.for_each(9, [&](std::size_t, unsigned) {
          threads.for_each(5, [&](std::size_t, unsigned) { threads.for_each(3, [&](std::size_t, unsigned) { ++total; }); });
        });
    };
    std::vector<std::thread> callers;
    for (int number = 0; number < 4; ++number) callers.emplace_back(caller);
    for (std::thread& each : callers) each.join();
    CHECK(total == 4 * 5 * 9 * 5 * 3);
  }
}

TEST_CASE("threads without work sleep, wake for the next, and end with the last copy") {
  const Pretending four(4);
  const std::ptrdiff_t before = threads_of_process();
  for (int round = 0; round < 30; ++round) {
    const Threads threads(4);
    CHECK(threads_in(threads, 4, 4) == 4);
    CHECK(threads_of_process() == before + 3);
    // Still looking for work, about to sleep, asleep.
    if (round % 3 > 0) std::this_thread::sleep_for(std::chrono::microseconds(round % 3 == 1 ? 120 : 2000));
    if (round % 2 == 0) CHECK(threads_in(threads, 4, 4) == 4);
  }
  // Linux lists a thread for a moment after it was joined.
  for (int wait = 0; wait < 1000 && threads_of_process() != before; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(threads_of_process() == before);

  const Threads threads(4);
  CHECK(threads_in(threads, 4, 4) == 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto processor_ms = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  };
  const double start = processor_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(processor_ms() - start < 50);
  CHECK(threads_in(threads, 4, 4) == 4);
}

TEST_CASE("the child of a fork has no threads to count on, and may end what it inherited") {
  for (const bool started : {false, true}) {
    auto threads = std::make_unique<Threads>(2);
    const unsigned there = threads->available();
    if (started) threads->for_each(50, [](std::size_t, unsigned) {});
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      bool good = threads->available() == (started ? 1 : there);
      std::atomic<int> total{0};
      threads->for_each(50, [&](std::size_t, unsigned) { ++total; });
      threads.reset();
      ::_exit(good && total == 50 ? 0 : 1);
    }
    int status = 0;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace workers_test
