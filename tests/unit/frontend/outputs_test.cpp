// Results in memory of the host: scaled, added to what is there, in parts of larger arrays; and memory that must not be given.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/overlap.h"
#include "unit/frontend/host_loop.h"

namespace outputs_test {

using namespace weft;
using namespace weft::test;

namespace {

/// The product of M (i by j) and x, by hand.
std::vector<double> product(const Tensor& M, const Tensor& x, std::uint64_t columns) {
  const auto dense = convert(M, dense_format(2), Resources(), "M");
  REQUIRE(dense);
  const auto m = dense->values().as<const double>();
  const auto of = x.values().as<const double>();
  const std::uint64_t rows = M.extents()[0], inner = M.extents()[1];
  std::vector<double> sum(rows * columns);
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < inner; ++j)
      for (std::uint64_t r = 0; m[i * inner + j] != 0 && r < columns; ++r) sum[i * columns + r] += m[i * inner + j] * of[j * columns + r];
  return sum;
}

}  // namespace

TEST_CASE("rows that a diagonal leaves out are zero, whatever an earlier run left there") {
  const auto matrix = [](std::vector<double> values) {
    const auto dense = borrow_dense({4, 4}, values);
    REQUIRE(dense);
    return *convert(*dense, *parse_format("ds"), Resources(), "A");
  };
  Tensors operands = {{"A", matrix({1, 1, 1, 1, 0, 2, 1, 0, 0, 0, 3, 0, 0, 0, 0, 4})}, {"B", operand("ones(4x3)")}};
  for (double& value : operands.at("B").writable_values<double>()) value = 1;
  CompileOptions options;
  options.formats["A"] = operands.at("A").format();
  const Kernel kernel = compiled(engine_with(1), "y(i,r) = A(i,i) * B(i,r)", operands, options);
  Bindings bindings = bound(operands);
  CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  bindings.set("A", matrix({0, 1, 1, 1, 1, 5, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0}));
  CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{0, 0, 0, 5, 5, 5, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("outputs: y = alpha M x + beta y, in place and copied, alpha and beta changed from run to run") {
  const Tensors operands = {{"M", operand("sparse(60x50,nnz=400,seed=1)")}, {"x", operand("uniform(50x4)")}};
  const std::vector<double> sum = product(operands.at("M"), operands.at("x"), 4);
  for (const unsigned threads : {1U, 2U}) {
    for (const bool scaled : {false, true}) {
      CAPTURE(threads);
      CAPTURE(scaled);
      CompileOptions options;
      if (scaled) options.scaled = {"y"};
      const Kernel kernel = compiled(engine_with(threads), "y(i,r) = M(i,j) * x(j,r)", operands, options);
      CHECK((kernel.explain(Stage::loops)->find("c0") != std::string::npos) == scaled);
      Bindings bindings = bound(operands);
      std::vector<double> y(240, std::numeric_limits<double>::quiet_NaN()), wanted(240);
      bindings.output("y", *borrow_dense({60, 4}, y));
      results_of(kernel, bindings);
      CHECK(y == sum);
      wanted = sum;
      for (const OutputUse use : {OutputUse{1, 1}, OutputUse{-2, 1}, OutputUse{3, -1}, OutputUse{0, 2}, OutputUse{2, 0}, OutputUse{0, 0}}) {
        REQUIRE(bindings.scale_output("y", use));
        for (std::size_t n = 0; n < sum.size(); ++n) wanted[n] = use.alpha * sum[n] + use.beta * wanted[n];
        const Tensors results = results_of(kernel, bindings);
        CHECK(y == wanted);
        CHECK(numbers(results.at("y")) == wanted);
      }
      bindings.output("y", *borrow_dense({60, 4}, y), {1, 1});
      for (double& each : y) each = 1;
      const Bindings copy = bindings;
      results_of(kernel, copy);
      results_of(kernel, bindings);
      for (std::size_t n = 0; n < sum.size(); ++n) CHECK(y[n] == 2 * sum[n] + 1);
    }
  }
}

TEST_CASE("outputs: with beta 0 what was there is not read, with alpha 0 the result is not") {
  Tensor M = operand("sparse(6x5,nnz=9,seed=1)");
  const Tensor x = operand("uniform(5)");
  const Kernel kernel = compiled(engine_with(), "y(i) = M(i,j) * x(j)", {{"M", M}, {"x", x}});
  M.writable_values<double>()[0] = std::numeric_limits<double>::quiet_NaN();
  Bindings bindings = bound({{"M", M}, {"x", x}});
  std::vector<double> y = {1, 2, 3, 4, 5, 6};
  bindings.output("y", *borrow_dense({6}, y), {0, 2});
  results_of(kernel, bindings);
  CHECK(y == std::vector<double>{2, 4, 6, 8, 10, 12});
  y[2] = std::numeric_limits<double>::quiet_NaN();
  bindings.output("y", *borrow_dense({6}, y), {0, 0});
  results_of(kernel, bindings);
  CHECK(y == std::vector<double>(6));
}

TEST_CASE("outputs: sums whose threads have copies of their own, large ones cut over threads, and f32") {
  const Tensor M = operand("sparse(3000x2000,nnz=120000,seed=1)", "ds");
  const Tensor B = operand("uniform(2000x16)"), C = operand("uniform(3000x16)");
  for (const std::string text : {"y(i,r) = M(i,j) * B(j,r)", "y(j,r) = M(i,j) * C(i,r)"}) {
    for (const bool strided : {false, true}) {
      CAPTURE(text);
      const bool rows = text[2] == 'i';
      const Tensors operands = rows ? Tensors{{"M", M}, {"B", B}} : Tensors{{"M", M}, {"C", C}};
      const std::uint64_t height = rows ? 3000 : 2000;
      CompileOptions options;
      options.scaled = {"y"};
      if (strided) options.strided = {"y"};
      const Kernel kernel = compiled(engine_with(2), text, operands, options);
      const Tensor turned = *convert(*convert(M, dense_format(2), Resources(), "M"), *parse_format("dd:1,0"), Resources(), "M");
      TensorArrays arrays = turned.arrays();
      arrays.format = dense_format(2);
      arrays.extents = {2000, 3000};
      const std::vector<double> sum = rows ? product(M, B, 16) : product(Tensor(arrays), C, 16);
      const std::uint64_t width = strided ? 20 : 16;
      std::vector<double> y(height * width, 1);
      std::vector<float> single(height * width, 1);
      Bindings bindings = bound(operands);
      for (int run = 1; run <= 2; ++run) {
        const std::int64_t stride = static_cast<std::int64_t>(width);
        bindings.output("y", *borrow_dense({height, 16}, y, {stride, 1}, strided ? 2 : 0), {2, 1});
        results_of(kernel, bindings);
        bindings.output("y", *borrow_dense({height, 16}, single, {stride, 1}, strided ? 2 : 0), {1, 1});
        results_of(kernel, bindings);
        std::size_t wrong = 0;
        for (std::uint64_t n = 0; n < height * width; ++n) {
          const std::uint64_t column = n % width - (strided ? 2 : 0);
          const double added = column < 16 ? run * sum[n / width * 16 + column] : 0;
          wrong += y[n] == 1 + 2 * added && single[n] == static_cast<float>(1 + added) ? 0 : 1;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("outputs: results that are computed by other rows go into any memory, scaled, and come back as asked") {
  const Tensor M = operand("sparse(300x2000,nnz=9000,seed=1)", "ds"), C = operand("uniform(300x24)");
  const Tensor turned = *convert(*convert(M, dense_format(2), Resources(), "M"), *parse_format("dd:1,0"), Resources(), "M");
  TensorArrays arrays = turned.arrays();
  arrays.format = dense_format(2);
  arrays.extents = {2000, 300};
  const std::vector<double> by_column = product(Tensor(arrays), C, 24);  // of y(r,j), columns of y one after the other
  for (const unsigned threads : {1U, 2U}) {
    for (const bool scaled : {false, true}) {
      CAPTURE(threads);
      CAPTURE(scaled);
      CompileOptions options;
      options.formats["M"] = M.format();
      if (scaled) options.scaled = {"y"};
      const Kernel kernel = compiled(engine_with(threads), "y(r,j) = C(i,r) * M(i,j)", {{"M", M}, {"C", C}}, options);
      REQUIRE(kernel.explain(Stage::schedule)->find("result y dd:1,0 f64 delivered dd:0,1 f64") != std::string::npos);
      Bindings bindings = bound({{"M", M}, {"C", C}});
      const Tensor own = results_of(kernel, bindings).at("y");
      CHECK(own.format().text() == "dd:0,1");
      REQUIRE(verify(own, Resources(), "y"));
      const auto at = [&](std::uint64_t r, std::uint64_t j) { return by_column[j * 24 + r]; };
      std::size_t wrong = 0;
      for (std::uint64_t r = 0; r < 24; ++r)
        for (std::uint64_t j = 0; j < 2000; ++j) wrong += own.values().as<const double>()[r * 2000 + j] == at(r, j) ? 0 : 1;
      CHECK(wrong == 0);
      // By rows, by rows with gaps, by columns; f32 too.
      for (const auto& [down, across] : {std::pair<std::int64_t, std::int64_t>{2000, 1}, {2003, 1}, {1, 24}, {1, 25}, {4001, 2}}) {
        CAPTURE(down);
        const auto size = static_cast<std::size_t>(23 * down + 1999 * across + 1);
        std::vector<double> y(size, 1);
        std::vector<float> single(size, 1);
        bindings.output("y", *borrow_dense({24, 2000}, y, {down, across}), {2, 3});
        const Tensor there = results_of(kernel, bindings).at("y");
        bindings.output("y", *borrow_dense({24, 2000}, single, {down, across}));
        results_of(kernel, bindings);
        CHECK(there.values().as<const double>().data() == y.data());
        for (std::uint64_t r = 0; r < 24; ++r) {
          for (std::uint64_t j = 0; j < 2000; ++j) {
            const std::uint64_t place = r * static_cast<std::uint64_t>(down) + j * static_cast<std::uint64_t>(across);
            wrong += y[place] == 2 * at(r, j) + 3 && single[place] == static_cast<float>(at(r, j)) ? 0 : 1;
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("outputs: results that others read, several at once, each with factors of its own") {
  const Tensors operands = {{"M", operand("sparse(9x8,nnz=30,seed=2)")}, {"A", operand("uniform(9x3)")}, {"B", operand("uniform(8x3)")},
                            {"D", operand("uniform(8x2)")}};
  const std::string text = "S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)";
  for (const bool like : {false, true}) {
    CAPTURE(like);
    CompileOptions options;
    options.scaled = {"S", "O"};
    options.results = {"S", "O"};
    if (like) options.patterns["S"] = "M";
    const Kernel kernel = compiled(engine_with(2), text, operands, options);
    Bindings bindings = bound(operands);
    const Tensors plain = results_of(kernel, bindings);
    const std::vector<double> s = numbers(plain.at("S")), o = numbers(plain.at("O"));
    std::vector<double> S(72, 1), O(18, 2);
    bindings.output("S", *borrow_dense({9, 8}, S), {3, 2});
    bindings.output("O", *borrow_dense({9, 2}, O), {-1, 1});
    results_of(kernel, bindings);
    for (std::size_t n = 0; n < 72; ++n) CHECK(S[n] == 3 * s[n] + 2);
    for (std::size_t n = 0; n < 18; ++n) CHECK(O[n] == 2 - o[n]);
  }
}

TEST_CASE("outputs: a kernel that takes the place of one that assumed too much scales and keeps strides, too") {
  const Tensors small = {{"M", operand("sparse(6x5,nnz=9,seed=1)")}, {"x", operand("uniform(5x2)")}};
  const Tensors large = {{"M", operand("sparse(16x15,nnz=90,seed=1)")}, {"x", operand("uniform(15x3)")}};
  CompileOptions options;
  options.scaled = options.strided = {"y"};
  const Kernel kernel = compiled(engine_with(), "y(i,r) = M(i,j) * x(j,r)", small, options);
  std::vector<double> array(16 * 5, -1);
  Bindings bindings = bound(large);
  bindings.output("y", *borrow_dense({16, 3}, array, {5, 1}, 1), {2, 1});
  const Tensors results = results_of(kernel, bindings);
  CHECK(results.at("y").values().data() == array.data());
  const std::vector<double> sum = product(large.at("M"), large.at("x"), 3);
  for (std::size_t n = 0; n < array.size(); ++n) {
    const bool inside = n % 5 >= 1 && n % 5 <= 3;
    CHECK(array[n] == (inside ? 2 * sum[n / 5 * 3 + n % 5 - 1] - 1 : -1));
  }
}

TEST_CASE("outputs: columns of one matrix may be operands and results, those that overlap are refused") {
  const Tensor M = operand("sparse(7x7,nnz=20,seed=1)");
  std::vector<double> V(7 * 6);
  for (std::size_t n = 0; n < V.size(); ++n) V[n] = static_cast<double>(n % 5);
  const auto columns = [&](std::uint64_t first, std::uint64_t count) {
    return *borrow_dense({7, count}, V, {6, 1}, first);
  };
  const Kernel kernel = compiled(engine_with(), "y(i,r) = M(i,j) * x(j,r)", {{"M", M}, {"x", columns(0, 2)}});
  Bindings bindings = bound({{"M", M}, {"x", columns(0, 2)}});
  bindings.output("y", columns(2, 2));
  const std::vector<double> x = numbers(columns(0, 2)), last = numbers(columns(4, 2));
  results_of(kernel, bindings);
  CHECK(numbers(columns(2, 2)) == product(M, *borrow_dense({7, 2}, x), 2));
  CHECK(numbers(columns(4, 2)) == last);
  CHECK(numbers(columns(0, 2)) == x);
  const auto refusal = [&](Tensor memory) {
    Bindings wrong = bindings;
    wrong.output("y", std::move(memory));
    const auto refused = kernel.run(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK(refused.error().operand == "y");
    return refused.error().message;
  };
  CHECK(refusal(columns(1, 2)) == "the memory for y overlaps the operand x");
  CHECK(refusal(*borrow_dense({7, 2}, V, {1, 7})) == "the memory for y overlaps the operand x");
  std::vector<double> one(2);
  const std::string repeated = "the memory for y has strides that lead to one element on several ways";
  CHECK(refusal(*borrow_dense({7, 2}, one, {0, 1})) == repeated);
  std::vector<double> more(30);
  for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{1, 2}, {2, 12}, {1, 1}, {2, 4}})
    CHECK(refusal(*borrow_dense({7, 2}, more, strides)) == repeated);
  CHECK_FALSE(repeats_elements(std::vector<std::uint64_t>{7, 2}, std::vector<std::int64_t>{2, 3}));
  CHECK_FALSE(repeats_elements(std::vector<std::uint64_t>{7, 2}, std::vector<std::int64_t>{2, 1}));
  std::vector<double> other(12);
  CHECK(refusal(*borrow_dense({6, 2}, other)) == "the memory for y has extents 6x2, the result 7x2");
  const auto unset = Bindings(bound({})).scale_output("y", {2, 1});
  REQUIRE_FALSE(unset);
  CHECK(unset.error().code == ErrorCode::unknown_name);
}

TEST_CASE("outputs: a result without modes goes into an element of a larger array") {
  const Tensors operands = {{"x", operand("uniform(5)")}, {"y", operand("ones(5)")}};
  const Kernel kernel = compiled(engine_with(), "s = x(i) * y(i)", operands);
  const double sum = numbers(results_of(kernel, bound(operands)).at("s")).front();
  Bindings bindings = bound(operands);
  for (const std::uint64_t element : {0, 1, 3}) {
    CAPTURE(element);
    std::vector<double> slots(4, 7), wanted = slots;
    std::vector<float> single(4, 7);
    bindings.output("s", *borrow_dense({}, slots, {}, element));
    wanted[element] = sum;
    CHECK(numbers(results_of(kernel, bindings).at("s")) == std::vector<double>{sum});
    CHECK(slots == wanted);
    bindings.output("s", *borrow_dense({}, slots, {}, element), {2, 1});
    wanted[element] = 3 * sum;
    results_of(kernel, bindings);
    CHECK(slots == wanted);
    bindings.output("s", *borrow_dense({}, single, {}, element));
    results_of(kernel, bindings);
    CHECK(single[element] == static_cast<float>(sum));
    CHECK(single[2] == 7);
  }
  const std::vector<double> slots(4, 7);
  CHECK(numbers(*borrow_dense({}, slots, {}, 3)) == std::vector<double>{7});
  const auto beyond = borrow_dense({}, slots, {}, 4);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == ErrorCode::sizes);
}

TEST_CASE("outputs: options that name no result are refused") {
  const Tensors operands = {{"M", operand("sparse(7x7,nnz=20,seed=1)")}, {"x", operand("uniform(7)")}};
  CompileOptions options;
  options.scaled = {"x"};
  auto refused = engine_with().compile("y(i) = M(i,j) * x(j)", operands, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "x is to be scaled, but is no result");
  options.scaled.clear();
  options.strided = {"z"};
  refused = engine_with().compile("y(i) = M(i,j) * x(j)", operands, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().operand == "z");
}

}  // namespace outputs_test
