#include "runtime/dense.h"

#include <doctest/doctest.h>

#include <cmath>

#include "unit/runtime/reference.h"

namespace dense_test {

using namespace weft;
using namespace weft::reference;

TEST_CASE("dense zeros") {
  auto tensor = dense_zeros({3, 4}, *parse_format("dd:1,0:f32"), resources(), "A");
  REQUIRE(tensor);
  CHECK(tensor->nnz() == 12);
  CHECK(tensor->bytes() == 48);
  CHECK(verify(*tensor, resources(), "A"));
  CHECK(dense_zeros({}, dense_format(0), resources(), "a")->nnz() == 1);
  CHECK(dense_zeros({0, ~0ull >> 1, ~0ull >> 1}, dense_format(3), resources(), "a")->nnz() == 0);
  CHECK(dense_zeros({3}, sparse_format(1), resources(), "A").error().kind == ErrorKind::internal);
  CHECK(dense_zeros({1ull << 33, 1ull << 33}, dense_format(2), resources(), "A").error().kind == ErrorKind::resource);
  CHECK(dense_zeros({3, 4}, dense_format(3), resources(), "A").error().kind == ErrorKind::input);
}

TEST_CASE("dense tensors in every other mode order and scalar, signed zeros and NaN included") {
  auto tensor = dense_zeros({3, 4, 5}, dense_format(3), resources(), "A");
  REQUIRE(tensor);
  for (int n = 0; n < 60; ++n) tensor->writable_values<double>()[n] = n;
  tensor->writable_values<double>()[7] = -0.0;
  tensor->writable_values<double>()[8] = std::nan("");
  for (std::string_view text : {"ddd:0,2,1", "ddd:1,0,2", "ddd:1,2,0", "ddd:2,0,1", "ddd:2,1,0:f32", "ddd:0,1,2:f32"}) {
    const Format format = *parse_format(text);
    auto permuted = permuted_dense(*tensor, format, resources(), "A");
    REQUIRE(permuted);
    auto there = convert(*tensor, format, resources(), "A");
    REQUIRE(there);
    auto back = convert(*there, dense_format(3), resources(), "A");
    REQUIRE(back);
    auto values = back->values().as<double>();
    for (int n = 0; n < 60; ++n) {
      if (n == 8)
        CHECK(std::isnan(values[n]));
      else
        CHECK(values[n] == (n == 7 ? 0 : n));
    }
    CHECK(std::signbit(values[7]));
    Entries entries = stored(*permuted);
    CHECK(entries[{2, 1, 3}] == 2 * 20 + 1 * 5 + 3);
    CHECK(entries[{0, 3, 4}] == 19);
  }
}

TEST_CASE("a dense tensor of many blocks is transposed") {
  auto tensor = dense_zeros({301, 403}, dense_format(2), resources(), "A");
  REQUIRE(tensor);
  auto values = tensor->writable_values<double>();
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n);
  auto turned = convert(*tensor, *parse_format("dd:1,0"), resources(), "A");
  REQUIRE(turned);
  auto other = turned->values().as<double>();
  bool same = true;
  for (std::size_t i = 0; i < 301; ++i)
    for (std::size_t j = 0; j < 403; ++j) same = same && other[j * 301 + i] == values[i * 403 + j];
  CHECK(same);
}

TEST_CASE("strided host memory becomes an ordinary dense tensor") {
  const std::vector<float> host{1, 2, 3, 4, 5, 6};  // column-major 2 x 3
  TensorArrays tensor;
  tensor.format = dense_format(2, Scalar::f32);
  for (Level& level : tensor.format.levels) level.strided = true;
  tensor.extents = {2, 3};
  tensor.levels.resize(2);
  tensor.levels[0].stride = 1;
  tensor.levels[1].stride = 2;
  tensor.values = Buffer::borrow(host.data(), 24);
  auto dense = convert(Tensor(tensor), dense_format(2), resources(), "H");
  REQUIRE(dense);
  CHECK(stored(*dense) == Entries{{{0, 0}, 1}, {{0, 1}, 3}, {{0, 2}, 5}, {{1, 0}, 2}, {{1, 1}, 4}, {{1, 2}, 6}});
  auto sparse = convert(Tensor(tensor), sparse_format(2), resources(), "H");
  REQUIRE(sparse);
  CHECK(stored(*sparse) == stored(*dense));
}

}  // namespace dense_test
