#include "runtime/entries.h"

#include <doctest/doctest.h>

#include "unit/runtime/reference.h"

namespace entries_test {

using namespace weft;
using namespace weft::reference;

TEST_CASE("entries list what is stored, in stored order") {
  for (std::uint64_t seed = 1; seed <= 800; ++seed) {
    Random random(seed);
    const std::size_t order = random.below(6);
    const List list = random.list(order, 100);
    const Format format = random.format(list);
    const Resources r = resources(random.chance(50) ? 1 : 2);
    INFO("seed ", seed, " format ", format.text());
    auto tensor = build(coordinates(list), format, r, "T");
    REQUIRE(tensor);
    auto all = entries(*tensor, false, r);
    REQUIRE(all);
    CHECK(all->count == tensor->nnz());
    CHECK(stored(*all) == stored(*tensor));
    auto some = entries(*tensor, true, r);
    REQUIRE(some);
    CHECK(stored(*some) == nonzeros(stored(*tensor)));
    Tuple before;
    for (std::uint64_t n = 0; n < all->count; ++n) {
      Tuple now;
      for (std::uint32_t mode : format.mode_order) now.push_back(element(all->crd[mode], coordinate_bits(list.extents[mode]), n));
      if (n > 0) CHECK(before < now);
      before = now;
    }
  }
}

TEST_CASE("entries of many blocks") {
  Random random(7);
  List list{.extents = {50, 400, 300}, .tuples = {}, .values = {}};
  for (int n = 0; n < 40000; ++n) {
    list.tuples.push_back({random.below(3) * 20, random.below(400), random.below(300)});
    list.values.push_back(static_cast<double>(random.below(3)));
  }
  const Entries expected = nonzeros(summed(list));
  for (std::string_view text : {"sss", "dss", "dds", "sds", "uqs", "ssd:0,2,1"}) {
    auto tensor = build(coordinates(list), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    CHECK(nonzeros(stored(*entries(*tensor, false, resources()))) == expected);
    CHECK(stored(*entries(*tensor, true, resources())) == expected);
  }
}

TEST_CASE("strided host memory is listed in the order of its levels") {
  const std::vector<double> host{99, 0, 1, 2, 99, 10, 11, 12, 99};  // two rows of three, columns reversed
  TensorArrays tensor;
  tensor.format = dense_format(2);
  for (Level& level : tensor.format.levels) level.strided = true;
  tensor.extents = {2, 3};
  tensor.levels.resize(2);
  tensor.levels[0].stride = 4;
  tensor.levels[1].stride = static_cast<std::uint64_t>(-1);
  tensor.offset = 3;
  tensor.values = Buffer::borrow(host.data(), host.size() * sizeof(double));
  REQUIRE(verify(Tensor(tensor), resources(), "H"));
  auto all = entries(Tensor(tensor), false, resources());
  REQUIRE(all);
  CHECK(stored(*all) == Entries{{{0, 0}, 2}, {{0, 1}, 1}, {{0, 2}, 0}, {{1, 0}, 12}, {{1, 1}, 11}, {{1, 2}, 10}});
}

TEST_CASE("leaves below positions") {
  const List list{.extents = {4, 3}, .tuples = {{0, 1}, {0, 2}, {3, 0}}, .values = {1, 2, 3}};
  auto csr = build(coordinates(list), *parse_format("ds"), resources(), "T");
  REQUIRE(csr);
  const Leaves leaves(*csr);
  CHECK(leaves.begin(0, 0) == 0);
  CHECK(leaves.begin(0, 1) == 2);
  CHECK(leaves.begin(0, 3) == 2);
  CHECK(leaves.begin(0, 4) == 3);
  CHECK(leaves.position_of(0, 4, 1) == 0);
  CHECK(leaves.position_of(0, 4, 2) == 3);
}

}  // namespace entries_test
