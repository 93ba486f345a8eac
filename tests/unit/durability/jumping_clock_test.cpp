// The clock jumps by hours and by decades, ahead and back, between any two uses of the disk cache.
#include "unit/durability/jumping_clock.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/cache/disk_cache.h"
#include "unit/cache/cache_fixture.h"

namespace jumping_clock_test {

using weft::DiskCache;

TEST_CASE("jumping clock: an entry is what was stored last or a miss, and the cap holds") {
  const TemporaryDirectory temporary;
  constexpr std::uint64_t cap = 14000;
  const DiskCache cache(temporary.path().string(), cap);
  constexpr std::int64_t hour = 3600, decade = 87600 * hour;
  const std::vector<std::int64_t> jumps = {0, 59, -59, hour + 1, -hour - 1, decade, -decade, 3 * decade};
  std::map<std::string, std::string> last;
  std::mt19937 random(1);
  std::size_t hits = 0, misses = 0, gone = 0;
  for (int step = 0; step < 1000; ++step) {
    CAPTURE(step);
    if (random() % 3 == 0) durability::jump(jumps[random() % jumps.size()]);
    const std::string key = "key " + std::to_string(random() % 8);
    if (random() % 2 == 0) {
      // Larger than an eighth of the cap, so that every store sweeps.
      last[key] = std::string(2500 + random() % 500, static_cast<char>('a' + random() % 26));
      cache.store(key, last[key]);
      // Where the clock went back by less than an hour, as clocks of machines differ, the others are younger.
      const auto stored = cache.load(key);
      const bool is_last = stored && *stored == last[key];
      CHECK((is_last || !stored));
      gone += stored ? 0 : 1;
      CHECK(cache.status().bytes <= cap);
    } else if (const auto found = cache.load(key)) {
      const bool is_last = *found == last[key];
      CHECK(is_last);
      ++hits;
    } else {
      ++misses;
    }
  }
  durability::jump(0);
  CHECK(gone < 20);
  CHECK(hits > 100);
  CHECK(misses > 50);
  CHECK(cache.status().unfinished == 0);
}

}  // namespace jumping_clock_test
