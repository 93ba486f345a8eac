#include "runtime/dense.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

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

// Strides in elements of a tensor whose modes are nested in a drawn order, with gaps, some of them backwards.
TensorArrays drawn_memory(const std::vector<std::uint64_t>& extents, Scalar scalar, bool packed, std::mt19937_64& rng,
                          std::vector<std::byte>& room) {
  const std::size_t order = extents.size();
  std::vector<std::size_t> nested(order);
  for (std::size_t n = 0; n < order; ++n) nested[n] = n;
  for (std::size_t n = order; n-- > 1;) std::swap(nested[n], nested[rng() % (n + 1)]);
  TensorArrays tensor;
  tensor.format = dense_format(order, scalar);
  tensor.extents = extents;
  tensor.levels.resize(order);
  for (Level& level : tensor.format.levels) level.strided = true;
  std::uint64_t stride = packed || rng() % 3 > 0 ? 1 : 2;
  for (std::size_t n = order; n-- > 0;) {
    const std::size_t mode = nested[n];
    const bool backwards = !packed && rng() % 6 == 0;
    tensor.levels[mode].stride = backwards ? 0 - stride : stride;
    if (backwards) tensor.offset += (extents[mode] - 1) * stride;
    stride = stride * extents[mode] + (packed ? 0 : rng() % 3);
  }
  room.assign((stride + 8) * scalar_bytes(scalar), std::byte{0});
  tensor.values = Buffer::borrow(room.data(), room.size());
  return tensor;
}

TEST_CASE("elements are copied between memories of any strides, scaled and added or not") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    std::vector<std::uint64_t> extents(1 + rng() % 4);
    for (std::uint64_t& extent : extents) extent = 1 + rng() % (extents.size() < 3 ? 70 : 20);
    std::vector<std::byte> given, made;
    const auto scalar = [&] { return rng() % 2 == 0 ? Scalar::f64 : Scalar::f32; };
    const Tensor from(drawn_memory(extents, scalar(), rng() % 2 == 0, rng, given));
    const Tensor to(drawn_memory(extents, scalar(), rng() % 2 == 0, rng, made));
    const Scaling scaling{1 + static_cast<double>(rng() % 2), 2 * static_cast<double>(rng() % 2)};
    const auto each = [&](auto&& f) {
      std::vector<std::uint64_t> at(extents.size());
      for (std::uint64_t number = 0;; ++number) {
        std::uint64_t read = from.offset(), written = to.offset();
        for (std::size_t mode = 0; mode < at.size(); ++mode) {
          read += at[mode] * from.levels()[mode].stride;
          written += at[mode] * to.levels()[mode].stride;
        }
        f(number, read, written);
        std::size_t mode = at.size();
        while (mode-- > 0 && ++at[mode] == extents[mode]) at[mode] = 0;
        if (mode == std::size_t(-1)) return;
      }
    };
    const auto element = [](std::vector<std::byte>& bytes, Scalar of, std::uint64_t at) {
      return of == Scalar::f64 ? reinterpret_cast<const double*>(bytes.data())[at] : reinterpret_cast<const float*>(bytes.data())[at];
    };
    const auto set = [](std::vector<std::byte>& bytes, Scalar of, std::uint64_t at, double value) {
      if (of == Scalar::f64) reinterpret_cast<double*>(bytes.data())[at] = value;
      else reinterpret_cast<float*>(bytes.data())[at] = static_cast<float>(value);
    };
    each([&](std::uint64_t number, std::uint64_t read, std::uint64_t written) {
      set(given, from.format().scalar, read, static_cast<double>(3 + number % 1000));
      set(made, to.format().scalar, written, static_cast<double>(5 + number % 77));
    });
    REQUIRE(write_dense(from, to, resources(), "A", scaling));
    bool same = true;
    each([&](std::uint64_t number, std::uint64_t, std::uint64_t written) {
      const double wanted = scaling.alpha * static_cast<double>(3 + number % 1000) + scaling.beta * static_cast<double>(5 + number % 77);
      same = same && element(made, to.format().scalar, written) == wanted;
    });
    CHECK(same);
    double between = 0;  // what lies between the elements stays
    each([&](std::uint64_t, std::uint64_t, std::uint64_t written) { set(made, to.format().scalar, written, 0); });
    for (const std::byte byte : made) between += static_cast<double>(byte);
    CHECK(between == 0);
  }
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
