// Kernels over layouts, compiled from figures alone: what they compute, what they say of blocks, what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/operand.h"
#include "weft/engine.h"

namespace weft::figures_in_layouts_test {
namespace {

/// Small integers, so that every order of summation gives the same.
Tensor drawn(const std::string& spec, const std::optional<Format>& format) {
  const auto tensor = load_operand(spec, format, Resources(), "T");
  REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error().message));
  for (double& value : tensor->writable_values<double>()) value = std::round(8 * value) + 1;
  return *tensor;
}

std::vector<double> computed(const Kernel& kernel, const Tensors& operands) {
  Bindings bindings;
  for (const auto& [name, tensor] : operands) bindings.set(name, tensor);
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
  const auto values = results->begin()->second.values().as<const double>();
  return {values.begin(), values.end()};
}

Engine engine_of_one() {
  EngineOptions options;
  options.resources.threads = Threads(1);
  return *Engine::create(options);
}

}  // namespace

TEST_CASE("kernels over blocks and what is read through copies, from figures alone") {
  const Engine engine = engine_of_one();
  const Tensor M = drawn("sparse(30x20,nnz=90,seed=1)", *parse_format("ds"));
  const Tensors operands = {{"M", M},
                            {"N", drawn("sparse(30x20,nnz=120,seed=2)", *parse_format("ds"))},
                            {"x", drawn("uniform(20)", std::nullopt)},
                            {"X", drawn("uniform(20x4)", std::nullopt)},
                            {"u", drawn("uniform(30)", std::nullopt)}};
  for (const std::string expression : {"y(i) = M(i,j) * x(j)", "y(i) = M(i,j) * N(i,j) * x(j)", "Y(i,r) = M(i,j) * X(j,r)",
                                       "y(j) = M(i,j) * u(i)", "s = M(i,j) * N(i,j)"}) {
    CAPTURE(expression);
    Tensors used;
    std::map<std::string, Statistics> figures;
    for (const auto& [name, tensor] : operands) {
      if (expression.find(name + "(") == std::string::npos || (name == "x" && expression.find("x(j)") == std::string::npos)) continue;
      used.emplace(name, tensor);
      figures.emplace(name, Statistics(tensor.extents(), tensor.format(), static_cast<double>(tensor.nnz())));
    }
    const auto plain = engine.compile(expression, used);
    REQUIRE_MESSAGE(plain, (plain ? "" : plain.error().message));
    const std::vector<double> wanted = computed(*plain, used);
    for (const std::string layout :
         {"bcsr(2,2)", "bcsr(4,3)", "bcsr(3,1)", "(i,j) -> (j/4:d, i/4:s, i%4:d, j%4:d)", "csb(8)", "csr"}) {
      CAPTURE(layout);
      CompileOptions options;
      options.formats["M"] = *parse_format(layout);
      const auto kernel = engine.compile(expression, figures, options);
      REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
      const auto before = engine.counters().fallbacks;
      CHECK(computed(*kernel, used) == wanted);
      Tensors laid = used;
      laid["M"] = *convert(M, *parse_format(layout), Resources(), "M");
      CHECK(computed(*kernel, laid) == wanted);
      CHECK(engine.counters().fallbacks == before);
      const bool told = kernel->report().explanation.find("blocks are taken to be full, as figures do not tell: M in") != std::string::npos;
      if (layout.starts_with("bcsr")) CHECK(told);
    }
  }
}

TEST_CASE("blocks of figures are as full as counts of rows and columns allow") {
  const Engine engine = engine_of_one();
  CompileOptions options;
  options.formats["M"] = *parse_format("bcsr(4,4)");
  const auto told = [&](double entries, std::map<ModeSet, double> distinct) {
    const std::map<std::string, Statistics> figures = {{"M", Statistics({400, 400}, *parse_format("ds"), entries, std::move(distinct))},
                                                       {"x", Statistics({400}, dense_format(1), 400)}};
    const auto kernel = engine.compile("y(i) = M(i,j) * x(j)", figures, options);
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    return kernel->report().explanation;
  };
  CHECK(told(3200, {{1, 400}, {2, 400}}).find("3200 places for 3200 entries") != std::string::npos);
  CHECK(told(400, {{1, 400}, {2, 400}}).find("1600 places for 400 entries") != std::string::npos);  // 100 groups of rows
  CHECK(told(400, {{1, 40}, {2, 40}}).find("400 places for 400 entries") != std::string::npos);
}

TEST_CASE("slots, diagonals and starts want the tensor") {
  const Engine engine = engine_of_one();
  const std::map<std::string, Statistics> figures = {{"M", Statistics({30, 20}, *parse_format("ds"), 90)},
                                                     {"x", Statistics({20}, dense_format(1), 20)}};
  for (const std::string layout : {"dia", "ell", "bcsr(4,4,unaligned)"}) {
    CAPTURE(layout);
    CompileOptions options;
    options.formats["M"] = *parse_format(layout);
    const auto refused = engine.compile("y(i) = M(i,j) * x(j)", figures, options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::unsupported);
    CHECK(refused.error().message.find("figures alone do not tell") != std::string::npos);
  }
}

}  // namespace weft::figures_in_layouts_test
