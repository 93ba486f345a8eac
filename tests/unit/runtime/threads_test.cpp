#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/affinity.h"
#include "runtime/blocks.h"
#include "weft/memory.h"

namespace threads_test {

using namespace weft;

namespace {

/// A host that starts a thread per slot.
void on_threads_of_the_host(unsigned slots, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> started;
  for (unsigned slot = 0; slot < slots; ++slot) started.emplace_back([&body, slot] { body(slot); });
  for (std::thread& thread : started) thread.join();
}

std::vector<Threads> all_kinds(unsigned count) {
  return {Threads(count), Threads::of_caller(count), Threads(count, on_threads_of_the_host)};
}

}  // namespace

TEST_CASE("every task runs once, on slots below the count") {
  std::vector<Threads> kinds;
  for (unsigned count : {1u, 2u, 3u}) {
    for (const Threads& each : all_kinds(count)) {
      CHECK(each.count() == count);
      kinds.push_back(each);
    }
  }
  for (const Threads& threads : kinds) {
    const unsigned count = threads.count();
    for (std::size_t tasks : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> runs(tasks);
      std::atomic<bool> slots_good{true};
      threads.for_each(tasks, [&](std::size_t task, unsigned slot) {
        ++runs[task];
        if (slot >= count) slots_good = false;
      });
      for (auto& run : runs) CHECK(run == 1);
      CHECK(slots_good);
    }
  }
  CHECK(Threads().count() == allowed_cpus().size());
  CHECK(Threads::of_caller().count() == allowed_cpus().size());
}

TEST_CASE("tasks run on the threads that the host gives, and on no others") {
  std::set<std::thread::id> given, used;
  std::mutex mutex;
  const Threads threads(3, [&](unsigned slots, const std::function<void(unsigned)>& body) {
    std::vector<std::thread> started;
    for (unsigned slot = 0; slot < slots; ++slot) {
      started.emplace_back([&, slot] {
        {
          const std::lock_guard lock(mutex);
          given.insert(std::this_thread::get_id());
        }
        body(slot);
      });
    }
    for (std::thread& thread : started) thread.join();
  });
  threads.for_each(100, [&](std::size_t, unsigned) {
    const std::lock_guard lock(mutex);
    used.insert(std::this_thread::get_id());
  });
  CHECK(given.size() == 3);
  CHECK(std::ranges::includes(given, used));
}

TEST_CASE("the child of a fork works without the workers of its parent") {
  const Threads threads(3);
  std::atomic<int> total{0};
  threads.for_each(50, [&](std::size_t, unsigned) { ++total; });
  CHECK(total == 50);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    threads.for_each(50, [&](std::size_t, unsigned) { ++total; });
    const Threads others(3);
    others.for_each(50, [&](std::size_t, unsigned) { ++total; });
    ::_exit(total == 150 ? 0 : 1);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  threads.for_each(50, [&](std::size_t, unsigned) { ++total; });
  CHECK(total == 100);
}

TEST_CASE("a slot belongs to one thread at a time") {
  std::vector<std::atomic<int>> inside(2);
  std::atomic<bool> exclusive{true};
  for (int round = 0; round < 60; ++round)
    all_kinds(2)[static_cast<std::size_t>(round % 3)].for_each(200, [&](std::size_t, unsigned slot) {
      if (inside[slot].fetch_add(1) != 0) exclusive = false;
      std::this_thread::yield();
      inside[slot].fetch_sub(1);
    });
  CHECK(exclusive);
}

TEST_CASE("the caller is never pinned, nested calls and several callers work") {
  const std::vector<int> before = allowed_cpus();
  Threads threads(2);
  std::atomic<int> total{0};
  auto caller = [&] {
    for (int round = 0; round < 10; ++round)
      threads.for_each(8, [&](std::size_t, unsigned) {
        threads.for_each(4, [&](std::size_t, unsigned) { ++total; });
      });
  };
  std::thread other(caller);
  caller();
  other.join();
  CHECK(total == 2 * 10 * 8 * 4);
  CHECK(allowed_cpus() == before);
}

TEST_CASE("blocks cover a range without gaps") {
  Threads threads(2);
  for (std::uint64_t count : {0ull, 1ull, 5ull, 16384ull, 100003ull, (1ull << 63) + 12345}) {
    Blocks blocks(count, threads, 1000);
    CHECK(blocks.number <= 8);
    CHECK((blocks.number == 0) == (count == 0));
    std::uint64_t at = 0;
    for (std::uint64_t block = 0; block < blocks.number; ++block) {
      CHECK(blocks.begin(block) == at);
      CHECK(blocks.end(block) > at);
      at = blocks.end(block);
    }
    CHECK(at == count);
  }
}

}  // namespace threads_test
