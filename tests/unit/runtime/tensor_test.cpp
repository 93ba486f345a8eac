#include "weft/tensor.h"

#include <doctest/doctest.h>

#include "unit/runtime/reference.h"

namespace tensor_test {

using namespace weft;
using namespace weft::reference;

TEST_CASE("figures and summary of a tensor") {
  const List list{.extents = {4, 3, 5}, .tuples = {{0, 1, 4}, {3, 0, 0}, {3, 0, 2}, {3, 2, 2}}, .values = {1, 2, 3, 4}};
  auto csf = build(coordinates(list), sparse_format(3), resources(), "T");
  REQUIRE(csf);
  CHECK(csf->positions(0) == 2);
  CHECK(csf->positions(1) == 3);
  CHECK(csf->positions(2) == 4);
  CHECK(csf->nnz() == 4);
  // pos: 2 + 3 + 4, crd: 2 + 3 + 4 of 4 bytes, 4 values
  CHECK(csf->bytes() == 18 * 4 + 32);
  CHECK(csf->summary() == "4x3x5 sss:0,1,2 f64, 4 stored, 104 B");

  auto coo = build(coordinates(list), *parse_format("uqq:0,1,2:f32"), resources(), "T");
  REQUIRE(coo);
  for (std::size_t l = 0; l < 3; ++l) CHECK(coo->positions(l) == 4);

  auto mixed = build(coordinates(list), *parse_format("dsd"), resources(), "T");
  REQUIRE(mixed);
  CHECK(mixed->positions(0) == 4);
  CHECK(mixed->positions(1) == 3);
  CHECK(mixed->positions(2) == 15);

  auto scalar = dense_zeros({}, dense_format(0), resources(), "s");
  REQUIRE(scalar);
  CHECK(scalar->summary() == "scalar f64, 1 stored, 8 B");
  auto large = dense_zeros({1000, 1500}, dense_format(2), resources(), "A");
  REQUIRE(large);
  CHECK(large->summary() == "1000x1500 dd:0,1 f64, 1500000 stored, 12.0 MB");
}

TEST_CASE("more than 2^32 entries are representable") {
  // Only the sizes matter: dense levels need no arrays to have positions.
  TensorArrays tensor;
  tensor.format = dense_format(2);
  tensor.extents = {1ull << 20, 1ull << 20};
  tensor.levels.resize(2);
  CHECK(Tensor(tensor).nnz() == 1ull << 40);
  TensorArrays compressed;
  compressed.format = sparse_format(1);
  compressed.format.levels[0].pos_bits = 64;
  compressed.extents = {1ull << 50};
  compressed.levels.resize(1);
  compressed.levels[0].pos = array({0, 1ull << 41}, 64);
  CHECK(Tensor(compressed).nnz() == 1ull << 41);
}

}  // namespace tensor_test
