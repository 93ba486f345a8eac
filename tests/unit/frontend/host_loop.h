// What tests of kernels in a loop begin with: an engine, operands of small integers, a kernel, bindings.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/operand.h"
#include "weft/engine.h"
#include "weft/file.h"
#include "weft/host.h"

namespace weft::test {

inline Engine engine_with(unsigned threads = 1, Memory memory = Memory(), bool checked = false) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  options.resources.memory = std::move(memory);
  options.checked = checked;
  auto engine = Engine::create(options);
  REQUIRE(engine);
  return *engine;
}

/// The operand that a text of the command describes ("sparse(20x30,nnz=60,seed=1)"). Its values are 1 to 7 in turns, so that every
/// order of summation gives the same.
inline Tensor operand(const std::string& text, const std::string& format = "") {
  std::optional<Format> wanted;
  if (!format.empty()) wanted = *parse_format(format);
  auto tensor = load_operand(text, wanted, Resources(), text);
  REQUIRE_MESSAGE(tensor, tensor.error().message);
  double next = 1;
  for (double& value : tensor->writable_values<double>()) value = next = next == 7 ? 1 : next + 1;
  return *tensor;
}

/// The tensor with another value at one position; the tensor itself stays as it is.
inline Tensor with_value(const Tensor& tensor, std::size_t position, double value) {
  auto values = Buffer::allocate(tensor.values().size_bytes(), Memory(), "values");
  REQUIRE(values);
  std::memcpy(values->data(), tensor.values().data(), tensor.values().size_bytes());
  values->as<double>()[position] = value;
  return *same_pattern(tensor, *values, Scalar::f64);
}

inline Kernel compiled(const Engine& engine, const std::string& text, const Tensors& operands, const CompileOptions& options = {}) {
  auto kernel = engine.compile(text, operands, options);
  REQUIRE_MESSAGE(kernel, kernel.error().message);
  return *kernel;
}

inline Bindings bound(const Tensors& operands, OperandUse use = {}) {
  Bindings bindings;
  for (const auto& [name, tensor] : operands) bindings.set(name, tensor, use);
  return bindings;
}

/// All elements of a result in row-major order, whatever it is stored as; it passes verify().
inline std::vector<double> numbers(const Tensor& tensor) {
  const auto good = verify(tensor, Resources(), "result");
  REQUIRE_MESSAGE(good, good.error().message);
  const auto dense = convert(tensor, dense_format(tensor.order()), Resources(), "result");
  REQUIRE(dense);
  const auto values = dense->values().as<const double>();
  return {values.begin(), values.end()};
}

/// The results of a run that has to succeed.
inline Tensors results_of(const Kernel& kernel, const Bindings& bindings) {
  auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  return *results;
}

/// What a run is refused with.
inline Error refused(const Kernel& kernel, const Bindings& bindings) {
  const auto results = kernel.run(bindings);
  REQUIRE_FALSE(results);
  return results.error();
}

}  // namespace weft::test
