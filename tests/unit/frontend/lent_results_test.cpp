// Results whose memory the host lends, beside a memory limit that they alone would exceed.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "unit/frontend/host_loop.h"

namespace lent_results_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr std::uint64_t rows = 400, columns = 300;
constexpr std::uint64_t result_bytes = rows * columns * 8;

/// Operands of the host, which count against no limit: R(i,j) = x(i) * y(j).
struct Lent {
  std::vector<double> x = std::vector<double>(rows), y = std::vector<double>(columns);
  Tensors operands;

  Lent() {
    for (std::uint64_t i = 0; i < rows; ++i) x[i] = static_cast<double>(i % 7);
    for (std::uint64_t j = 0; j < columns; ++j) y[j] = static_cast<double>(j % 5);
    operands = {{"x", *borrow_dense({rows}, x)}, {"y", *borrow_dense({columns}, y)}};
  }
  bool is_product(const std::vector<double>& result, std::uint64_t across = 1, std::uint64_t down = columns) const {
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t j = 0; j < columns; ++j)
        if (result[i * down + j * across] != x[i] * y[j]) return false;
    }
    return true;
  }
};

const std::string outer = "R(i,j) = x(i) * y(j)";

CompileOptions lending(std::vector<std::string> results) {
  CompileOptions options;
  options.lent_results = std::move(results);
  return options;
}

}  // namespace

TEST_CASE("a limit below the result: it is refused, unless the host lends its memory") {
  const Lent lent;
  for (const unsigned threads : {1U, 2U}) {
    for (const bool proven : {false, true}) {
      CAPTURE(threads);
      CAPTURE(proven);
      const Memory memory(result_bytes / 2);
      const Engine engine = engine_with(threads, memory);
      CompileOptions options = lending({"R"});
      options.prove = proven;
      CompileOptions without = options;
      without.lent_results.clear();
      const auto counted = engine.compile(outer, lent.operands, without);
      REQUIRE(!counted);
      CHECK(counted.error().kind == ErrorKind::resource);
      const Kernel kernel = compiled(engine, outer, lent.operands, options);
      CHECK(kernel.report().plan.peak_bytes <= result_bytes / 2);
      std::vector<double> values(rows * columns, -1);
      Bindings bindings = bound(lent.operands);
      bindings.output("R", *borrow_dense({rows, columns}, values));
      CHECK(results_of(kernel, bindings).size() == 1);
      CHECK(lent.is_product(values));
      CHECK(memory.peak() < result_bytes / 2);
      const auto bytes = kernel.save();
      REQUIRE(bytes);
      const auto loaded = engine.load(*bytes);
      REQUIRE_MESSAGE(loaded, loaded.error().message);
      std::ranges::fill(values, -1);
      CHECK(results_of(*loaded, bindings).size() == 1);
      CHECK(lent.is_product(values));
      // Without the memory a run has to allocate it after all, and says so.
      const auto refused = kernel.run(bound(lent.operands));
      REQUIRE(!refused);
      CHECK(refused.error().kind == ErrorKind::resource);
      CHECK(refused.error().message.find("R") != std::string::npos);
    }
  }
}

TEST_CASE("lent results: in another layout they are written from one copy, which is counted") {
  const Lent lent;
  std::vector<double> values(rows * columns, -1);
  Bindings bindings = bound(lent.operands);
  bindings.output("R", *borrow_dense({rows, columns}, values, {1, static_cast<std::int64_t>(rows)}));  // by columns
  const Engine engine = engine_with(1, Memory(result_bytes / 2));
  const Kernel kernel = compiled(engine, outer, lent.operands, lending({"R"}));
  const auto refused = kernel.run(bindings);
  REQUIRE(!refused);
  CHECK(refused.error().kind == ErrorKind::resource);
  const Engine larger = engine_with(1, Memory(2 * result_bytes));
  CHECK(results_of(compiled(larger, outer, lent.operands, lending({"R"})), bindings).size() == 1);
  CHECK(lent.is_product(values, rows, 1));
}

TEST_CASE("lent results: of several assignments each by its name") {
  const Lent lent;
  const std::string text = "R(i,j) = x(i) * y(j); S(i,j) = R(i,j) * y(j)";
  CompileOptions options = lending({"S"});
  options.results = {"R", "S"};
  const Engine engine = engine_with(1, Memory(result_bytes / 2));
  CHECK(!engine.compile(text, lent.operands, options));
  options.lent_results = {"R", "S"};
  const Kernel kernel = compiled(engine, text, lent.operands, options);
  std::vector<double> first(rows * columns), second(rows * columns);
  Bindings bindings = bound(lent.operands);
  bindings.output("R", *borrow_dense({rows, columns}, first));
  bindings.output("S", *borrow_dense({rows, columns}, second));
  CHECK(results_of(kernel, bindings).size() == 2);
  CHECK(lent.is_product(first));
  for (std::uint64_t element = 0; element < second.size(); ++element)
    if (second[element] != first[element] * lent.y[element % columns]) FAIL_CHECK(element);
}

TEST_CASE("lent results: what is put together from the levels of a layout has memory of its own, which counts") {
  const Lent lent;
  const Tensor A = operand("sparse(400x400,nnz=300,seed=1)", "bcsr(3,3)");
  const Tensors operands = {{"A", A}, {"y", *borrow_dense({columns}, lent.y)}, {"x", *borrow_dense({rows}, lent.x)}};
  const std::string text = "R(i,j) = A(i,k) * x(k) * y(j)";
  CHECK(!engine_with(1, Memory(result_bytes / 2)).compile(text, operands, lending({"R"})));
  std::vector<double> values(rows * columns, -1);
  Bindings bindings = bound(operands);
  bindings.output("R", *borrow_dense({rows, columns}, values));
  CHECK(results_of(compiled(engine_with(1, Memory(3 * result_bytes)), text, operands, lending({"R"})), bindings).size() == 1);
  CHECK(values == numbers(results_of(compiled(engine_with(1), text, operands), bound(operands)).at("R")));
}

TEST_CASE("lent results: only those of the expression can be") {
  const Lent lent;
  for (const std::string name : {"x", "T"}) {
    const auto refused = engine_with(1).compile(outer, lent.operands, lending({name}));
    REQUIRE(!refused);
    CHECK(refused.error().message == "memory is to be lent for " + name + ", which is no result");
    CHECK(refused.error().operand == name);
    CHECK(refused.error().code == ErrorCode::unknown_name);
  }
}

}  // namespace lent_results_test
