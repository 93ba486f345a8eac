// Sparse results in memory of the host: patterns computed once, values written many times, arrays of the host's own.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/memory/fault_points.h"
#include "weft/engine.h"
#include "weft/entries.h"
#include "weft/host.h"

namespace weft::sparse_outputs_faults_test {

using allocation_faults::armed;
using test::drawn;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;

namespace {

struct Case {
  const char* name;
  const char* text;
  const char* format;  ///< of C
  bool like = false;   ///< C is stored at the positions of A
  const char* stored = "ds";  ///< A and B
};

/// What a kernel over matrices of ones computes; multiples of A give multiples of it.
struct Product {
  Tensor A, B;
  Engine engine;
  Kernel kernel;
  std::vector<double> right;
  std::vector<double> twos;

  explicit Product(const Case& one)
      : A(ones(drawn("sparse(20x20,nnz=60,seed=1)", one.stored))),
        B(ones(drawn("sparse(20x20,nnz=60,seed=2)", one.stored))),
        twos(A.values().size_bytes() / sizeof(double), 2) {
    EngineOptions options;
    options.resources.threads = Threads(1);
    engine = *Engine::create(options);
    CompileOptions how;
    if (one.like) how.patterns["C"] = "A";
    if (!one.like) how.formats["C"] = *parse_format(one.format);
    auto compiled = engine.compile(one.text, {{"A", A}, {"B", B}}, how);
    REQUIRE_MESSAGE(compiled, compiled.error().message);
    kernel = *compiled;
    const auto results = kernel.run(bound());
    REQUIRE(results);
    const auto values = results->at("C").values().as<const double>();
    right.assign(values.begin(), values.end());
  }
  static Tensor ones(Tensor tensor) {
    std::ranges::fill(tensor.writable_values<double>(), 1);
    return tensor;
  }
  Bindings bound() const {
    Bindings bindings;
    bindings.set("A", A);
    bindings.set("B", B);
    return bindings;
  }
  bool holds(const std::vector<double>& values, double factor) const {
    if (values.size() != right.size()) return false;
    for (std::size_t n = 0; n < right.size(); ++n)
      if (values[n] != factor * right[n]) return false;
    return true;
  }
};

}  // namespace

TEST_CASE("faults: sparse results written into memory of the host, over a pattern that was computed or is an operand's") {
  for (const Case& one : {Case{"computed", "C(i,j) = A(i,k) * B(k,j)", "ds"}, Case{"computed, converted", "C(i,j) = A(i,k) * B(k,j)", "uq"},
                          Case{"of an operand", "C(i,j) = A(i,j) * B(j,i)", "", true},
                          Case{"over blocks", "C(i,j) = A(i,k) * B(k,j)", "ds", false, "bcsr(2,2)"},
                          Case{"over blocks, converted", "C(i,j) = A(i,k) * B(k,j)", "uq", false, "bcsr(2,2)"}}) {
    const Product product(one);
    const Memory& memory = product.engine.options().resources.memory;
    fail_every_allocation(std::string("sparse output, ") + one.name, [&]() -> Outcome {
      product.engine.give_back();
      std::vector<double> values(product.right.size(), -1), scaled(product.right.size(), 1);
      Bindings bindings = product.bound();
      const auto symbolic = armed([&] { return product.kernel.symbolic(bindings); });
      if (!symbolic) return refused(symbolic.error());
      auto output = armed([&] { return same_pattern(symbolic->at("C"), values); });
      if (!output) return refused(output.error());
      armed([&] { bindings.output("C", *output); });
      const auto first = armed([&] { return product.kernel.run(bindings); });
      if (!first) return refused(first.error());
      if (!product.holds(values, 1) || first->at("C").values().data() != values.data()) return judged(false, "the first run is wrong");
      const auto replaced = armed([&] { return bindings.replace_values("A", product.twos); });
      if (!replaced) return refused(replaced.error());
      const auto second = armed([&] { return product.kernel.run(bindings); });
      if (!second) return refused(second.error());
      if (!product.holds(values, 2)) return judged(false, "a run of other values is wrong");
      auto other = armed([&] { return same_pattern(symbolic->at("C"), scaled); });
      if (!other) return refused(other.error());
      armed([&] { bindings.output("C", *other, {.alpha = 3, .beta = 0}); });
      const auto third = armed([&] { return product.kernel.run(bindings); });
      if (!third) return refused(third.error());
      return judged(product.holds(scaled, 6) && product.holds(values, 2) && verify(third->at("C"), Resources(), "C").has_value(),
                    "a scaled run is wrong");
    }, memory, 60);
  }
}

TEST_CASE("faults: a sparse result whose pattern is written to arrays of the host too, and one whose pattern has changed") {
  const Product product({"", "C(i,j) = A(i,k) * B(k,j)", "ds"});
  const Memory& memory = product.engine.options().resources.memory;
  const Tensor other = Product::ones(drawn("sparse(20x20,nnz=55,seed=3)", "ds"));
  const auto known = product.kernel.symbolic(product.bound());
  REQUIRE(known);
  const LevelArrays& level = known->at("C").levels()[1];
  fail_every_allocation("sparse output, arrays of the host", [&]() -> Outcome {
    product.engine.give_back();
    std::vector<std::uint32_t> pos(level.pos.size_bytes() / 4), crd(level.crd.size_bytes() / 4);
    std::vector<double> values(product.right.size(), -1);
    Bindings bindings = product.bound();
    const auto symbolic = armed([&] { return product.kernel.symbolic(bindings); });
    if (!symbolic) return refused(symbolic.error());
    const std::vector<HostLevel> levels = {{}, {pos, crd}};
    auto output = armed([&] { return same_pattern(symbolic->at("C"), levels, values); });
    if (!output) return refused(output.error());
    armed([&] { bindings.output("C", *output); });
    const auto ran = armed([&] { return product.kernel.run(bindings); });
    if (!ran) return refused(ran.error());
    if (!product.holds(values, 1) || pos.back() != values.size()) return judged(false, "the run is wrong");
    armed([&] { bindings.set("A", other); });
    const auto changed = armed([&] { return product.kernel.run(bindings); });
    if (changed) return judged(false, "a pattern that had changed was taken");
    if (changed.error().kind == ErrorKind::resource) return refused(changed.error());
    if (changed.error().code != ErrorCode::pattern_changed) return judged(false, changed.error().message);
    armed([&] { bindings.set("A", product.A); });
    const auto again = armed([&] { return product.kernel.run(bindings); });
    if (!again) return refused(again.error());
    return judged(product.holds(values, 1), "the run after an error is wrong");
  }, memory, 60);
}

}  // namespace weft::sparse_outputs_faults_test
