// Elements looked up, entries visited and chosen, tensors cut and put together, against maps.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <iterator>
#include <random>
#include <utility>

#include "unit/runtime/reference.h"
#include "unit/sanitized.h"
#include "unit/share.h"
#include "weft/arrays.h"
#include "weft/entries.h"

namespace pieces_test {

using namespace weft;
using namespace weft::reference;

namespace {

Tensor built(const List& list, const Format& format) {
  auto tensor = build(coordinates(list, format.scalar), format, resources(), "T");
  REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error().message));
  return *tensor;
}

Format drawn_format(Random& random, const List& list) {
  if (list.extents.size() != 2 || random.chance(50)) return random.format(list);
  constexpr const char* with_gaps[] = {"hs", "sh", "bb", "db", "hd", "bs:1,0", "uq", "dh:1,0:f32"};
  return sparse_over(*parse_format(with_gaps[random.below(8)]), list.extents, list.tuples.size());
}

Entries within(const Entries& all, std::size_t mode, std::uint64_t begin, std::uint64_t end) {
  Entries some;
  for (const auto& [tuple, value] : all) {
    if (tuple[mode] < begin || tuple[mode] >= end) continue;
    Tuple moved = tuple;
    moved[mode] -= begin;
    some[moved] = value;
  }
  return some;
}

/// What for_each_entry visits.
Entries visited(const Tensor& tensor) {
  Entries all;
  const auto done = for_each_entry(tensor, [&](std::span<const std::uint64_t> at, double value) {
    CHECK(all.emplace(Tuple(at.begin(), at.end()), value).second);
    return true;
  }, resources());
  REQUIRE(done);
  return all;
}

}  // namespace

TEST_CASE("elements of every format, stored and absent") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::size_t order = 1 + random.below(4);
    const List list = random.list(order, 40);
    const Format format = drawn_format(random, list);
    INFO("seed ", seed, " format ", format.text());
    const Tensor tensor = built(list, format);
    const Entries expected = visited(tensor);
    CHECK(nonzeros(expected) == nonzeros(summed(list)));
    for (const auto& [tuple, value] : expected) CHECK(*at(tensor, tuple) == Element{value, true});
    for (int draw = 0; draw < 20; ++draw) {
      Tuple tuple;
      for (const std::uint64_t extent : list.extents) tuple.push_back(extent == 0 ? 0 : random.below(extent));
      const auto element = at(tensor, tuple);
      if (std::ranges::count(list.extents, 0) > 0) {
        CHECK(element.error().code == ErrorCode::out_of_range);
        continue;
      }
      REQUIRE(element);
      const auto known = expected.find(tuple);
      CHECK(element->stored == (known != expected.end()));
      CHECK(element->value == (known != expected.end() ? known->second : 0));
    }
  }
}

TEST_CASE("elements of every layout are those that are visited, zeros in slots and blocks included") {
  constexpr const char* layouts[] = {"bcsr(2,3)", "bcsr(2,2,unaligned)", "csb(2)", "ell", "ell(9)", "sell(2)", "dia", "dia(2)", "vbl",
                                     "skyline", "coo(unordered)", "(i,j) -> (i:d, j:s unordered)", "(i,j) -> (i:d, j:s desc)",
                                     "(i,j) -> (i/2:s, j:s<16>, i%2:d)", "(i,j) -> (j-2*i:s, i:d)", "(i,j) -> (i:d, j:h)",
                                     "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", "(i,j) -> (*:v, i:q, *:d, j:q)",
                                     "(i,j) -> (a:s, b:s, i-a:d(4), j-b:d(4))"};
  for (std::uint64_t seed = 1; seed <= 380; ++seed) {
    Random random(seed);
    List list{{9 + random.below(12), 9}, {}, {}};  // 9: slots for all columns
    for (std::uint64_t n = random.below(40); n > 0; --n) {
      list.tuples.push_back({random.below(list.extents[0]), random.below(list.extents[1])});
      list.values.push_back(static_cast<double>(random.below(3)));
    }
    const char* const layout = layouts[seed % std::size(layouts)];
    INFO("seed ", seed, " layout ", std::string(layout));
    const Tensor tensor = built(list, *parse_format(layout));
    const Entries expected = visited(tensor);
    CHECK(nonzeros(expected) == nonzeros(summed(list)));
    for (std::uint64_t i = 0; i < list.extents[0]; ++i) {
      for (std::uint64_t j = 0; j < list.extents[1]; ++j) {
        const auto known = expected.find({i, j});
        const auto element = at(tensor, {i, j});
        REQUIRE(element);
        CHECK(*element == (known != expected.end() ? Element{known->second, true} : Element()));
      }
    }
    for (const auto& [tuple, value] : expected) CHECK(*at(tensor, tuple) == Element{value, true});
  }
}

TEST_CASE("elements of strided memory, of order 0, of borrowed arrays that are wrong") {
  const std::vector<double> memory = {0, 1, 2, 3, 4, 5};
  const auto turned = borrow_dense({3, 2}, memory, {-1, 3}, 2);
  REQUIRE(turned);
  CHECK(at(*turned, {0, 0})->value == 2);
  CHECK(at(*turned, {2, 1})->value == 3);
  const auto scalar = from_dense({}, std::vector<double>{7}, resources());
  CHECK(*at(*scalar, {}) == Element{7, true});
  CHECK(*at(Tensor(), {}) == Element{0, false});
  CHECK(at(*turned, {0}).error().code == ErrorCode::order);
  CHECK(at(*turned, {3, 0}).error().message == "coordinate 3 in mode 0 is not below the extent 3");
  const std::vector<std::int32_t> pos = {0, 1};
  const std::vector<std::int32_t> crd = {0};
  const auto wrong = borrow_csr(2, 2, pos, crd, std::vector<double>{1});
  REQUIRE(wrong);
  CHECK(at(*wrong, {1, 1}).error().kind == ErrorKind::input);
}

TEST_CASE("who cancels waits for the loop at hand, not for the rest of a list") {
  std::vector<std::uint64_t> rows, columns;
  for (std::uint64_t n = 0; n < 60000; ++n) rows.push_back(n % 3000), columns.push_back(n * 7 % 2000);
  for (const char* const format : {"ds", "dia(8)", "coo(unordered)", "bcsr(2,2)"}) {
    const auto made = from_coo({3000, 2000}, {rows, columns}, std::vector<double>(60000, 1), *parse_format(format), resources());
    REQUIRE(made);
    using Call = std::function<Expected<void>(const Resources&)>;
    const auto told = [](const auto& result) { return result ? Expected<void>() : std::unexpected(result.error()); };
    const std::pair<const char*, Call> calls[] = {
        {"visit", [&](const Resources& with) { return for_each_entry(*made, [](auto, double) { return true; }, with); }},
        {"filter", [&](const Resources& with) { return told(filter(*made, [](auto, double) { return true; }, with, Calls::at_once)); }},
        {"split", [&](const Resources& with) { return told(split(*made, 1, {500}, with)); }}};
    for (const auto& [name, call] : calls) {
      INFO(std::string(format), " ", std::string(name));
      // The token is set in each of the loops in turn, until there are no more of them.
      bool reached = true;
      for (int wanted = 1; reached; ++wanted) {
        const Cancellation token;
        int begun = 0;
        int behind = 0;
        const Threads threads(2, [&](unsigned slots, const std::function<void(unsigned)>& body) {
          behind += token.cancelled() ? 1 : 0;
          if (++begun == wanted) token.cancel();
          for (unsigned slot = 0; slot < slots; ++slot) body(slot);
        });
        const auto done = call({.memory = Memory(), .threads = threads, .cancellation = token, .progress = {}});
        if (!done) CHECK(done.error().kind == ErrorKind::cancelled);
        CHECK(behind <= 2);
        reached = begun >= wanted;
      }
    }
  }
}

TEST_CASE("without a function to call there is an error") {
  const auto tensor = from_dense({5}, std::vector<double>{1, 2, 3, 4, 5}, resources());
  CHECK(for_each_entry(*tensor, {}, resources()).error().message == "there is no function that visits the entries");
  CHECK(filter(*tensor, {}, resources()).error().message == "there is no function that says which entries are kept");
}

TEST_CASE("a walk that ends early") {
  const auto tensor = from_dense({5}, std::vector<double>{1, 2, 3, 4, 5}, resources());
  std::vector<double> seen;
  REQUIRE(for_each_entry(*tensor, [&](std::span<const std::uint64_t>, double value) {
    seen.push_back(value);
    return value < 3;
  }, resources()));
  CHECK(seen == std::vector<double>{1, 2, 3});
  Resources cancelled = resources();
  cancelled.cancellation.cancel();
  CHECK(for_each_entry(*tensor, [](std::span<const std::uint64_t>, double) { return true; }, cancelled).error().kind ==
        ErrorKind::cancelled);
}

TEST_CASE("entries chosen, ranges, splits and what puts them together again") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::size_t order = 1 + random.below(4);
    const List list = random.list(order, 60);
    const Format format = drawn_format(random, list);
    INFO("seed ", seed, " format ", format.text());
    const Tensor tensor = built(list, format);
    const Entries all = nonzeros(summed(list));
    const auto odd = filter(tensor, [](std::span<const std::uint64_t> at, double) { return at[0] % 2 == 1; }, resources());
    REQUIRE(odd);
    Entries expected;
    for (const auto& [tuple, value] : all) {
      if (tuple[0] % 2 == 1) expected[tuple] = value;
    }
    CHECK(nonzeros(visited(*odd)) == expected);
    CHECK(odd->format().text() == tensor.format().text());
    const auto mode = static_cast<std::uint32_t>(random.below(order));
    const std::uint64_t extent = list.extents[mode];
    const std::uint64_t end = random.below(extent + 1);
    const std::uint64_t begin = random.below(end + 1);
    const auto cut = range(tensor, mode, begin, end, resources());
    REQUIRE(cut);
    CHECK(nonzeros(visited(*cut)) == within(all, mode, begin, end));
    CHECK(cut->extents()[mode] == end - begin);
    const auto parts = split(tensor, mode, {begin, end}, resources());
    REQUIRE(parts);
    REQUIRE(parts->size() == 3);
    CHECK(nonzeros(visited((*parts)[2])) == within(all, mode, end, extent));
    const auto joined = append(*parts, mode, resources());
    REQUIRE(joined);
    CHECK(joined->extents() == tensor.extents());
    CHECK(visited(*joined) == visited(tensor));
  }
}

namespace {

/// The same arrays, byte by byte.
bool identical(const Tensor& a, const Tensor& b) {
  if (a.format() != b.format() || a.extents() != b.extents() || !same_bytes(a.values(), b.values())) return false;
  for (std::size_t level = 0; level < a.order(); ++level) {
    const LevelArrays &one = a.levels()[level], &other = b.levels()[level];
    if (!same_bytes(one.pos, other.pos) || !same_bytes(one.crd, other.crd)) return false;
  }
  return true;
}

Resources on_threads(unsigned count) { return {Memory(), Threads(count), {}, {}}; }

/// Many entries, in several blocks for every number of threads above one; few different coordinates where `crowded`.
Tensor large(std::uint64_t seed, const std::string& format, bool crowded) {
  std::mt19937_64 dice(seed);
  const std::size_t order = parse_format(format)->order();
  Coordinates list;
  list.extents.assign(order, crowded ? 40 : 5000);
  list.extents.front() = crowded ? 3 : (std::uint64_t{1} << 33);
  list.count = 100'000;
  for (const std::uint64_t extent : list.extents) {
    const bool wide = extent > (std::uint64_t{1} << 32);
    auto crd = Buffer::allocate(list.count * (wide ? 8 : 4), Memory(), "crd");
    REQUIRE(crd);
    for (std::uint64_t n = 0; n < list.count; ++n) {
      if (wide) crd->as<std::uint64_t>()[n] = dice() % extent;
      if (!wide) crd->as<std::uint32_t>()[n] = static_cast<std::uint32_t>(dice() % extent);
    }
    list.crd.push_back(*crd);
  }
  list.values = *Buffer::allocate(list.count * 8, Memory(), "values");
  for (double& value : list.values.as<double>()) value = static_cast<double>(dice() % 7 + 1);
  auto tensor = build(std::move(list), *parse_format(format), on_threads(2), "T");
  REQUIRE(tensor);
  return *tensor;
}

}  // namespace

TEST_CASE("what is chosen, cut and put together is the same for every number of threads") {
  struct Case {
    std::string format;
    bool crowded;
    std::uint32_t mode;
  };
  const Case cases[] = {{"sss", false, 0}, {"sss:1,2,0", false, 1}, {"uqq", false, 0}, {"sss", true, 0}, {"uq:1,0", true, 1},
                        {"ds:1,0:f32", false, 1}, {"ss", false, 1}};
  std::uint64_t turn = 0;
  for (const Case& each : cases) {
    if (!test::is_drawn_sanitized(turn++)) continue;
    for (std::uint64_t seed = 1; seed <= std::max(1U, test::scaled(2)); ++seed) {
      CAPTURE(seed);
      CAPTURE(each.format);
      const Tensor tensor = large(seed, each.format, each.crowded);
      const std::uint64_t extent = tensor.extents()[each.mode];
      const std::vector<std::uint64_t> places = {0, extent / 3, extent / 3, extent / 3 + 1, extent};
      const VisitEntry keep = [](std::span<const std::uint64_t> at, double value) {
        return (at.back() + at.front()) % 3 == 1 || value == 7;
      };
      std::vector<Tensor> alone;
      for (const unsigned threads : {1U, 2U, 3U, 7U}) {
        CAPTURE(threads);
        const Resources resources = on_threads(threads);
        std::vector<Tensor> now;
        for (const Calls calls : {Calls::one_at_a_time, Calls::at_once}) now.push_back(*filter(tensor, keep, resources, calls));
        now.push_back(*range(tensor, each.mode, extent / 4, extent / 2 + 1, resources));
        const auto parts = split(tensor, each.mode, places, resources);
        REQUIRE(parts);
        REQUIRE(parts->size() == 6);
        std::ranges::copy(*parts, std::back_inserter(now));
        now.push_back(*append(*parts, each.mode, resources));
        CHECK(identical(now[0], now[1]));
        CHECK(identical(now.back(), tensor));
        for (const Tensor& one : now) CHECK(verify(one, resources, "a piece"));
        if (threads == 1) alone = now;
        for (std::size_t number = 0; number < now.size(); ++number) CHECK(identical(now[number], alone[number]));
      }
      std::uint64_t kept = 0, cut = 0;
      REQUIRE(for_each_entry(tensor, [&](std::span<const std::uint64_t> at, double value) {
        kept += keep(at, value) && !tensor.format().all_dense() ? 1 : 0;
        cut += at[each.mode] >= extent / 4 && at[each.mode] < extent / 2 + 1 ? 1 : 0;
        return true;
      }, resources()));
      CHECK(alone[0].nnz() == kept);
      CHECK(alone[2].nnz() == cut);
    }
  }
}

TEST_CASE("cut into more parts than go in one pass, without an entry, with one") {
  std::vector<std::uint32_t> crd;
  std::vector<double> values;
  std::vector<std::uint64_t> places;
  for (std::uint32_t n = 0; n < 2500; ++n) {
    if (n % 2 == 0) crd.push_back(n), values.push_back(n % 7 + 1);
    if (n > 0) places.push_back(n);
  }
  const auto tensor = from_coo({2500}, {crd}, values, resources());
  REQUIRE(tensor);
  const auto parts = split(*tensor, 0, places, resources());
  REQUIRE(parts);
  REQUIRE(parts->size() == 2500);
  for (std::size_t n = 0; n < parts->size(); ++n) {
    const Element expected{n % 2 == 0 ? static_cast<double>(n % 7 + 1) : 0.0, n % 2 == 0};
    CHECK(*at((*parts)[n], {0}) == expected);
  }
  CHECK(identical(*append(*parts, 0, resources()), *tensor));
  const auto nothing = filter(*tensor, [](std::span<const std::uint64_t>, double) { return false; }, on_threads(4), Calls::at_once);
  REQUIRE(nothing);
  CHECK(nothing->nnz() == 0);
  CHECK(identical(*append(std::vector{*nothing, *tensor}, 0, resources()), *append(std::vector{*nothing, *tensor}, 0, on_threads(3))));
  const auto empty = split(*nothing, 0, {1, 1}, on_threads(3));
  REQUIRE(empty);
  CHECK((*empty)[1].extents().front() == 0);
}

TEST_CASE("choosing ends soon when it is cancelled, and by what the function throws") {
  const Tensor tensor = large(3, "ss", false);
  for (const Calls calls : {Calls::one_at_a_time, Calls::at_once}) {
    Resources resources = on_threads(2);
    std::atomic<std::uint64_t> asked{0};
    const auto cancelled = filter(tensor, [&](std::span<const std::uint64_t>, double) {
      if (++asked == 1) resources.cancellation.cancel();
      return true;
    }, resources, calls);
    REQUIRE(!cancelled);
    CHECK(cancelled.error().kind == ErrorKind::cancelled);
    CHECK(asked < tensor.nnz());
    const VisitEntry throwing = [](std::span<const std::uint64_t>, double) -> bool { throw 7; };
    CHECK_THROWS_AS((void)filter(tensor, throwing, on_threads(2), calls), int);
  }
}

TEST_CASE("what cannot be cut or put together") {
  const std::vector<double> memory = {0, 1, 2, 3, 4, 5};
  const auto tensor = from_dense({2, 3}, memory, resources());
  CHECK(range(*tensor, 2, 0, 1, resources()).error().message == "mode 2 of a tensor with 2: they begin at 0");
  CHECK(range(*tensor, 1, 1, 4, resources()).error().code == ErrorCode::out_of_range);
  CHECK(range(*tensor, 1, 2, 1, resources()).error().code == ErrorCode::out_of_range);
  CHECK(split(*tensor, 1, {2, 1}, resources()).error().code == ErrorCode::out_of_range);
  CHECK(split(*tensor, 5, {}, resources()).error().code == ErrorCode::out_of_range);
  CHECK(append({}, 0, resources()).error().kind == ErrorKind::input);
  const auto vector = from_dense({6}, memory, resources());
  CHECK(append(std::vector{*tensor, *vector}, 0, resources()).error().code == ErrorCode::order);
  const auto turned = from_dense({3, 2}, memory, resources());
  CHECK(append(std::vector{*tensor, *turned}, 0, resources()).error().code == ErrorCode::extents_disagree);
  const std::vector<std::uint64_t> last = {(std::uint64_t{1} << 62) + 4};
  const auto far = from_coo({(std::uint64_t{1} << 62) + 5}, {last}, std::vector<double>{1}, resources());
  REQUIRE(far);
  CHECK(append(std::vector{*far, *far}, 0, resources()).error().code == ErrorCode::out_of_range);
  const auto beyond = range(*far, 0, std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 5, resources());
  REQUIRE(beyond);
  CHECK(at(*beyond, {4})->value == 1);
  // f64 if one of them is.
  const auto narrow = from_dense({2}, std::vector<float>{1, 2}, resources());
  const auto mixed = append(std::vector{*narrow, *vector}, 0, resources());
  REQUIRE(mixed);
  CHECK(mixed->format().scalar == Scalar::f64);
  CHECK(at(*mixed, {7})->value == 5);
}

}  // namespace pieces_test
