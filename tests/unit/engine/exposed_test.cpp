#include "engine/exposed.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/tensor_facts.h"

namespace weft::exposed_test {
namespace {

/// Y(i,r) = T(i,r) of 9 x 2, Y asked for in a layout.
Network copied() {
  Network network;
  network.indices = {{"i", 9}, {"r", 2}};
  network.tensors = {{"T", {9, 2}, Scalar::f64, false}, {"Y", {9, 2}, Scalar::f64, true}};
  network.assignments.push_back({{1, {0, 1}}, {Term{}}});
  network.assignments.front().terms.front().factors.push_back({0, {0, 1}});
  return network;
}


}  // namespace

TEST_CASE("results over levels are handed over without a copy, whatever the modes of their layout are called") {
  const Network network = copied();
  std::vector<double> values(18);
  values[2] = 3;
  values[17] = 4;
  for (const char* const text : {"(i,j) -> (i/3:s, i%3:d, j:d)", "(x,y) -> (x/3:s, x%3:d, y:d)", "(i,j) -> (j:d, i:s)"}) {
    CAPTURE(text);
    const Format asked = *parse_format(text);
    const bool as_computed = std::string(text).find("/3") != std::string::npos;
    const auto exposure = exposed(network, {{dense_format(2)}, {*parse_format("(i,j) -> (i/3:s, i%3:d, j:d)")}});
    REQUIRE(exposure);
    // What a kernel appends: positions of 64 bits.
    TensorArrays arrays;
    arrays.format = *parse_format("sdd");
    arrays.format.levels[0].pos_bits = 64;
    arrays.extents = {3, 3, 2};
    arrays.levels.resize(3);
    arrays.levels[0].pos = *Buffer::allocate(2 * 8, Memory(), "pos");
    arrays.levels[0].crd = *Buffer::allocate(2 * 4, Memory(), "crd");
    arrays.values = *Buffer::allocate(12 * 8, Memory(), "values");
    arrays.levels[0].pos.as<std::uint64_t>()[1] = 2;
    arrays.levels[0].crd.as<std::uint32_t>()[1] = 2;
    arrays.values.as<double>()[2] = 3;
    arrays.values.as<double>()[11] = 4;
    const void* const computed_values = arrays.values.data();
    const Tensor computed = made(std::move(arrays));
    const auto given = handed_over(*exposure, 1, computed, asked, Resources());
    REQUIRE_MESSAGE(given, (given ? "" : given.error().message));
    CHECK(given->format().text() == asked.text());
    CHECK(verify(*given, Resources(), "Y"));
    CHECK((given->values().data() == computed_values) == as_computed);
    const auto dense = convert(*given, dense_format(2), Resources(), "Y");
    REQUIRE(dense);
    CHECK(std::ranges::equal(dense->values().as<const double>(), values));
  }
}

}  // namespace weft::exposed_test
