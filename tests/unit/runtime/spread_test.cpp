// Counters and copies by threads: totals are right, and what a table has let go of is found nowhere.
#include "runtime/spread.h"

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

#include "runtime/kept.h"
#include "runtime/near_copies.h"

namespace weft::spread_test {
namespace {

/// Threads that are alive together, so that they have places of their own.
template <class Body>
void on_threads(unsigned count, const Body& body) {
  std::vector<std::jthread> running;
  for (unsigned number = 0; number < count; ++number) running.emplace_back([&body, number] { body(number); });
}

struct Things;

struct CountedKept : Kept {
  void give_back() noexcept override { ++given_back; }
  int given_back = 0;
};

}  // namespace

TEST_CASE("a counter of many threads has their sum") {
  SpreadCount count;
  on_threads(8, [&](unsigned number) {
    for (unsigned n = 0; n < 1000; ++n) count.add(number);
  });
  CHECK(count.total() == 28 * 1000);
}

TEST_CASE("no number is given twice") {
  std::vector<std::vector<std::uint64_t>> taken(6);
  on_threads(6, [&](unsigned number) {
    for (unsigned n = 0; n < 3000; ++n) taken[number].push_back(next_number<Things>());
  });
  std::set<std::uint64_t> all;
  for (const auto& some : taken) all.insert(some.begin(), some.end());
  CHECK(all.size() == 6 * 3000);
  CHECK(*all.begin() > 0);
}

TEST_CASE("a thread alone finds no copy; of several each finds its own, until the version is another") {
  NearCopies<std::shared_ptr<int>> copies;
  const auto nothing = [] {};
  std::uint64_t version = 1;
  const auto now = [&] { return version; };
  const auto apart = [] { return std::make_shared<int>(7); };
  copies.keep("a", version, now, apart);
  CHECK(!copies.find("a", version, nothing));
  on_threads(1, [&](unsigned) { CHECK(!copies.find("a", version, nothing)); });  // the second to ask
  copies.keep("a", version, now, apart);
  const auto found = copies.find("a", version, nothing);
  REQUIRE(found);
  CHECK(**found == 7);
  CHECK(!copies.find("b", version, nothing));
  version = 2;
  CHECK(!copies.find("a", version, nothing));
  CHECK(found->use_count() == 1);  // let go of as soon as it was seen to be of another version
}

TEST_CASE("what was kept while the version changed is not found, and clear() lets go of all") {
  NearCopies<std::shared_ptr<int>> copies;
  const auto nothing = [] {};
  on_threads(1, [&](unsigned) { (void)copies.find("a", 1, nothing); });
  (void)copies.find("a", 1, nothing);
  std::weak_ptr<int> kept;
  const auto apart = [&] {
    auto made = std::make_shared<int>(1);
    kept = made;
    return made;
  };
  copies.keep("a", 1, [] { return std::uint64_t{2}; }, apart);
  CHECK(kept.expired());
  copies.keep("a", 1, [] { return std::uint64_t{1}; }, apart);
  CHECK(!kept.expired());
  copies.clear();
  CHECK(kept.expired());
  CHECK(!copies.find("a", 1, nothing));
}

TEST_CASE("one in 64 uses of a copy is told to the table") {
  NearCopies<int> copies;
  int told = 0;
  const auto use = [&] { ++told; };
  on_threads(1, [&](unsigned) { (void)copies.find("a", 1, use); });
  (void)copies.find("a", 1, use);
  copies.keep("a", 1, [] { return std::uint64_t{1}; }, [] { return 3; });
  for (int n = 0; n < 640; ++n) CHECK(copies.find("a", 1, use) == 3);
  CHECK(told == 10);
}

TEST_CASE("what a thread used last goes last, however often it used it") {
  const auto one = std::make_shared<CountedKept>();
  const auto other = std::make_shared<CountedKept>();
  KeptList list;
  list.enlist(one);
  list.enlist(other);
  other->touch();
  for (int n = 0; n < 5; ++n) one->touch();
  CHECK(one->last_used() > other->last_used());
  CHECK(list.make_room([&] { return other->given_back > 0; }));
  CHECK(one->given_back == 0);
  other->touch();
  CHECK(list.make_room([&] { return one->given_back > 0; }));
  CHECK(other->given_back == 1);
}

TEST_CASE("of two that two threads use all the time each is told to be used again and again") {
  const auto one = std::make_shared<CountedKept>();
  const auto idle = std::make_shared<CountedKept>();
  one->touch();
  const std::uint64_t before = one->last_used();
  on_threads(1, [&](unsigned) { idle->touch(); });
  for (int n = 0; n < 64; ++n) one->touch();
  CHECK(one->last_used() > before);
  CHECK(one->last_used() > idle->last_used());
}

}  // namespace weft::spread_test
