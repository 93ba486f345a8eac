// Layouts kept with tensors, values gathered anew, and workspaces that are rebound, prepared and given back.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/memory/fault_points.h"
#include "weft/engine.h"
#include "weft/host.h"

namespace weft::layouts_faults_test {

using allocation_faults::armed;
using test::drawn;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;

namespace {

constexpr const char* text = "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)";

/// A tensor of ones, stored otherwise than its kernel reads it; values over its pattern that are all the same.
struct Converted {
  Tensor T = ones(drawn("sparse(12x10x8,nnz=150,seed=3)", "sss"));
  Tensor B = drawn("ones(12x4)", "dd");
  Tensor C = drawn("ones(10x4)", "dd");
  Engine engine;
  Kernel kernel;
  std::vector<double> right;
  std::vector<double> twos = std::vector<double>(T.nnz(), 2);
  std::vector<double> threes = std::vector<double>(T.nnz(), 3);

  explicit Converted(bool changes) {
    EngineOptions options;
    options.resources.threads = Threads(1);
    engine = *Engine::create(options);
    CompileOptions how;
    how.formats["T"] = *parse_format("sss:2,1,0");
    if (changes) how.changing = {"T"};
    kernel = *engine.compile(text, operands(T), how);
    const auto results = kernel.run(bound(anew()));
    const auto values = results->at("A").values().as<const double>();
    right.assign(values.begin(), values.end());
  }
  static Tensor ones(Tensor tensor) {
    std::ranges::fill(tensor.writable_values<double>(), 1);
    return tensor;
  }
  /// Of which nothing is known, and no layout kept.
  Tensor anew() const { return Tensor(T.arrays(), Validity::known); }
  Tensors operands(const Tensor& tensor) const { return {{"T", tensor}, {"B", B}, {"C", C}}; }
  Bindings bound(const Tensor& tensor) const {
    Bindings bindings;
    for (const auto& [name, operand] : operands(tensor)) bindings.set(name, operand);
    return bindings;
  }
  bool is_right(const Tensors& results, double entry) const {
    const auto values = results.at("A").values().as<const double>();
    for (std::size_t n = 0; n < right.size(); ++n)
      if (values[n] != entry * right[n]) return false;
    return values.size() == right.size();
  }
};

}  // namespace

TEST_CASE("faults: an operand is laid out for its first run, found again, and filled anew with other values") {
  for (const bool changes : {false, true}) {
    const Converted over(changes);
    const Memory& memory = over.engine.options().resources.memory;
    fail_every_allocation(changes ? "layouts of changing values" : "layouts", [&]() -> Outcome {
      over.engine.give_back();  // workspaces of the run before
      Bindings bindings = over.bound(over.anew());
      const auto first = armed([&] { return over.kernel.run(bindings); });
      if (!first) return refused(first.error());
      if (!over.is_right(*first, 1)) return judged(false, "the first run is wrong");
      double entry = 2;
      for (const std::vector<double>* values : {&over.twos, &over.threes, &over.twos}) {
        const auto replaced = armed([&] { return bindings.replace_values("T", *values); });
        if (!replaced) return refused(replaced.error());
        const auto results = armed([&] { return over.kernel.run(bindings); });
        if (!results) return refused(results.error());
        if (!over.is_right(*results, entry)) return judged(false, "a run of other values is wrong");
        entry = entry == 2 ? 3 : 2;
      }
      bindings = Bindings();
      over.engine.give_back();
      return test::right();
    }, memory, 60);
  }
}

TEST_CASE("faults: what could not be filled leaves the values that others read, and the next run is right") {
  const Converted over(true);
  const Memory& memory = over.engine.options().resources.memory;
  std::vector<double> values(over.T.nnz(), 1);
  const Tensor mine = *same_pattern(over.anew(), values);
  const Bindings bindings = over.bound(mine);
  REQUIRE(over.kernel.run(bindings));
  REQUIRE(over.kernel.run(bindings));
  double entry = 1;
  fail_every_allocation("values that change in place", [&]() -> Outcome {
    entry = entry == 5 ? 1 : entry + 1;
    std::ranges::fill(values, entry);
    mine.values_changed();
    const auto results = armed([&] { return over.kernel.run(bindings); });
    if (!results) return refused(results.error());
    return judged(over.is_right(*results, entry), "values of another run");
  }, memory, 40);
}

TEST_CASE("faults: workspaces prepared, rebound and given back") {
  const Converted over(false);
  const Memory& memory = over.engine.options().resources.memory;
  const Tensor given = over.anew();
  fail_every_allocation("prepare and rebind", [&]() -> Outcome {
    over.engine.give_back();
    Bindings bindings = over.bound(given);
    const auto prepared = armed([&] { return over.kernel.prepare(bindings); });
    if (!prepared) return refused(prepared.error());
    std::vector<double> factor(12 * 4, 2);
    auto other = borrow_dense({12, 4}, factor);
    armed([&] { bindings.set("B", std::move(*other)); });
    const auto results = armed([&] { return over.kernel.run(bindings); });
    if (!results) return refused(results.error());
    if (!over.is_right(*results, 2)) return judged(false, "a rebound run is wrong");
    return test::right();
  }, memory, 60);
}

TEST_CASE("faults: a layout that a pin asks for is made while compiling") {
  const Converted over(false);
  const Memory& memory = over.engine.options().resources.memory;
  CompileOptions how;
  how.formats["T"] = *parse_format("sss:1,0,2");
  fail_every_allocation("a pinned layout", [&]() -> Outcome {
    over.engine.give_back();
    const Tensors operands = over.operands(over.anew());
    CompileOptions own = how;
    const auto kernel = armed([&] { return over.engine.compile(text, operands, own); });
    if (!kernel) return refused(kernel.error());
    const auto results = kernel->run(over.bound(operands.at("T")));
    if (!results) return refused(results.error());
    return judged(over.is_right(*results, 1), "a run in the pinned layout is wrong");
  }, memory, 25);
}

}  // namespace weft::layouts_faults_test
