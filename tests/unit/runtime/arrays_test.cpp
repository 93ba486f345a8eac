// Tensors copied from arrays of the host, and taken apart again, against maps.
#include "weft/arrays.h"

#include <doctest/doctest.h>

#include "unit/runtime/reference.h"

namespace arrays_test {

using namespace weft;
using namespace weft::reference;

namespace {

using Numbers = std::vector<std::uint64_t>;

/// The coordinates of a list by mode.
std::vector<Numbers> by_mode(const List& list) {
  std::vector<Numbers> crd(list.extents.size());
  for (const Tuple& tuple : list.tuples) {
    for (std::size_t mode = 0; mode < tuple.size(); ++mode) crd[mode].push_back(tuple[mode]);
  }
  return crd;
}

Entries entries_of(const CooArrays& arrays) {
  Entries all;
  for (std::size_t n = 0; n < arrays.values.size(); ++n) {
    Tuple tuple;
    for (const Numbers& crd : arrays.crd) tuple.push_back(crd[n]);
    CHECK(all.emplace(tuple, arrays.values[n]).second);
  }
  return all;
}

/// A matrix by rows, those of a row in the order of the list.
CompressedArrays rows_of(const List& list, std::size_t row, std::size_t column) {
  CompressedArrays arrays;
  arrays.pos.push_back(0);
  for (std::uint64_t r = 0; r < list.extents[row]; ++r) {
    for (std::size_t n = 0; n < list.tuples.size(); ++n) {
      if (list.tuples[n][row] != r) continue;
      arrays.crd.push_back(list.tuples[n][column]);
      arrays.values.push_back(list.values[n]);
    }
    arrays.pos.push_back(arrays.crd.size());
  }
  return arrays;
}

Error refused(const Expected<Tensor>& tensor) {
  REQUIRE(!tensor);
  CHECK(tensor.error().kind == ErrorKind::input);
  return tensor.error();
}

}  // namespace

TEST_CASE("entries in any order are copied, duplicates summed, and listed again") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::size_t order = random.below(6);
    const List list = random.list(order, 100);
    INFO("seed ", seed);
    const std::vector<Numbers> crd = by_mode(list);
    const std::vector<HostIndices> arrays(crd.begin(), crd.end());
    const auto plain = from_coo(list.extents, arrays, list.values, resources());
    REQUIRE(plain);
    CHECK(plain->format() == build(coordinates(list), sparse_format(order), resources(), "T")->format());
    if (order == 0) continue;
    CHECK(stored(*plain) == summed(list));
    CHECK(!plain->borrowed());
    const Format format = random.format(list);
    const auto formatted = from_coo(list.extents, arrays, list.values, format, resources());
    REQUIRE(formatted);
    CHECK(nonzeros(stored(*formatted)) == nonzeros(summed(list)));
    const auto coo = to_coo(*formatted, resources());
    REQUIRE(coo);
    CHECK(nonzeros(entries_of(*coo)) == nonzeros(summed(list)));
    const auto csf = to_csf(*plain, resources());
    REQUIRE(csf);
    std::vector<HostLevel> levels;
    for (std::size_t level = 0; level < order; ++level) levels.push_back({csf->pos[level], csf->crd[level]});
    const auto back = from_levels(sparse_format(order), list.extents, levels, csf->values, resources());
    REQUIRE(back);
    CHECK(stored(*back) == summed(list));
  }
}

TEST_CASE("rows that are not sorted are copied, by rows and by columns") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const List list = random.short_list(2, 60);
    INFO("seed ", seed);
    const CompressedArrays rows = rows_of(list, 0, 1);
    const auto csr = from_csr(list.extents[0], list.extents[1], rows.pos, rows.crd, rows.values, resources());
    REQUIRE(csr);
    CHECK(csr->format().text() == "ds:0,1");
    CHECK(stored(*csr) == summed(list));
    const CompressedArrays columns = rows_of(list, 1, 0);
    const auto csc = from_csc(list.extents[0], list.extents[1], columns.pos, columns.crd, columns.values, resources());
    REQUIRE(csc);
    CHECK(csc->format().text() == "ds:1,0");
    CHECK(stored(*csc) == summed(list));
    const auto apart = to_csr(*csc, resources());
    REQUIRE(apart);
    const auto again = from_csr(list.extents[0], list.extents[1], apart->pos, apart->crd, apart->values, resources());
    REQUIRE(again);
    CHECK(stored(*again) == summed(list));
    const auto other = to_csc(*csr, resources());
    REQUIRE(other);
    CHECK(other->pos.size() == list.extents[1] + 1);
    CHECK(stored(*from_csc(list.extents[0], list.extents[1], other->pos, other->crd, other->values, resources())) == summed(list));
  }
}

TEST_CASE("dense memory is copied, strided too") {
  const std::vector<double> memory = {0, 1, 2, 3, 4, 5};
  auto packed = from_dense({2, 3}, memory, resources());
  REQUIRE(packed);
  CHECK(!packed->borrowed());
  CHECK(stored(*packed).at({1, 2}) == 5);
  const auto turned = from_dense({3, 2}, memory, resources(), {1, 3});
  REQUIRE(turned);
  CHECK(stored(*turned).at({2, 1}) == 5);
  CHECK(stored(*turned).at({1, 0}) == 1);
  const auto backwards = from_dense({6}, memory, resources(), {-1}, 5);
  REQUIRE(backwards);
  CHECK(stored(*backwards).at({0}) == 5);
  const std::vector<float> one = {2.5F};
  const auto scalar = from_dense({}, one, resources());
  REQUIRE(scalar);
  CHECK(scalar->format().scalar == Scalar::f32);
  CHECK(from_dense({0, 4}, std::vector<double>{}, resources())->nnz() == 0);
  refused(from_dense({2, 4}, memory, resources()));
  refused(from_dense({2, 3}, memory, resources(), {3, 2}));
}

TEST_CASE("order 0, nothing, one entry, extents beyond 32 bits") {
  const std::vector<double> three = {1, 2, 4};
  const auto sum = from_coo({}, {}, three, resources());
  REQUIRE(sum);
  CHECK(sum->values().as<const double>()[0] == 7);
  CHECK(to_coo(*sum, resources())->values == std::vector<double>{7});
  const Numbers none;
  const auto empty = from_coo({3, 0}, {none, none}, std::vector<double>{}, resources());
  REQUIRE(empty);
  CHECK(empty->nnz() == 0);
  CHECK(to_csr(*empty, resources())->pos == Numbers{0, 0, 0, 0});
  constexpr std::uint64_t far = std::uint64_t{1} << 62;
  const Numbers rows = {far - 1, 3, far - 1};
  const std::vector<std::int32_t> columns = {1, 0, 1};
  const auto wide = from_coo({far, 2}, {rows, columns}, three, resources());
  REQUIRE(wide);
  const auto coo = to_coo(*wide, resources());
  CHECK(coo->crd[0] == Numbers{3, far - 1});
  CHECK(coo->crd[1] == Numbers{0, 1});
  CHECK(coo->values == std::vector<double>{2, 5});
}

TEST_CASE("arrays that do not fit are refused, naming level and array") {
  const std::vector<std::int32_t> pos = {0, 2, 3};
  const std::vector<std::int32_t> crd = {1, 0, 1};
  const std::vector<double> values = {1, 2, 3};
  REQUIRE(from_csr(2, 2, pos, crd, values, resources()));
  Error error = refused(from_csr(3, 2, pos, crd, values, resources()));
  CHECK(error.code == ErrorCode::sizes);
  CHECK(error.message == "a copied tensor: level 1: pos has 3 elements, 4 are needed");
  error = refused(from_csr(2, 2, std::vector<std::int32_t>{1, 2, 3}, crd, values, resources()));
  CHECK(error.message == "a copied tensor: level 1: pos begins with 1, not with 0");
  error = refused(from_csr(2, 2, std::vector<std::int32_t>{0, 4, 3}, crd, values, resources()));
  CHECK(error.message == "a copied tensor: level 1: pos does not ascend: 3 follows 4 at 2");
  error = refused(from_csr(2, 2, std::vector<std::int32_t>{0, -1, 3}, crd, values, resources()));
  CHECK(error.message == "a copied tensor: level 1: pos does not ascend: 3 follows -1 at 2");
  error = refused(from_csr(2, 2, pos, std::vector<std::int32_t>{1, 0}, values, resources()));
  CHECK(error.message == "a copied tensor: level 1: crd has 2 elements for 3 positions");
  error = refused(from_csr(2, 2, pos, crd, std::vector<double>{1, 2}, resources()));
  CHECK(error.code == ErrorCode::sizes);
  CHECK(error.message == "a copied tensor: 2 values for 3 positions");
  error = refused(from_csr(2, 2, pos, std::vector<std::int32_t>{1, -1, 1}, values, resources()));
  CHECK(error.code == ErrorCode::out_of_range);
  CHECK(error.message == "a copied tensor: level 1: coordinate -1 at position 1 is not below the extent 2");
  error = refused(from_coo({2, 2}, {crd}, values, resources()));
  CHECK(error.code == ErrorCode::order);
  error = refused(from_coo({2, 2}, {crd, std::vector<std::int32_t>{0, 1}}, values, resources()));
  CHECK(error.message == "a copied tensor: level 1: crd has 2 elements for 3 positions");
  error = refused(from_levels(*parse_format("h"), {3}, {{{}, crd}}, values, resources()));
  CHECK(error.message.starts_with("a copied tensor: level 0: hashed and bitmap levels are made by weft alone"));
  HostIndices nowhere = crd;
  nowhere.data = nullptr;
  CHECK(refused(from_coo({2}, {nowhere}, values, resources())).code == ErrorCode::sizes);
  const auto cube = from_coo({2, 2, 2}, {crd, crd, crd}, values, resources());
  REQUIRE(cube);
  CHECK(to_csr(*cube, resources()).error().code == ErrorCode::order);
  CHECK(to_csf(*cube, resources(), {0, 0, 1}).error().code == ErrorCode::order);
}

}  // namespace arrays_test
