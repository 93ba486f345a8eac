#include "engine/cache/memory_cache.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <stdexcept>
#include <thread>
#include <vector>

namespace memory_cache_test {

using weft::Expected;
using weft::MemoryCache;

TEST_CASE("memory cache: computes once, then hits") {
  MemoryCache<int> cache;
  int computed = 0;
  const auto compute = [&]() -> Expected<int> { return ++computed; };
  CHECK(cache.get("a", compute).value() == 1);
  CHECK(cache.get("a", compute).value() == 1);
  CHECK(cache.get("b", compute).value() == 2);
  CHECK(computed == 2);
  CHECK(cache.hits() == 1);
  CHECK(cache.misses() == 2);
  CHECK(cache.size() == 2);
}

TEST_CASE("memory cache: 64 threads on one key compute once and share the value") {
  for (int round = 0; round < 20; ++round) {
    MemoryCache<int> cache;
    std::atomic<int> computed{0};
    std::atomic<int> wrong{0};
    std::latch start(64);
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 64; ++thread)
        threads.emplace_back([&] {
          start.arrive_and_wait();
          const auto value = cache.get("key", [&]() -> Expected<int> {
            ++computed;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            return 42;
          });
          if (value != 42) ++wrong;
        });
    }
    CHECK(computed == 1);
    CHECK(wrong == 0);
    CHECK(cache.misses() == 1);
    CHECK(cache.hits() == 63);
  }
}

TEST_CASE("memory cache: a slow computation does not hold up other keys") {
  MemoryCache<int> cache;
  std::latch computing(1);
  std::latch release(1);
  std::jthread slow([&] {
    (void)cache.get("slow", [&]() -> Expected<int> {
      computing.count_down();
      release.wait();
      return 1;
    });
  });
  computing.wait();
  CHECK(cache.get("fast", []() -> Expected<int> { return 2; }).value() == 2);
  CHECK(cache.get("fast", []() -> Expected<int> { return 3; }).value() == 2);
  release.count_down();
  slow.join();
  CHECK(cache.get("slow", []() -> Expected<int> { return 9; }).value() == 1);
}

TEST_CASE("memory cache: a failure reaches everybody who waited and is not remembered") {
  MemoryCache<int> cache;
  std::atomic<int> computed{0};
  std::atomic<int> failures{0};
  std::latch start(8);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        const auto value = cache.get("key", [&]() -> Expected<int> {
          ++computed;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          return weft::internal_error("broken");
        });
        if (!value && value.error().message == "broken") ++failures;
      });
  }
  CHECK(failures == 8);
  CHECK(computed >= 1);
  CHECK(cache.size() == 0);
  CHECK(cache.get("key", []() -> Expected<int> { return 7; }).value() == 7);
  CHECK(cache.get("key", []() -> Expected<int> { return 8; }).value() == 7);
}

TEST_CASE("memory cache: a cancellation reaches the call that was cancelled alone, the others compute") {
  MemoryCache<int> cache;
  std::promise<void> begun, release;
  std::atomic<int> right{0};
  std::jthread cancelled([&] {
    const auto value = cache.get("key", [&]() -> Expected<int> {
      begun.set_value();
      release.get_future().wait();
      return weft::fail(weft::ErrorKind::cancelled, "interrupted");
    });
    CHECK_FALSE(value);
  });
  begun.get_future().wait();
  {
    std::vector<std::jthread> others;
    for (int thread = 0; thread < 4; ++thread)
      others.emplace_back([&] { right += cache.get("key", []() -> Expected<int> { return 7; }) == Expected<int>(7) ? 1 : 0; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    release.set_value();
  }
  CHECK(right == 4);
}

TEST_CASE("memory cache: who waits may stop waiting, and the child of a fork computes what the parent was at") {
  MemoryCache<int> cache;
  std::promise<void> begun, release;
  std::jthread slow([&] {
    CHECK(cache.get("key", [&]() -> Expected<int> {
      begun.set_value();
      release.get_future().wait();
      return 7;
    }) == Expected<int>(7));
  });
  begun.get_future().wait();
  const auto eight = []() -> Expected<int> { return 8; };
  int looked = 0;
  const auto stopped = cache.get("key", eight, [&] { return ++looked == 3; });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind == weft::ErrorKind::cancelled);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const auto anew = cache.get("key", eight), again = cache.get("key", eight);
    ::_exit(anew == Expected<int>(8) && again == Expected<int>(8) ? 0 : 1);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  release.set_value();
  CHECK(cache.get("key", eight) == Expected<int>(7));
}

TEST_CASE("memory cache: an exception passes through and leaves nothing behind") {
  MemoryCache<int> cache;
  CHECK_THROWS_AS((void)cache.get("key", []() -> Expected<int> { throw std::runtime_error("out of order"); }),
                  std::runtime_error);
  CHECK(cache.size() == 0);
  CHECK(cache.get("key", []() -> Expected<int> { return 1; }).value() == 1);
}

TEST_CASE("memory cache: beyond the capacity the least recently used goes") {
  MemoryCache<int> cache({.entries = 3});
  int computed = 0;
  const auto compute = [&]() -> Expected<int> { return ++computed; };
  for (const char* key : {"a", "b", "c"}) CHECK(cache.get(key, compute).has_value());
  CHECK(cache.get("a", compute).value() == 1);  // b is now the oldest
  CHECK(cache.get("d", compute).value() == 4);
  CHECK(cache.size() == 3);
  CHECK(cache.get("a", compute).value() == 1);
  CHECK(cache.get("c", compute).value() == 3);
  CHECK(cache.get("b", compute).value() == 5);
  CHECK(cache.size() == 3);
}

TEST_CASE("memory cache: what is being computed is never evicted") {
  MemoryCache<int> cache({.entries = 1});
  const auto outer = cache.get("outer", [&]() -> Expected<int> {
    for (int n = 0; n < 5; ++n) CHECK(cache.get(std::to_string(n), [n]() -> Expected<int> { return n; }).value() == n);
    return 10;
  });
  CHECK(outer.value() == 10);
  CHECK(cache.get("outer", []() -> Expected<int> { return 11; }).value() == 10);
}

TEST_CASE("memory cache: different keys are computed in parallel") {
  MemoryCache<int> cache;
  std::latch all(8);  // nobody gets past it unless all eight computations run at once
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      const auto value = cache.get(std::to_string(thread), [&]() -> Expected<int> {
        all.arrive_and_wait();
        return thread;
      });
      if (value != thread) ++wrong;
    });
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("memory cache: hits of many threads are counted, none computes") {
  MemoryCache<int> cache;
  (void)cache.get("key", []() -> Expected<int> { return 1; });
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&] {
      for (int n = 0; n < 5000; ++n)
        if (cache.get("key", []() -> Expected<int> { return 2; }) != 1) ++wrong;
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK(cache.hits() == 40000);
  CHECK(cache.misses() == 1);
}

TEST_CASE("memory cache: an eighth goes at once, the least recently used first") {
  MemoryCache<int> cache({.entries = 64});
  int computed = 0;
  const auto compute = [&]() -> Expected<int> { return ++computed; };
  for (int key = 0; key < 64; ++key) (void)cache.get(std::to_string(key), compute);
  CHECK(cache.size() == 64);
  (void)cache.get("0", compute);  // used again
  (void)cache.get("64", compute);
  CHECK(cache.size() == 56);
  CHECK(computed == 65);
  for (int key = 10; key <= 64; ++key) (void)cache.get(std::to_string(key), compute);
  (void)cache.get("0", compute);
  CHECK(computed == 65);  // all of these were kept
  (void)cache.get("1", compute);
  CHECK(computed == 66);  // and this one went
}

TEST_CASE("memory cache: beyond the weight values go, and what is held elsewhere lives on") {
  struct Counted {
    explicit Counted(std::atomic<int>& living) : alive(living) { ++alive; }
    ~Counted() { --alive; }
    std::atomic<int>& alive;
  };
  std::atomic<int> alive{0};
  using Value = std::shared_ptr<Counted>;
  MemoryCache<Value> cache({.entries = 1000, .weight = 100}, [](const Value&) { return 10; });
  const auto compute = [&]() -> Expected<Value> { return std::make_shared<Counted>(alive); };
  const Value held = *cache.get("held", compute);
  for (int key = 0; key < 500; ++key) {
    REQUIRE(cache.get(std::to_string(key), compute).has_value());
    CHECK(cache.weight() == 10 * cache.size());
    CHECK(cache.weight() <= 100);
    CHECK(static_cast<std::size_t>(alive) <= cache.size() + 1);
  }
  CHECK(held.use_count() == 1);  // the cache let it go
  CHECK(alive == static_cast<int>(cache.size()) + 1);
  // A value heavier than everything allowed is still handed out, and kept until the next one.
  MemoryCache<Value> tiny({.entries = 8, .weight = 1}, [](const Value&) { return 10; });
  CHECK(tiny.get("a", compute).has_value());
  CHECK(tiny.get("b", compute).has_value());
  CHECK(tiny.size() == 1);
}

TEST_CASE("memory cache: hits, misses, failures and evictions of many threads") {
  struct Weighed {
    int key;
    std::shared_ptr<int> shared;
    bool operator==(const Weighed&) const = default;
  };
  MemoryCache<Weighed> cache({.entries = 16, .weight = 200}, [](const Weighed& value) { return 1U + value.key % 32; });
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&, thread] {
        std::uint32_t state = 12345U + static_cast<std::uint32_t>(thread);
        for (int n = 0; n < 3000; ++n) {
          state = state * 1664525U + 1013904223U;
          const int key = static_cast<int>(state >> 20) % 48;
          const bool fails = (state >> 8) % 16 == 0;
          const auto value = cache.get(std::to_string(key), [&]() -> Expected<Weighed> {
            if (fails) return weft::internal_error("fails");
            return Weighed{key, std::make_shared<int>(key)};
          });
          if (value && (value->key != key || *value->shared != key)) ++wrong;
          if (!value && value.error().message != "fails") ++wrong;
        }
      });
  }
  CHECK(wrong == 0);
  CHECK(cache.size() <= 16);
  CHECK(cache.weight() <= 200);
}

}  // namespace memory_cache_test
