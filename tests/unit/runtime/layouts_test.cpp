#include "runtime/layouts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "runtime/convert.h"
#include "runtime/kept.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"
#include "unit/runtime/reference.h"
#include "weft/file.h"
#include "weft/host.h"

namespace layouts_test {

using namespace weft;
using namespace weft::reference;

namespace {

LaidOut laid(const Tensor& tensor, const Format& format, bool changes = false, const Resources& with = resources()) {
  auto made = laid_out(tensor, format, changes, with, "T");
  if (!made) MESSAGE(made.error().message);
  REQUIRE(made);
  REQUIRE(verify(made->tensor, resources(), "T"));
  return *made;
}

/// Of up to four modes and forty entries.
Tensor drawn_tensor(Random& random) {
  const std::size_t order = 1 + random.below(4);
  const List list = random.list(order, 40);
  auto made = build(coordinates(list), random.format(list), resources(), "T");
  REQUIRE(made);
  return std::move(*made);
}

/// Where there is no entry (gaps, zeros of blocks) stays 0.
void add_one(const Tensor& tensor) {
  if (tensor.format().scalar == Scalar::f64) {
    for (double& value : tensor.writable_values<double>()) value += value > 0 ? 1 : 0;
  } else {
    for (float& value : tensor.writable_values<float>()) value += value > 0 ? 1.0f : 0.0f;
  }
}

}  // namespace

TEST_CASE("layouts: converted once, found again, filled anew when values change, as convert() has them") {
  std::size_t refilled = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Tensor tensor = drawn_tensor(random);
    const Format format = sparse_over(random.format(tensor.order()), tensor.extents(), tensor.nnz());
    CAPTURE(tensor.format().text());
    CAPTURE(format.text());
    const auto expected = [&] { return stored(*convert(tensor, format, resources(), "T")); };
    const auto first = laid_out(tensor, format, random.chance(50), resources(), "T");
    if (!first) continue;  // a singleton level that these entries do not fit into
    const bool given = tensor.format() == format;
    CHECK(first->origin == (given ? LayoutOrigin::given : LayoutOrigin::made));
    CHECK(stored(first->tensor) == expected());
    CHECK(laid(tensor, format).origin == (given ? LayoutOrigin::given : LayoutOrigin::known));
    for (int round = 0; round < 2; ++round) {
      add_one(tensor);
      const LaidOut after = laid(tensor, format);
      CHECK(stored(after.tensor) == expected());
      refilled += after.origin == LayoutOrigin::refilled;
    }
  }
  CHECK(refilled > 200);
}

TEST_CASE("layouts: values read through places are those that convert() moves, also when they change") {
  std::size_t through = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Tensor tensor = drawn_tensor(random);
    Format format = random.chance(20) ? tensor.format() : sparse_over(random.format(tensor.order()), tensor.extents(), tensor.nnz());
    if (!is_compressed(format.levels.back().kind) && !is_per_parent(format.levels.back().kind)) continue;
    if (!random.chance(20)) format.scalar = tensor.format().scalar;
    CAPTURE(tensor.format().text());
    CAPTURE(format.text());
    for (int round = 0; round < 3; ++round) {
      CAPTURE(round);
      const auto placed = laid_out_through_places(tensor, format, true, resources(), "T");
      if (!placed) break;  // a singleton level that these entries do not fit into
      const auto expected = convert(tensor, format, resources(), "T");
      REQUIRE(expected);
      CHECK(placed->tensor.format() == format);
      const bool shared = TensorParts::values(placed->tensor) == TensorParts::values(tensor);
      through += shared && !(tensor.format() == format);
      const bool whole = tensor.format().all_dense() || values_decide_pattern(tensor, format);
      const LayoutOrigin changed = shared ? LayoutOrigin::known : whole ? LayoutOrigin::made : LayoutOrigin::refilled;
      CHECK(placed->origin == (tensor.format() == format ? LayoutOrigin::given : round == 0 ? LayoutOrigin::made : changed));
      // Gathered through the places it is the converted tensor.
      const std::uint64_t positions = expected->positions(tensor.order() - 1);
      REQUIRE(placed->places.size_bytes() == positions * placed->bits / 8);
      auto values = Buffer::allocate(positions * scalar_bytes(format.scalar), resources().memory, "T");
      REQUIRE(values);
      with_element(format.scalar, [&]<class T>(T) {
        const auto from = placed->tensor.values().as<const T>();
        for (std::uint64_t n = 0; n < positions; ++n) {
          const std::uint64_t place = placed->bits == 32 ? placed->places.as<const std::uint32_t>()[n]
                                                         : placed->places.as<const std::uint64_t>()[n];
          REQUIRE(place >= 1);
          REQUIRE(place <= from.size());
          values->as<T>()[n] = from[place - 1];
        }
      });
      CHECK(stored(TensorParts::with_values(placed->tensor, *values, 0, format.scalar)) == stored(*expected));
      add_one(tensor);
    }
  }
  CHECK(through > 30);
}

TEST_CASE("layouts: values that no cache of a core holds are gathered as those that it does, far apart and near") {
  for (const Scalar scalar : {Scalar::f64, Scalar::f32}) {
    for (const char* to : {"sss:2,1,0", "sss:0,2,1", "ssd:2,1,0"}) {
      CAPTURE(to);
      auto tensor = generate_tensor("sparse(100x150x50,nnz=300000,seed=3)", {}, resources(), "T");
      REQUIRE(tensor);
      Format given = tensor->format();
      given.scalar = scalar;
      tensor = convert(*tensor, given, resources(), "T");
      REQUIRE(tensor);
      Format format = *parse_format(to);
      format.scalar = scalar == Scalar::f64 ? Scalar::f32 : Scalar::f64;
      (void)laid(*tensor, format, true);
      double next = 0;  // small integers, which f32 holds
      if (scalar == Scalar::f64) {
        for (double& value : tensor->writable_values<double>()) value = next = next == 1000 ? 1 : next + 1;
      } else {
        for (float& value : tensor->writable_values<float>()) value = static_cast<float>(next = next == 1000 ? 1 : next + 1);
      }
      const LaidOut after = laid(*tensor, format);
      CHECK(after.origin == LayoutOrigin::refilled);
      const auto expected = convert(*tensor, format, resources(), "T");
      REQUIRE(expected);
      if (format.scalar == Scalar::f64) CHECK(std::ranges::equal(after.tensor.values().as<double>(), expected->values().as<double>()));
      if (format.scalar == Scalar::f32) CHECK(std::ranges::equal(after.tensor.values().as<float>(), expected->values().as<float>()));
    }
  }
}

TEST_CASE("layouts: other values over a pattern take its layout, and leave those of the first alone") {
  Random random(7);
  const auto tensor = build(coordinates(random.short_list(3, 60)), *parse_format("sss"), resources(), "T");
  REQUIRE(tensor);
  const Format format = *parse_format("sss:2,0,1");
  const LaidOut first = laid(*tensor, format);
  const auto before = stored(first.tensor);
  std::vector<double> doubles(tensor->nnz(), 3);
  const auto other = same_pattern(*tensor, doubles);
  REQUIRE(other);
  const LaidOut second = laid(*other, format);
  CHECK(second.origin == LayoutOrigin::refilled);
  CHECK(second.tensor.levels()[0].crd.data() == first.tensor.levels()[0].crd.data());
  for (const auto& [tuple, value] : stored(second.tensor)) CHECK(value == 3);
  CHECK(stored(first.tensor) == before);
  std::vector<float> singles(tensor->nnz(), 5);
  const auto narrow = same_pattern(*tensor, singles);
  REQUIRE(narrow);
  CHECK(narrow->format().scalar == Scalar::f32);
  CHECK(statistics(*narrow, Threads(1)).format().scalar == Scalar::f32);
  CHECK(statistics(*narrow, Threads(1)).distinct(3) == statistics(*tensor, Threads(1)).distinct(3));
  for (const auto& [tuple, value] : stored(laid(*narrow, format).tensor)) CHECK(value == 5);
  CHECK_FALSE(same_pattern(*tensor, std::vector<double>(tensor->nnz() + 1)));
}

TEST_CASE("layouts: values that stay in their order are the operand's own, and never written to") {
  Random random(9);
  const auto listed = random.short_list(3, 60);
  const Tensor stored = *build(coordinates(listed), *parse_format("sss"), resources(), "T");
  const std::size_t bytes = stored.values().size_bytes();
  void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  std::memcpy(page, stored.values().data(), bytes);
  REQUIRE(::mprotect(page, bytes, PROT_READ) == 0);
  for (const std::string_view text : {"uqq", "dss", "suq", "sss:2,1,0"}) {
    CAPTURE(text);
    TensorArrays arrays = stored.arrays();
    arrays.values = Buffer::borrow(page, bytes);
    const Tensor lent(std::move(arrays));
    for (int turn = 0; turn < 3; ++turn) {
      const Tensor made = laid(lent, *parse_format(text)).tensor;
      CHECK(weft::reference::stored(made) == weft::reference::stored(stored));
      lent.values_changed();
    }
  }
  // Of other values over the pattern the first ones stay as they are.
  const Tensor first = *build(coordinates(listed), *parse_format("sss"), resources(), "T");
  const auto before = weft::reference::stored(first);
  laid(first, *parse_format("uqq"));
  auto values = Buffer::allocate(bytes, Memory(), "T");
  REQUIRE(values);
  const Tensor others = *same_pattern(first, *values, Scalar::f64);
  laid(others, *parse_format("uqq"));
  CHECK(weft::reference::stored(first) == before);
  ::munmap(page, bytes);
}

TEST_CASE("layouts: diagonals of the host keep the pattern of their plain copy, zeros included, when values change") {
  const std::vector<std::uint32_t> pos{0, 2}, crd{3, 1};  // j-i is 1 and -1 over 3 rows
  std::vector<double> values{9, 1, 2, 3, 0, 4, 9, 9};      // the first of diagonal 1, the last two of -1 are outside
  const auto tensor = borrow(*parse_format("(i,j) -> (j-i:s unordered, j:d)"), {3, 4}, {{pos, crd}, {}}, values);
  REQUIRE(tensor);
  const Tensor diagonals = trusted(*tensor);
  const Format rows = *parse_format("ds");
  const auto expected = [&] { return stored(*convert(diagonals, rows, resources(), "T")); };
  CHECK(laid(diagonals, rows, true).origin == LayoutOrigin::made);
  CHECK(laid(diagonals, rows).tensor.nnz() == 5);
  for (const double value : {5.0, 0.0, 7.0}) {
    values[4] = values[1] = value;
    diagonals.values_changed();
    const LaidOut after = laid(diagonals, rows);
    CHECK(after.origin == LayoutOrigin::refilled);
    CHECK(after.tensor.nnz() == 5);
    CHECK(stored(after.tensor) == expected());
  }
}

TEST_CASE("layouts: values take the memory of those that are gone, never of those that are read") {
  Random random(11);
  const auto tensor = build(coordinates(random.short_list(3, 60)), *parse_format("sss"), resources(), "T");
  REQUIRE(tensor);
  const Format format = *parse_format("sss:2,0,1");
  (void)laid(*tensor, format);
  const auto all = [&](double value) { return std::vector<double>(tensor->nnz(), value); };
  const auto refilled = [&](const std::vector<double>& values) {
    const LaidOut made = laid(*same_pattern(*tensor, values), format);
    CHECK(made.origin == LayoutOrigin::refilled);
    return made.tensor;
  };
  const std::vector<double> twos = all(2), threes = all(3), fours = all(4);
  const void* memory = refilled(twos).values().data();
  CHECK(refilled(threes).values().data() == memory);
  {
    const Tensor read = refilled(fours);
    CHECK(read.values().data() == memory);
    CHECK(refilled(twos).values().data() != memory);
    CHECK(std::ranges::equal(read.values().as<double>(), fours));
  }
  const Tensor again = refilled(threes);
  CHECK(std::ranges::equal(again.values().as<double>(), threes));
  // In place, while the last ones filled are somebody else's.
  add_one(*tensor);
  CHECK(stored(laid(*tensor, format).tensor) == stored(*convert(*tensor, format, resources(), "T")));
  CHECK(std::ranges::equal(again.values().as<double>(), threes));
}

TEST_CASE("layouts: NaN stays where it is, and finiteness is asked of the values as they are") {
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  std::vector<double> values = {1, 2, 3, 4};
  const Tensor tensor = *borrow_csr(3, 4, pos, crd, values);
  const Format columns = *parse_format("ds:1,0");
  const Threads threads(1);
  CHECK(statistics(tensor, threads).finite());
  CHECK(stored(laid(tensor, columns).tensor).size() == 4);
  values[2] = std::nan("");
  CHECK(statistics(tensor, threads).finite());  // nothing was announced
  tensor.values_changed();
  CHECK_FALSE(statistics(tensor, threads).finite());
  const LaidOut changed = laid(tensor, columns);
  CHECK(changed.origin == LayoutOrigin::refilled);
  CHECK_FALSE(statistics(changed.tensor, threads).finite());
  values[2] = 9;
  tensor.values_changed();
  CHECK(statistics(laid(tensor, columns).tensor, threads).finite());
}

TEST_CASE("layouts: given back before a charge is refused, the least recently used first, and made again") {
  const Memory memory(1 << 20);
  const Resources limited{memory, Threads(1), {}, {}};
  Random random(3);
  const auto tensor = build(coordinates(random.short_list(2, 4000)), *parse_format("ss"), resources(), "T");
  REQUIRE(tensor);
  const auto by_columns = stored(laid(*tensor, *parse_format("ss:1,0"), false, limited).tensor);
  (void)laid(*tensor, *parse_format("uq:1,0"), false, limited);
  CHECK(laid(*tensor, *parse_format("ss:1,0"), false, limited).origin == LayoutOrigin::known);
  const std::uint64_t kept = memory.used();
  REQUIRE(kept > 0);
  {
    const auto most = Buffer::allocate((1 << 20) - kept / 2, memory, "the host's");
    REQUIRE_MESSAGE(most, most.error().message);
    CHECK(memory.used() <= (1 << 20));
  }
  {
    const auto all = Buffer::allocate(1 << 20, memory, "the host's");
    REQUIRE(all);
    CHECK_FALSE(laid_out(*tensor, *parse_format("ss:1,0"), false, limited, "T"));
  }
  CHECK(memory.used() == 0);
  const LaidOut again = laid(*tensor, *parse_format("ss:1,0"), false, limited);
  CHECK(again.origin == LayoutOrigin::made);
  CHECK(stored(again.tensor) == by_columns);
}

TEST_CASE("layouts: of two accounts each has back what it paid for, whoever knew the layout first") {
  const Memory first(1 << 20), second(1 << 20);
  const Resources of_first{first, Threads(1), {}, {}}, of_second{second, Threads(1), {}, {}};
  Random random(3);
  const auto tensor = build(coordinates(random.short_list(2, 4000)), *parse_format("ss"), resources(), "T");
  REQUIRE(tensor);
  const Format by_columns = *parse_format("ss:1,0");
  (void)laid(*tensor, by_columns, false, of_first);
  REQUIRE(Buffer::allocate(1 << 20, first, "the host's"));  // gives the layout back
  CHECK(laid(*tensor, by_columns, false, of_second).origin == LayoutOrigin::made);
  REQUIRE(second.used() > 0);
  CHECK(laid(*tensor, by_columns, false, of_first).origin == LayoutOrigin::known);
  CHECK(Buffer::allocate(1 << 20, second, "the host's"));
  CHECK(second.used() == 0);
}

TEST_CASE("layouts: threads that ask for the same wait for one, and what one reads is not written to") {
  Random random(5);
  const auto tensor = build(coordinates(random.short_list(3, 3000)), *parse_format("sss"), resources(), "T");
  REQUIRE(tensor);
  const Format format = *parse_format("sss:1,2,0");
  const auto expected = stored(*convert(*tensor, format, resources(), "T"));
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        auto one = laid_out(*tensor, format, false, Resources{Memory(), Threads(1), {}, {}}, "T");
        made += one && one->origin == LayoutOrigin::made;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made == 1);
  const LaidOut held = laid(*tensor, format);
  const auto* address = held.tensor.values().data();
  add_one(*tensor);
  const LaidOut next = laid(*tensor, format);
  CHECK(next.tensor.values().data() != address);
  CHECK(stored(held.tensor) == expected);
}

TEST_CASE("memory without gaps that is longer than its elements is cut, by rows and by columns") {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const auto& [strides, format] : {std::pair<std::vector<std::int64_t>, std::string>{{2, 1}, "dd:0,1"}, {{1, 3}, "dd:1,0"}}) {
    const auto tensor = borrow_dense({3, 2}, std::span(values), strides);
    REQUIRE(tensor);
    CHECK(tensor->format().mode_order == parse_format(format)->mode_order);
    CHECK(tensor->values().size_bytes() == 6 * sizeof(double));
    CHECK(verify(*tensor, resources(), "X").has_value());
  }
  const auto unsaid = borrow_dense({3, 2}, std::span(values));
  REQUIRE_FALSE(unsaid);
  CHECK(borrow_dense({}, std::span(values))->values().size_bytes() == 8);
  CHECK(unsaid.error().message == "64 bytes of values, but 6 elements of 8 bytes");
}

TEST_CASE("tensors in the layout of strided host memory are described so, and copied only where they are not dense") {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 0, 8};
  const auto strided = borrow_dense({2, 2}, std::span(values), {1, 4}, 0);
  const auto columns = borrow_dense({2, 2}, std::span(values).first(4), {1, 2}, 0);
  const auto dense = borrow_dense({2, 2}, std::span(values).first(4));
  const auto sparse = convert(*dense, *parse_format("ss"), resources(), "T");
  REQUIRE(strided);
  REQUIRE(sparse);
  REQUIRE(strided->format().levels.front().strided);
  const Tensor described = laid(*dense, strided->format()).tensor;
  CHECK(described.format() == strided->format());
  CHECK(described.values().data() == dense->values().data());
  CHECK(laid(*dense, strided->format()).origin == LayoutOrigin::given);
  REQUIRE(columns->format().text() == "dd:1,0");
  const LaidOut turned = laid(*columns, strided->format());
  CHECK(turned.origin == LayoutOrigin::given);
  CHECK(turned.tensor.values().data() == columns->values().data());
  const auto by_rows = convert(turned.tensor, dense->format(), resources(), "T");
  REQUIRE(by_rows);
  CHECK(stored(*by_rows) == Entries{{{0, 0}, 1}, {{0, 1}, 3}, {{1, 0}, 2}, {{1, 1}, 4}});
  CHECK(laid(*sparse, strided->format()).origin == LayoutOrigin::made);
  for (const Tensor& tensor : {described, laid(*sparse, strided->format()).tensor}) {
    const auto back = convert(tensor, dense->format(), resources(), "T");
    REQUIRE(back);
    for (std::size_t n = 0; n < 4; ++n) CHECK(back->values().as<const double>()[n] == values[n]);
  }
}

}  // namespace layouts_test
