// As many indices as a network may have: 64, whatever format its result has.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "frontend/operand.h"
#include "unit/share.h"
#include "weft/engine.h"
#include "weft/entries.h"

namespace many_indices_test {

using namespace weft;

namespace {

using Matrix = std::array<std::array<double, 2>, 2>;

// R(x0,x63) = T0(x0,…,x7) * T1(x7,…,x14) * …: nine tensors of order 8, each of which is a matrix of its first and last mode where
// all others are summed.
struct Chain {
  std::string expression = "R(x0,x63) = ";
  Tensors operands;
  Matrix product = {{{1, 0}, {0, 1}}};
};

Chain chain(std::size_t tensors) {
  Chain made;
  const Resources resources;
  for (std::size_t number = 0; number < tensors; ++number) {
    const std::string name = "T" + std::to_string(number);
    made.expression += (number == 0 ? "" : " * ") + name + "(";
    for (std::size_t mode = 0; mode < 8; ++mode) {
      const bool result = number + 1 == tensors && mode == 7;
      made.expression += (mode == 0 ? "x" : ",x") + std::to_string(result ? 63 : 7 * number + mode);
    }
    made.expression += ")";
    auto tensor = load_operand("sparse(2x2x2x2x2x2x2x2,nnz=9,seed=" + std::to_string(number + 1) + ")", std::nullopt, resources, name);
    REQUIRE_MESSAGE(tensor, tensor.error().message);
    double next = 1;
    for (double& value : tensor->writable_values<double>()) value = next++;
    Matrix own{};
    REQUIRE(for_each_entry(*tensor, [&](std::span<const std::uint64_t> at, double value) {
      own[at.front()][at.back()] += value;
      return true;
    }, resources));
    Matrix product{};
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t k = 0; k < 2; ++k) product[i][k] += made.product[i][j] * own[j][k];
    made.product = product;
    made.operands.emplace(name, std::move(*tensor));
  }
  return made;
}

}  // namespace

TEST_CASE("64 indices, with results of every kind") {
  const Chain made = chain(9);
  const Engine engine = *Engine::create({});
  std::uint64_t number = 0;
  for (const char* format : {"", "dd", "ss", "ds:1,0", "uq", "hs", "hh"}) {
    if (!test::is_drawn_sanitized(number++)) continue;
    CompileOptions options;
    if (*format != '\0') options.formats["R"] = *parse_format(format);
    const auto kernel = engine.compile(made.expression, made.operands, options);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    Bindings bindings;
    for (const auto& [name, tensor] : made.operands) bindings.set(name, tensor);
    const auto results = kernel->run(bindings);
    REQUIRE_MESSAGE(results, results.error().message);
    const Tensor& result = results->at("R");
    REQUIRE(verify(result, Resources(), "R"));
    for (std::uint64_t i = 0; i < 2; ++i)
      for (std::uint64_t j = 0; j < 2; ++j) CHECK(at(result, {i, j})->value == made.product[i][j]);
  }
}

TEST_CASE("the sixty-fifth index is refused") {
  Chain made = chain(9);
  made.operands.emplace("v", *load_operand("ones(2)", std::nullopt, Resources(), "v"));
  const auto kernel = Engine::create({})->compile(made.expression + " * v(more)", made.operands);
  REQUIRE_FALSE(kernel);
  CHECK(kernel.error().kind == ErrorKind::unsupported);
  CHECK(kernel.error().message.contains("65 indices in one network are not supported yet: at most 64"));
}

}  // namespace many_indices_test
