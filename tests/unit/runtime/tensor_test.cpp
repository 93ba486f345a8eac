#include "weft/tensor.h"

#include <doctest/doctest.h>

#include "unit/runtime/reference.h"
#include "weft/layout.h"

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

TEST_CASE("arrays that are no tensor store nothing, whatever is asked of them") {
  const List list{.extents = {4, 3}, .tuples = {{0, 1}, {3, 0}, {3, 2}}, .values = {1, 2, 3}};
  const auto csr = build(coordinates(list), *parse_format("ds"), resources(), "M");
  REQUIRE(csr);
  const auto made = [&](const auto& change, Validity validity) {
    TensorArrays arrays = csr->arrays();
    change(arrays);
    return Tensor(std::move(arrays), validity);
  };
  const auto check = [&](const auto& change) {
    for (const Validity validity : {Validity::unknown, Validity::known}) {
      const Tensor wrong = made(change, validity);
      CHECK(wrong.nnz() == 0);
      for (std::size_t level = 0; level < 4; ++level) {
        CHECK(wrong.positions(level) == 0);
        (void)wrong.extent_of_level(level);
      }
      CHECK(wrong.bytes() == csr->bytes() - (wrong.levels().empty() ? 5 * 4 + 3 * 4 : 0));
      CHECK(wrong.summary().find(" 0 stored") != std::string::npos);
      const auto verified = verify_once(wrong, resources(), "M");
      REQUIRE_FALSE(verified);
      CHECK(verified.error().kind == ErrorKind::input);
      CHECK(verified.error().operand == "M");
    }
  };
  check([](TensorArrays& arrays) { arrays.format.mode_order.clear(); });
  check([](TensorArrays& arrays) { arrays.format.mode_order = {0, 7}; });
  check([](TensorArrays& arrays) { arrays.format.levels.pop_back(); });
  check([](TensorArrays& arrays) { arrays.levels.clear(); });
  check([](TensorArrays& arrays) { arrays.extents.clear(); });
  check([](TensorArrays& arrays) { arrays.format.levels[1].pos_bits = 0; });
  check([](TensorArrays& arrays) { arrays.format.levels[1].kind = static_cast<LevelKind>(77); });
  check([](TensorArrays& arrays) { arrays.format.scalar = static_cast<Scalar>(9); });
  check([](TensorArrays& arrays) { arrays.format.layout = std::make_shared<const Layout>(*parse_layout("bcsr(2,2)")); });
  CHECK(made([](TensorArrays&) {}, Validity::unknown).nnz() == 3);
  CHECK(Tensor().nnz() == 1);
}

}  // namespace tensor_test
