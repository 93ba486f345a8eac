#include <doctest/doctest.h>

#include "runtime/extents.h"
#include "unit/runtime/reference.h"
#include "unit/share.h"
#include "weft/file.h"
#include "weft/tensor.h"

namespace build_test {

using namespace weft;
using namespace weft::reference;

TEST_CASE("random builds store the summed entries in every format") {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    Random random(seed);
    const std::size_t order = random.below(6);
    const List list = random.list(order, order < 3 ? 30 : 120);
    const Format format = random.format(list);
    const Scalar given = random.chance(70) ? Scalar::f64 : Scalar::f32;
    const Resources r = resources(random.chance(50) ? 1 : 2);
    INFO("seed ", seed, " format ", format.text());
    auto tensor = build(coordinates(list, given), format, r, "T");
    REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error().message));
    CHECK(tensor->extents() == list.extents);
    CHECK(tensor->format() == format);  // nothing here needs wider indices than asked
    auto verified = verify(*tensor, r, "T");
    CHECK_MESSAGE(verified, (verified ? "" : verified.error().message));
    const Entries expected = completed(summed(list), format, list.extents);
    REQUIRE(stored(*tensor) == expected);
    CHECK(tensor->nnz() == expected.size());
  }
}

TEST_CASE("large random builds, sorted and unsorted, on one thread and on two") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    if (!test::is_drawn_sanitized(seed)) continue;
    Random random(seed);
    List list;
    list.extents = {1 + random.below(300), 1 + random.below(300), 1 + random.below(300)};
    for (int n = 0; n < 40000; ++n) {
      Tuple tuple;
      for (std::uint64_t extent : list.extents) tuple.push_back(random.below(extent));
      list.tuples.push_back(tuple);
      list.values.push_back(static_cast<double>(random.below(100)));
    }
    if (seed % 2) std::sort(list.tuples.begin(), list.tuples.end());
    INFO("seed ", seed);
    const Entries expected = summed(list);
    for (unsigned threads : {1u, 2u})
      for (std::string_view text : {"sss", "sss:2,0,1", "uqq:1,2,0", "dss:1,0,2"}) {
        auto tensor = build(coordinates(list), *parse_format(text), resources(threads), "T");
        REQUIRE(tensor);
        CHECK(verify(*tensor, resources(threads), "T"));
        CHECK(stored(*tensor) == expected);
      }
  }
}

TEST_CASE("coordinates of 64 bits and extents whose product exceeds 2^64") {
  const std::uint64_t huge = largest_extent;
  List list{.extents = {huge, huge, 5, huge},
            .tuples = {{huge - 1, 3, 4, 0}, {0, huge - 1, 0, 7}, {huge - 1, 3, 4, 0}, {0, huge - 1, 0, 6}, {1ull << 40, 1, 1, 1}},
            .values = {1, 2, 4, 8, 16}};
  for (std::string_view text : {"ssss", "ssss:3,1,0,2", "uqqq:2,3,1,0"}) {
    auto tensor = build(coordinates(list), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    CHECK(verify(*tensor, resources(), "T"));
    CHECK(stored(*tensor) == summed(list));
    for (std::size_t l = 0; l < 4; ++l)
      CHECK(tensor->format().levels[l].crd_bits == (tensor->extent_of_level(l) == 5 ? 32 : 64));
  }
}

TEST_CASE("duplicates are summed in input order") {
  // 1e16 + 1 + 1 loses both ones, 1 + 1 + 1e16 does not.
  for (bool large_first : {true, false}) {
    List list{.extents = {3, 3}, .tuples = {{2, 2}, {1, 1}, {0, 0}, {1, 1}, {1, 1}}, .values = {5, 1, 6, 1, 1e16}};
    if (large_first) std::swap(list.values[1], list.values[4]);
    auto tensor = build(coordinates(list), sparse_format(2), resources(), "T");
    REQUIRE(tensor);
    CHECK(stored(*tensor)[{1, 1}] == (large_first ? 1e16 : 1e16 + 2));
  }
}

TEST_CASE("explicit zeros are kept, order 0 is a sum") {
  List zeros{.extents = {4}, .tuples = {{2}, {1}}, .values = {0, 0}};
  auto tensor = build(coordinates(zeros), sparse_format(1), resources(), "T");
  REQUIRE(tensor);
  CHECK(tensor->nnz() == 2);
  List scalars{.extents = {}, .tuples = {{}, {}, {}}, .values = {1, 2, 4}};
  auto scalar = build(coordinates(scalars), sparse_format(0), resources(), "s");
  REQUIRE(scalar);
  CHECK(stored(*scalar) == Entries{{{}, 7}});
}

TEST_CASE("singletons that share their parent's positions") {
  const List permutation{.extents = {3, 4}, .tuples = {{2, 1}, {0, 3}, {1, 0}}, .values = {1, 2, 3}};
  for (std::string_view text : {"dq", "sq", "dq:0,1:f32"}) {
    auto tensor = build(coordinates(permutation), *parse_format(text), resources(), "P");
    REQUIRE(tensor);
    CHECK(verify(*tensor, resources(), "P"));
    CHECK(stored(*tensor) == summed(permutation));
  }
  auto message = [](const List& list, std::string_view format) {
    auto tensor = build(coordinates(list), *parse_format(format), resources(), "P");
    REQUIRE_FALSE(tensor);
    CHECK(tensor.error().kind == ErrorKind::input);
    return tensor.error().message;
  };
  const List hole{.extents = {3, 4}, .tuples = {{2, 1}, {0, 3}}, .values = {1, 2}};
  CHECK(message(hole, "dq").find("position 1 has none") != std::string::npos);
  const List tail{.extents = {3, 4}, .tuples = {{1, 1}, {0, 3}}, .values = {1, 2}};
  CHECK(message(tail, "dq").find("position 2 has none") != std::string::npos);
  const List two{.extents = {3, 4}, .tuples = {{2, 1}, {2, 2}, {0, 3}, {1, 1}}, .values = {1, 2, 3, 4}};
  CHECK(message(two, "dq").find("position 2 has more than one") != std::string::npos);
  CHECK(message(two, "sq").find("position 2 has more than one") != std::string::npos);
  const List none{.extents = {3, 4}, .tuples = {}, .values = {}};
  CHECK(message(none, "dq").find("position 0 has none") != std::string::npos);
  CHECK(build(coordinates(none), *parse_format("sq"), resources(), "P"));
}

TEST_CASE("what cannot be built is refused by name") {
  auto failure = [](const List& list, std::string_view format, Resources r = resources()) {
    auto tensor = build(coordinates(list), *parse_format(format), r, "Tom");
    REQUIRE_FALSE(tensor);
    return tensor.error();
  };
  const List outside{.extents = {3, 4}, .tuples = {{1, 1}, {0, 4}}, .values = {1, 2}};
  CHECK(failure(outside, "ss").kind == ErrorKind::input);
  CHECK(failure(outside, "ss").message == "coordinate 4 of Tom in mode 1 is not below the extent 4 (entry 1)");
  const List good{.extents = {3, 4}, .tuples = {{1, 1}}, .values = {1}};
  CHECK(failure(good, "sss").message.find("has 3 levels") != std::string::npos);
  const List wide{.extents = {1ull << 40, 1ull << 40}, .tuples = {{1, 1}}, .values = {1}};
  CHECK(failure(wide, "dd").kind == ErrorKind::resource);
  CHECK(failure(wide, "ds").kind == ErrorKind::resource);
  CHECK(failure(wide, "db").kind == ErrorKind::resource);
  CHECK(failure(wide, "bb").kind == ErrorKind::resource);
  Resources limited = resources();
  limited.memory = Memory(8);
  CHECK(failure(good, "ds", limited).kind == ErrorKind::resource);
  const List order_33{.extents = std::vector<std::uint64_t>(33, 1), .tuples = {}, .values = {}};
  CHECK(failure(order_33, std::string(33, 's')).kind == ErrorKind::unsupported);
  Resources stopped = resources();
  stopped.cancellation.cancel();
  CHECK(failure(good, "ss", stopped).kind == ErrorKind::cancelled);
}

TEST_CASE("extents above 2^63 - 1 are refused, wherever tensors come from") {
  const std::uint64_t above = largest_extent + 1;
  const auto is_refused = [](const auto& made) {
    return !made && made.error().kind == ErrorKind::input &&
           made.error().message == "the extent 9223372036854775808 of T in mode 1 is above 2^63 - 1";
  };
  const List list{.extents = {3, above}, .tuples = {{1, 1}}, .values = {1}};
  CHECK(is_refused(build(coordinates(list), *parse_format("ss"), resources(), "T")));
  CHECK(is_refused(dense_zeros({0, above}, dense_format(2), resources(), "T")));
  CHECK(is_refused(generate_tensor("sparse(3x9223372036854775808,nnz=1)", std::nullopt, resources(), "T")));
  const List good{.extents = {3, 4}, .tuples = {{1, 1}}, .values = {1}};
  auto tensor = build(coordinates(good), *parse_format("ss"), resources(), "T");
  REQUIRE(tensor);
  CHECK(is_refused(with_extents(*tensor, {3, above}, resources(), "T")));
  CHECK(with_extents(*tensor, {3, largest_extent}, resources(), "T"));
}

TEST_CASE("an extent of 0 behind huge dense extents is empty, not too large") {
  const List list{.extents = {1ull << 40, 1ull << 40, 0}, .tuples = {}, .values = {}};
  auto tensor = build(coordinates(list), *parse_format("ddd"), resources(), "T");
  REQUIRE(tensor);
  CHECK(tensor->nnz() == 0);
  CHECK(verify(*tensor, resources(), "T"));
}

}  // namespace build_test
