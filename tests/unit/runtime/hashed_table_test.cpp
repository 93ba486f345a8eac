#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/appended.h"
#include "runtime/hashed_memory.h"
#include "unit/runtime/earlier.h"
#include "unit/share.h"

namespace hashed_table_test {

using namespace weft;
using reference::Earlier;

namespace {

using Key = std::vector<std::uint64_t>;

double value_at(const HashedTable& table, std::uint64_t entry) {
  return reinterpret_cast<const double*>(table.values)[entry];
}

void add(HashedTable& table, const Key& key, double value) {
  const std::uint64_t entry = weft_hashed_insert(&table, key.data());
  REQUIRE(entry != no_entry);
  reinterpret_cast<double*>(table.values)[entry] += value;
}

}  // namespace

TEST_CASE("a hashed table is a map that is read in order") {
  HashedMemory memory(Memory(), "w");
  HashedTable table = memory.table();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    const std::uint64_t modes = 1 + seed % 4;
    // Coordinates that fit side by side into 64 bits, and such that do not.
    const std::uint64_t extent = seed % 3 == 0 ? ~std::uint64_t{0} : 1 + random() % 30;
    const std::uint64_t announced = seed % 3 == 1 ? extent : std::max<std::uint64_t>(extent, std::uint64_t{1} << seed);
    const std::vector<std::uint64_t> extents(modes, announced);
    weft_hashed_open(&table, modes, sizeof(double), extents.data(), 0);
    CHECK((table.packed != 0) == (modes * static_cast<unsigned>(std::bit_width(announced - 1)) <= 64));
    for (int use = 0; use < 2; ++use) {  // the second time after it was emptied
      std::map<Key, double, Earlier> expected;
      const std::uint64_t entries = random() % 2000;
      for (std::uint64_t n = 0; n < entries; ++n) {
        Key key(modes);
        for (std::uint64_t& coordinate : key) coordinate = random() % extent;
        if (n % 7 == 0 && !expected.contains(key)) {  // made and taken back
          CHECK(weft_hashed_insert(&table, key.data()) == expected.size());
          weft_hashed_remove_last(&table);
          CHECK(weft_hashed_find(&table, key.data()) == no_entry);
          continue;
        }
        add(table, key, static_cast<double>(n));
        expected[key] += static_cast<double>(n);
      }
      CHECK(table.size == expected.size());
      for (const auto& [key, value] : expected) {
        const std::uint64_t entry = weft_hashed_find(&table, key.data());
        REQUIRE(entry < table.size);
        CHECK(value_at(table, entry) == value);
      }
      REQUIRE(weft_hashed_sort(&table) == 0);
      std::uint64_t place = 0;
      for (const auto& [key, value] : expected) {
        const std::uint64_t* record = table.sorted + place++ * (modes + 1);
        CHECK(std::equal(key.begin(), key.end(), record));
        CHECK(value_at(table, record[modes]) == value);
      }
      weft_hashed_clear(&table);
      CHECK(table.size == 0);
      CHECK(std::all_of(table.slots, table.slots + table.slot_count, [](const HashedTable::Slot& slot) { return slot.entry == 0; }));
    }
  }
}

TEST_CASE("a hashed table that may not grow says so and stays whole") {
  HashedMemory memory(Memory(20000), "workspace w");
  HashedTable table = memory.table();
  const std::uint64_t extent = 20000;
  weft_hashed_open(&table, 1, sizeof(double), &extent, 0);
  std::uint64_t key = 0;
  while (weft_hashed_insert(&table, &key) != no_entry) {
    ++key;
    REQUIRE(key < 20000);
  }
  CHECK(table.status == static_cast<std::int32_t>(KernelStatus::limit));
  REQUIRE(memory.refused().has_value());
  CHECK(memory.refused()->kind == ErrorKind::resource);
  CHECK(memory.refused()->message.find("workspace w") != std::string::npos);
  CHECK(table.size == key);
  for (std::uint64_t n = 0; n < key; ++n) CHECK(weft_hashed_find(&table, &n) == n);
}

TEST_CASE("keys with modes of one coordinate, of no coordinate, and of all") {
  HashedMemory memory(Memory(), "w");
  HashedTable table = memory.table();
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {1, ~std::uint64_t{0}}, {~std::uint64_t{0}, 1}, {1, 1, 1}, {0, 5}, std::vector<std::uint64_t>(20, 2)};
  for (const std::vector<std::uint64_t>& extents : shapes) {
    weft_hashed_open(&table, extents.size(), sizeof(double), extents.data(), 0);
    std::map<Key, double, Earlier> expected;
    for (std::uint64_t n = 0; n < 300; ++n) {
      Key key;
      for (const std::uint64_t extent : extents) key.push_back(extent < 2 ? 0 : (n * n * 0x9E3779B97F4A7C15u) % extent);
      add(table, key, 1.0);
      expected[key] += 1.0;
    }
    REQUIRE(weft_hashed_sort(&table) == 0);
    REQUIRE(table.size == expected.size());
    std::uint64_t place = 0;
    for (const auto& [key, value] : expected) {
      const std::uint64_t* record = table.sorted + place++ * (extents.size() + 1);
      CHECK(std::equal(key.begin(), key.end(), record));
      CHECK(value_at(table, record[extents.size()]) == value);
    }
  }
}

TEST_CASE("sorting stops when it is cancelled") {
  HashedMemory memory(Memory(), "w");
  HashedTable table = memory.table();
  const std::uint64_t extent = 1000;
  weft_hashed_open(&table, 1, sizeof(double), &extent, 0);
  for (std::uint64_t n = 0; n < 1000; ++n) add(table, {(n * 7) % 1000}, 1.0);
  const std::uint8_t cancelled = 1;
  table.cancelled = &cancelled;
  CHECK(weft_hashed_sort(&table) == static_cast<std::int32_t>(KernelStatus::cancelled));
  table.cancelled = nullptr;
  CHECK(weft_hashed_sort(&table) == 0);
}

// Gathered tuples: a block of two scalars each, some of them taken back, from all different to all equal keys.
template <class T>
void check_gathered(std::uint64_t seed) {
  INFO("seed ", seed, ", scalars of ", sizeof(T), " bytes");
  std::mt19937_64 random(seed);
  HashedMemory memory(Memory(), "w");
  HashedTable table = memory.table();
  const std::vector<std::uint64_t> extents = {1 + random() % 100'000, 1 + random() % 1000, 1 + random() % 3};
  weft_hashed_open(&table, extents.size(), 2 * sizeof(T), extents.data(), sizeof(T));
  for (int use = 0; use < 3; ++use) {
    CHECK(table.deferred == 1);
    std::map<Key, std::pair<T, T>, Earlier> expected;
    const std::uint64_t entries = random() % 6000;
    const std::uint64_t distinct = 1 + random() % 6000;
    for (std::uint64_t n = 0; n < entries; ++n) {
      std::minstd_rand drawn(static_cast<std::uint32_t>(random() % distinct));
      const Key key = {drawn() % extents[0], drawn() % extents[1], drawn() % extents[2]};
      const std::uint64_t entry = weft_hashed_insert(&table, key.data());
      REQUIRE(entry < table.size);
      if (random() % 5 == 0) {
        if (table.made != 0) weft_hashed_remove_last(&table);
        continue;
      }
      T* values = reinterpret_cast<T*>(table.values) + 2 * entry;
      values[0] += static_cast<T>(n % 50);
      values[1] -= 1;
      expected[key].first += static_cast<T>(n % 50);
      expected[key].second -= 1;
    }
    for (int sorted = 0; sorted < 2; ++sorted) {  // as often as one likes
      REQUIRE(weft_hashed_sort(&table) == 0);
      REQUIRE(table.listed == expected.size());
      std::uint64_t place = 0;
      std::uint64_t wrong = 0;
      for (const auto& [key, value] : expected) {
        const std::uint64_t* record = table.sorted + place++ * 4;
        const T* values = reinterpret_cast<const T*>(table.values) + 2 * record[3];
        if (!std::equal(key.begin(), key.end(), record) || values[0] != value.first || values[1] != value.second) ++wrong;
      }
      CHECK(wrong == 0);
    }
    weft_hashed_clear(&table);
    CHECK(table.size == 0);
    CHECK(std::all_of(table.slots, table.slots + table.slot_count, [](const HashedTable::Slot& slot) { return slot.entry == 0; }));
  }
}

TEST_CASE("tuples are appended, sorted and summed, or looked up where keys repeat") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    check_gathered<double>(seed);
    check_gathered<float>(seed);
  }
}

namespace {

/// Tables appended below three fibers of a result, compared array by array with the maps of their tuples. `scalars`: 8 where tuples
/// may be appended, else 0.
void check_appended(std::uint64_t seed, const std::vector<std::uint64_t>& extents, const std::string& kinds, std::uint64_t scalars) {
  INFO("seed ", seed, ", ", kinds, ", ", scalars, " bytes");
  std::mt19937_64 random(seed);
  HashedMemory memory(Memory(), "w");
  HashedTable table = memory.table();
  AppendedShape shape{*parse_format(kinds), {9}, "A"};
  shape.extents.insert(shape.extents.end(), extents.begin(), extents.end());
  for (std::size_t level = 0; level < shape.format.levels.size(); ++level) {
    shape.format.levels[level].pos_bits = 64;
    shape.format.levels[level].crd_bits = shape.extents[level] > UINT32_MAX ? 64 : 32;
  }
  AppendedChunk chunk(shape, 0, Memory());
  Expected<AppendedOutput> output = chunk.open();
  REQUIRE(output.has_value());
  output->owner = &chunk;
  std::uint64_t wide = 0;
  for (std::size_t level = 0; level < shape.format.levels.size(); ++level)
    if (shape.format.levels[level].crd_bits == 64) wide |= std::uint64_t{1} << level;
  AppendedLevel* levels = output->levels;
  weft_hashed_open(&table, extents.size(), sizeof(double), extents.data(), scalars);
  std::map<Key, double, Earlier> expected;
  std::vector<std::uint64_t> counted(shape.format.levels.size(), 0);
  std::vector<AppendedLevel> counts(shape.format.levels.size());
  for (std::uint64_t fiber = 0; fiber < 3; ++fiber) {
    const std::uint64_t entries = 1 + random() % (seed % 4 == 0 ? 20'000 : 300);
    const std::uint64_t distinct = 1 + random() % (2 * entries);
    for (std::uint64_t n = 0; n < entries; ++n) {
      std::mt19937_64 drawn(random() % distinct);
      Key key;
      for (const std::uint64_t extent : extents) key.push_back(drawn() % std::min<std::uint64_t>(extent, n % 2 == 0 ? 4 : extent));
      add(table, key, static_cast<double>(n % 50));
      key.insert(key.begin(), 2 * fiber);
      expected[key] += static_cast<double>(n % 50);
    }
    if (levels[1].pos_capacity < fiber + 1) REQUIRE(grow_appended(&*output, 1, fiber + 1, levels[1].size + 1) == 0);
    levels[1].pos[fiber] = levels[1].size;
    levels[1].closed = fiber;
    AppendedOutput only_sizes{counts.data(), nullptr, 0, nullptr};
    REQUIRE(weft_hashed_append(&table, &only_sizes, 1, wide, 1, nullptr) == 0);
    REQUIRE(weft_hashed_append(&table, &*output, 1, wide, 0, &grow_appended) == 0);
    static_cast<std::uint32_t*>(levels[0].crd)[fiber] = static_cast<std::uint32_t>(2 * fiber);
    levels[0].size = fiber + 1;
    weft_hashed_clear(&table);
  }
  levels[1].pos[3] = levels[1].size;
  const std::size_t order = shape.format.levels.size();
  std::vector<std::vector<std::uint64_t>> crd(order);
  std::vector<std::vector<std::uint64_t>> pos(order, {0});
  std::vector<double> values;
  Key before;
  for (const auto& [key, value] : expected) {
    std::size_t level = 0;
    while (!before.empty() && key[level] == before[level]) ++level;
    for (; level < order; ++level) {
      crd[level].push_back(key[level]);
      if (level + 1 < order) pos[level + 1].push_back(0);
    }
    for (std::size_t above = 1; above < order; ++above) pos[above].back() = crd[above].size();
    values.push_back(value);
    before = key;
  }
  for (std::size_t level = 0; level < order; ++level) {
    CAPTURE(level);
    REQUIRE(levels[level].size == crd[level].size());
    if (level > 0) CHECK(counts[level].size == crd[level].size());
    std::uint64_t wrong = 0;
    for (std::size_t n = 0; n < crd[level].size(); ++n)
      wrong += crd[level][n] != ((wide >> level & 1) != 0 ? static_cast<std::uint64_t*>(levels[level].crd)[n]
                                                          : static_cast<std::uint32_t*>(levels[level].crd)[n]);
    for (std::size_t n = 0; level > 0 && n < pos[level].size(); ++n) wrong += pos[level][n] != levels[level].pos[n];
    CHECK(wrong == 0);
  }
  CHECK(std::equal(values.begin(), values.end(), reinterpret_cast<const double*>(output->values)));
}

}  // namespace

TEST_CASE("what a table holds is appended to a result, tuples of equal keys as one entry") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const std::uint64_t scalars : {0, 8}) {
      if (!test::is_drawn_sanitized(seed)) continue;
      check_appended(seed, {70}, "ss", scalars);
      check_appended(seed, {1, 3000}, "sss", scalars);
      check_appended(seed, {5, 1, 900, 2000}, "sssss", scalars);
      check_appended(seed, {6, 5, 4, 3, 2, 7}, "sssssss", scalars);
      check_appended(seed, {30, std::uint64_t{1} << 40, 5}, "ssss", scalars);
      check_appended(seed, {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, "sss", scalars);  // no number of 64 bits
      check_appended(seed, std::vector<std::uint64_t>(17, 2), "ssssssssssssssssss", scalars);     // too many modes for one
    }
}

TEST_CASE("keys are looked up as soon as most tuples repeat one") {
  HashedMemory memory(Memory(), "w");
  HashedTable table = memory.table();
  const std::uint64_t extent = 100'000;
  weft_hashed_open(&table, 1, sizeof(double), &extent, sizeof(double));
  for (std::uint64_t n = 0; n < 5000; ++n) add(table, {n}, 1.0);
  CHECK(table.deferred == 1);
  weft_hashed_clear(&table);
  for (std::uint64_t n = 0; n < 5000; ++n) add(table, {n % 10}, 1.0);
  CHECK(table.deferred == 0);
  CHECK(table.size == 10);
}

namespace {

/// Coordinates in slots, a third of them free; the pairs that a list of them in order has.
template <class T>
void check_sorted_slots(std::uint64_t seed, HashedTable& list) {
  std::mt19937_64 random(seed);
  const std::uint64_t extent = std::uint64_t{1} << (1 + seed % (sizeof(T) == 4 ? 31 : 60));
  const std::uint64_t slots = seed % 5 == 0 ? 0 : random() % (seed % 3 == 0 ? 40 : 4000);
  std::vector<T> crd(7 + slots, std::numeric_limits<T>::max());
  std::map<std::uint64_t, std::uint64_t> taken;
  for (std::uint64_t slot = 7; slot < crd.size(); ++slot) {
    const std::uint64_t coordinate = random() % extent;
    if (random() % 3 == 0 || taken.contains(coordinate)) continue;
    crd[slot] = static_cast<T>(coordinate);
    taken[coordinate] = slot;
  }
  const std::uint64_t first = seed % 2 == 0 ? 0 : random() % extent;
  const std::uint64_t last = seed % 2 == 0 ? extent : first + random() % (extent - first);
  REQUIRE(weft_sort_slots(&list, crd.data(), sizeof(T) * 8, 7, crd.size(), first, last) == 0);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected(taken.lower_bound(first), taken.lower_bound(last));
  REQUIRE(list.listed == expected.size());
  for (std::uint64_t n = 0; n < list.listed; ++n) {
    CHECK(list.sorted[2 * n] == expected[n].first);
    CHECK(list.sorted[2 * n + 1] == expected[n].second);
  }
}

}  // namespace

TEST_CASE("slots are listed in the order of their coordinates") {
  HashedMemory memory(Memory(), "slots");
  HashedTable list = memory.table();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed ", seed);
    check_sorted_slots<std::uint32_t>(seed, list);
    check_sorted_slots<std::uint64_t>(seed, list);
  }
}

TEST_CASE("listing slots says why it cannot") {
  std::vector<std::uint32_t> crd(4096);
  for (std::uint32_t slot = 0; slot < crd.size(); ++slot) crd[slot] = slot * 7 % 4093;
  HashedMemory small(Memory(1000), "slots");
  HashedTable list = small.table();
  CHECK(weft_sort_slots(&list, crd.data(), 32, 0, crd.size(), 0, 5000) == static_cast<std::int32_t>(KernelStatus::limit));
  REQUIRE(small.refused());
  HashedMemory memory(Memory(), "slots");
  HashedTable cancelled = memory.table();
  const std::uint8_t flag = 1;
  cancelled.cancelled = &flag;
  CHECK(weft_sort_slots(&cancelled, crd.data(), 32, 0, crd.size(), 0, 5000) == static_cast<std::int32_t>(KernelStatus::cancelled));
}

}  // namespace hashed_table_test
