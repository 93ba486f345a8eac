#include "engine/cache/memory_cache.h"

#include <doctest/doctest.h>

#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

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

TEST_CASE("memory cache: sixteen threads on one key compute once and share the value") {
  for (int round = 0; round < 20; ++round) {
    MemoryCache<int> cache;
    std::atomic<int> computed{0};
    std::atomic<int> wrong{0};
    std::latch start(16);
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 16; ++thread)
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
    CHECK(cache.hits() == 15);
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

TEST_CASE("memory cache: an exception passes through and leaves nothing behind") {
  MemoryCache<int> cache;
  CHECK_THROWS_AS((void)cache.get("key", []() -> Expected<int> { throw std::runtime_error("out of order"); }),
                  std::runtime_error);
  CHECK(cache.size() == 0);
  CHECK(cache.get("key", []() -> Expected<int> { return 1; }).value() == 1);
}

TEST_CASE("memory cache: beyond the capacity the least recently used goes") {
  MemoryCache<int> cache(3);
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
  MemoryCache<int> cache(1);
  const auto outer = cache.get("outer", [&]() -> Expected<int> {
    for (int n = 0; n < 5; ++n) CHECK(cache.get(std::to_string(n), [n]() -> Expected<int> { return n; }).value() == n);
    return 10;
  });
  CHECK(outer.value() == 10);
  CHECK(cache.get("outer", []() -> Expected<int> { return 11; }).value() == 10);
}
