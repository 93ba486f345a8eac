#include <doctest/doctest.h>

#include <limits>

#include "unit/runtime/reference.h"
#include "weft/tensor.h"

namespace verify_test {

using namespace weft;
using namespace weft::reference;

namespace {

const List sample{.extents = {4, 3, 5},
                  .tuples = {{0, 1, 1}, {0, 1, 4}, {2, 0, 0}, {3, 0, 2}, {3, 2, 2}},
                  .values = {1, 2, 3, 4, 5}};

Tensor built(std::string_view format) {
  auto tensor = build(coordinates(sample), *parse_format(format), resources(), "T");
  REQUIRE(tensor);
  REQUIRE(verify(*tensor, resources(), "T"));
  return *tensor;
}

std::string refusal(const TensorArrays& arrays) {
  auto verified = verify(Tensor(arrays), resources(), "T");
  REQUIRE_FALSE(verified);
  CHECK(verified.error().kind == ErrorKind::input);
  return verified.error().message;
}

bool contains(const std::string& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("damaged trees are refused with level and position") {
  // sss: crd 0: {0,2,3}; pos 1: {0,1,2,4}, crd 1: {1,0,0,2}; pos 2: {0,2,3,4,5}, crd 2: {1,4,0,2,2}
  TensorArrays t = built("sss").arrays();
  t.levels[0].crd = array({0, 3, 2}, 32);
  CHECK(contains(refusal(t), "level 0: the entry at position 2 repeats or precedes"));
  t.levels[0].crd = array({0, 2, 2}, 32);
  CHECK(contains(refusal(t), "level 0: the entry at position 2 repeats"));
  t.levels[0].crd = array({0, 2, 4}, 32);
  CHECK(contains(refusal(t), "level 0: coordinate 4 at position 2 is not below the extent 4"));
  t.levels[0].crd = array({0, 2}, 32);
  CHECK(contains(refusal(t), "level 0: pos is 3 at position 1, beyond the 2 coordinates"));

  t = built("sss").arrays();
  t.levels[1].pos = array({1, 1, 2, 4}, 32);
  CHECK(contains(refusal(t), "level 1: pos begins with 1"));
  t.levels[1].pos = array({0, 3, 2, 4}, 32);
  CHECK(contains(refusal(t), "level 1: pos falls from 3 to 2 behind position 1"));
  t.levels[1].pos = array({0, 1, 2, 5}, 32);
  CHECK(contains(refusal(t), "level 1: pos is 5 at position 3, beyond the 4 coordinates"));
  t.levels[1].pos = array({0, 1, 2}, 32);
  CHECK(contains(refusal(t), "level 1: pos has 12 bytes"));
  t.levels[1].pos = array({0, 1, 1, 4}, 32);  // position 1 of level 0 is empty, and 0,0,2 is not sorted
  CHECK(contains(refusal(t), "level 1: the entry at position 2 repeats or precedes"));
  t.levels[1].crd = array({1, 0, 1, 2}, 32);
  CHECK(contains(refusal(t), "level 0: position 1 has no stored entry below it"));

  t = built("sss").arrays();
  t.levels[2].pos = array({0, 2, 3, 3, 5}, 32);
  t.levels[2].crd = array({1, 4, 0, 2, 3}, 32);
  CHECK(contains(refusal(t), "level 1: position 2 has no stored entry below it"));

  t = built("sss").arrays();
  t.values = numbers({1, 2, 3, 4}, Scalar::f64);
  CHECK(contains(refusal(t), "32 bytes of values, but 5 stored entries"));
  t.values = numbers({1, 2, 3, 4, 5}, Scalar::f32);
  CHECK(contains(refusal(t), "20 bytes of values"));
}

TEST_CASE("damaged coordinate lists are refused") {
  // uqq: all coordinates of the five entries
  TensorArrays t = built("uqq").arrays();
  t.levels[0].crd = array({0, 0, 3, 2, 3}, 32);
  CHECK(contains(refusal(t), "level 0: the entry at position 3 repeats or precedes"));
  t = built("uqq").arrays();
  t.levels[2].crd = array({4, 1, 0, 2, 2}, 32);
  CHECK(contains(refusal(t), "level 0: the entry at position 1 repeats or precedes"));
  t.levels[2].crd = array({1, 1, 0, 2, 2}, 32);
  CHECK(contains(refusal(t), "level 0: the entry at position 1 repeats or precedes"));
  t.levels[2].crd = array({1, 5, 0, 2, 2}, 32);
  CHECK(contains(refusal(t), "level 2: coordinate 5 at position 1 is not below the extent 5 of mode 2"));
  t.levels[2].crd = array({1, 4, 0, 2}, 32);
  CHECK(contains(refusal(t), "level 2: crd has 16 bytes"));
  t = built("uqq").arrays();
  t.levels[1].pos = array({0, 5}, 32);
  CHECK(contains(refusal(t), "level 1 is a singleton but has a pos array"));
}

TEST_CASE("damaged dense levels and formats are refused") {
  TensorArrays t = built("dsd").arrays();
  t.levels[0].crd = array({0, 1, 2, 3}, 32);
  CHECK(contains(refusal(t), "level 0 is dense but has index arrays"));
  t = built("ddd").arrays();
  t.extents[0] = 5;
  CHECK(contains(refusal(t), "480 bytes of values, but 75 stored entries"));
  t.extents = {1ull << 40, 1ull << 40, 5};
  CHECK(contains(refusal(t), "480 bytes of values"));
  t = built("dds").arrays();
  t.extents = {1ull << 40, 1ull << 40, 5};
  CHECK(contains(refusal(t), "more than 2^64 positions"));
  t = built("sss").arrays();
  t.format.mode_order = {0, 1, 1};
  CHECK(contains(refusal(t), "does not list every mode once"));
  t = built("sss").arrays();
  t.levels.pop_back();
  CHECK(contains(refusal(t), "2 level arrays for order 3"));
  t = built("sss").arrays();
  t.extents[2] = (1ull << 32) + 1;
  CHECK(contains(refusal(t), "level 2 has 32-bit coordinates, but its extent is 4294967297"));
  t = built("sss").arrays();
  t.format.levels[0].pos_bits = 16;
  CHECK(contains(refusal(t), "must be 32 or 64 bits"));
  t = built("sss").arrays();
  t.format.levels[1].kind = LevelKind::compressed_nonunique;
  CHECK(contains(refusal(t), "a singleton must follow"));
  t = built("sss").arrays();
  t.format.levels[2].strided = true;
  CHECK(contains(refusal(t), "strided levels beside sparse ones"));
}

TEST_CASE("strides must stay inside the host's memory") {
  const std::vector<double> host(12);
  TensorArrays t;
  t.format = dense_format(2);
  for (Level& level : t.format.levels) level.strided = true;
  t.extents = {3, 4};
  t.levels.resize(2);
  t.levels[0].stride = 4;
  t.levels[1].stride = 1;
  t.values = Buffer::borrow(host.data(), 96);
  CHECK(verify(Tensor(t), resources(), "T"));
  t.offset = 1;
  CHECK(contains(refusal(t), "strides reach outside"));
  t.offset = 11;
  t.levels[0].stride = static_cast<std::uint64_t>(-4);
  t.levels[1].stride = static_cast<std::uint64_t>(-1);
  CHECK(verify(Tensor(t), resources(), "T"));
  t.offset = 10;
  CHECK(contains(refusal(t), "strides reach outside"));
  t.extents = {0, 4};
  CHECK(verify(Tensor(t), resources(), "T"));
  t.format.levels[0].strided = false;
  CHECK(contains(refusal(t), "strided and contiguous levels"));
}

TEST_CASE("a defect far inside a large tensor is found, whichever block it is in") {
  List list{.extents = {200, 1000}, .tuples = {}, .values = {}};
  for (std::uint64_t i = 0; i < 200; ++i)
    for (std::uint64_t j = 0; j < 1000; j += 1 + i % 3) {
      list.tuples.push_back({i, j});
      list.values.push_back(1);
    }
  auto tensor = build(coordinates(list), *parse_format("ds"), resources(), "T");
  REQUIRE(tensor);
  REQUIRE(verify(*tensor, resources(), "T"));
  Buffer coordinates_of_columns = tensor->levels()[1].crd;
  const auto crd = coordinates_of_columns.as<std::uint32_t>();
  for (std::size_t at : {1u, 16383u, 16384u, 40000u, 99999u}) {
    const std::uint32_t before = std::exchange(crd[at], 1000u);
    CHECK(contains(refusal(tensor->arrays()), "coordinate 1000 at position"));
    crd[at] = before;
    if (crd[at - 1] >= before) continue;  // the first of a row may be anything small
    crd[at] = crd[at - 1];
    CHECK(contains(refusal(tensor->arrays()), "repeats or precedes"));
    crd[at] = before;
  }
  CHECK(verify(*tensor, resources(), "T"));
}

TEST_CASE("random damage is found by somebody: either verify refuses or the entries are still a valid set") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const std::size_t order = 1 + random.below(4);
    const List list = random.list(order, 60);
    const Format format = random.format(list);
    auto tensor = build(coordinates(list), format, resources(), "T");
    REQUIRE(tensor);
    const std::size_t level = random.below(order);
    const bool in_pos = random.chance(50);
    Buffer array = in_pos ? tensor->levels()[level].pos : tensor->levels()[level].crd;
    const unsigned bits = in_pos ? format.levels[level].pos_bits : format.levels[level].crd_bits;
    const std::uint64_t elements = array.size_bytes() / (bits / 8);
    if (elements == 0) continue;
    const std::uint64_t at = random.below(elements);
    const std::uint64_t now = random.below(8);
    if (bits == 64)
      array.as<std::uint64_t>()[at] = now;
    else
      array.as<std::uint32_t>()[at] = static_cast<std::uint32_t>(now);
    INFO("seed ", seed, " format ", format.text(), " level ", level, in_pos ? " pos" : " crd");
    auto verified = verify(*tensor, resources(), "T");
    refused += !verified;
    if (!verified) continue;
    // What verify accepts must be a tensor: every coordinate in range and stored once (checked by stored()).
    const Entries entries = stored(*tensor);
    CHECK(entries.size() == tensor->nnz());
    for (const auto& [tuple, value] : entries)
      for (std::size_t m = 0; m < order; ++m) CHECK(tuple[m] < tensor->extents()[m]);
  }
  CHECK(refused > 100);
}

TEST_CASE("verify: between the entries of hashed and bitmap levels stands zero, of either sign") {
  for (const char* format : {"dbb", "ddb", "ddh", "ssb"}) {
    for (const Scalar scalar : {Scalar::f64, Scalar::f32}) {
      CAPTURE(format);
      Format stored = *parse_format(format);
      stored.scalar = scalar;
      const auto tensor = convert(built("sss"), stored, resources(), "T");
      REQUIRE(tensor);
      const auto with = [&](double between) {
        TensorArrays arrays = tensor->arrays();
        auto values = Buffer::allocate(arrays.values.size_bytes(), resources().memory, "T");
        REQUIRE(values);
        unsigned gaps = 0;
        const auto fill = [&]<class T>(T) {
          const auto given = arrays.values.as<const T>();
          const auto to = values->as<T>();
          for (std::size_t n = 0; n < to.size(); ++n) {
            gaps += given[n] == 0 ? 1 : 0;
            to[n] = given[n] == 0 ? static_cast<T>(between) : given[n];
          }
        };
        if (scalar == Scalar::f64) fill(double{});
        if (scalar == Scalar::f32) fill(float{});
        REQUIRE(gaps > 0);
        arrays.values = *values;
        return Tensor(arrays);
      };
      CHECK(verify(with(0.0), resources(), "T"));
      CHECK(verify(with(-0.0), resources(), "T"));
      for (const double value : {1.0, -1.0, 1e-40, std::numeric_limits<double>::quiet_NaN()})
        CHECK(contains(refusal(with(value).arrays()), "has a value, but no entry"));
    }
  }
}

}  // namespace verify_test
