// Kernels that read values which change through the places that a conversion took them from: when they do, and what stays where it is.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/frontend/host_loop.h"
#include "unit/share.h"
#include "weft/statistics.h"

namespace placed_values_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr const char* text = "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)";

Tensors operands_of(const Tensor& T) { return {{"T", T}, {"B", operand("uniform(40x4)")}, {"C", operand("uniform(50x4)")}}; }

/// T is read in another order than it has, and its values change.
CompileOptions changing_options(const char* format = "sss:2,1,0") {
  CompileOptions options;
  options.formats["T"] = *parse_format(format);
  options.changing = {"T"};
  options.calls = 1000;
  return options;
}

std::vector<double> fresh(const Tensors& operands) {
  const Engine engine = engine_with();
  return numbers(results_of(compiled(engine, text, operands), bound(operands)).at("A"));
}

std::vector<double> ran(const Kernel& kernel, const Bindings& bindings) { return numbers(results_of(kernel, bindings).at("A")); }

bool reads_through_places(const Kernel& kernel) { return kernel.explain("loops")->find(" places<32>") != std::string::npos; }

}  // namespace

TEST_CASE("placed values: in place, announced, replaced, in another layout, they are those of each run") {
  std::uint64_t number = 0;
  for (const unsigned threads : {1U, 2U}) {
    for (const bool checked : {false, true}) {
      for (const char* const format : {"sss:2,1,0", "uqq:2,1,0", "dss:2,0,1"}) {
        if (!test::is_drawn_sanitized(number++)) continue;
        CAPTURE(threads);
        CAPTURE(checked);
        CAPTURE(format);
        const Engine engine = engine_with(threads, Memory(), checked);
        Tensors operands = operands_of(operand("sparse(40x50x60,nnz=3000,seed=1)"));
        Tensor& T = operands.at("T");
        const Kernel kernel = compiled(engine, text, operands, changing_options(format));
        CHECK(reads_through_places(kernel));
        CHECK(kernel.report().explanation.find("values of T, which change, are read through their places") != std::string::npos);
        Bindings bindings = bound(operands);
        CHECK(ran(kernel, bindings) == fresh(operands));
        // Without a word.
        auto* const values = static_cast<double*>(const_cast<void*>(T.values().data()));
        for (std::size_t n = 0; n < T.nnz(); ++n) values[n] += static_cast<double>(n % 5);
        T.values_changed();  // for the other engine
        CHECK(ran(kernel, bindings) == fresh(operands));
        CHECK(engine.counters().layouts_made == 1);
        CHECK(engine.counters().layouts_refilled == 0);
        CHECK(engine.counters().layouts_read_through > 0);
        operands.at("T") = with_value(T, 7, 100);
        bindings.set("T", T);
        CHECK(ran(kernel, bindings) == fresh(operands));
        CHECK(engine.counters().layouts_made == 1);
        // As the kernel reads it, and in a third format.
        for (const char* const other : {format, "sss:1,0,2"}) {
          const Tensor turned = *convert(T, *parse_format(other), Resources(), "T");
          bindings.set("T", turned);
          CHECK(ran(kernel, bindings) == fresh(operands));
        }
        // Another pattern; one whose zeros are left out.
        for (const char* const other : {"sss", "ddd"}) {
          operands.at("T") = *convert(operand("sparse(40x50x60,nnz=2000,seed=2)"), *parse_format(other), Resources(), "T");
          bindings.set("T", T);
          CHECK(ran(kernel, bindings) == fresh(operands));
        }
        CHECK(engine.counters().fallbacks == 0);
      }
    }
  }
}

TEST_CASE("placed values: kernels that do not know of changes, or visit entries often, gather them") {
  const Engine engine = engine_with();
  const Tensors operands = operands_of(operand("sparse(40x50x60,nnz=3000,seed=1)"));
  CompileOptions options = changing_options();
  options.changing.clear();
  CHECK_FALSE(reads_through_places(compiled(engine, text, operands, options)));
  options.changing_patterns = {"T"};
  CHECK_FALSE(reads_through_places(compiled(engine, text, operands, options)));
  // In the order that it has.
  CHECK_FALSE(reads_through_places(compiled(engine, text, operands, changing_options("sss"))));
  // Each entry of M is met by all rows of x.
  const Tensors other = {{"M", operand("sparse(60x50,nnz=900,seed=3)")}, {"x", operand("sparse(70x60,nnz=1500,seed=4)")}};
  CompileOptions often;
  often.formats["M"] = *parse_format("ds:1,0");
  often.formats["x"] = *parse_format("ds");
  often.changing = {"M"};
  often.schedule =
      "schedule\n  tree (M * x)\n  layout M ds:1,0 f64\n  layout x ds:0,1 f64\n  result y dd:0,1 f64\n"
      "  y[k,j] += M[i,j] * x[k,i]   loops k,j,i\n  parallel k owner\n";
  const auto kernel = engine.compile("y(k,j) = M(i,j) * x(k,i)", other, often);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  CHECK(kernel->report().explanation.find("values of M, which change, are gathered before each run") != std::string::npos);
  CHECK(kernel->explain("loops")->find("places") == std::string::npos);
  // What else the kernel reads and writes fills the cache, from which values of few entries come when they are gathered.
  const Tensors wide = {{"T", operand("sparse(100000x100000,nnz=1000,seed=1)")}, {"B", operand("ones(100000x24)")}};
  const Kernel sums = compiled(engine, "A(j,r) = T(i,j) * B(i,r)", wide, changing_options("ds:1,0"));
  CHECK(sums.report().explanation.find("values of T, which change, are gathered before each run") != std::string::npos);
}

TEST_CASE("placed values: a saved kernel reads them as the one that was saved") {
  const Engine engine = engine_with();
  const Tensors operands = operands_of(operand("sparse(40x50x60,nnz=3000,seed=1)"));
  const Kernel kernel = compiled(engine, text, operands, changing_options());
  const auto saved = kernel.save();
  REQUIRE(saved);
  const auto loaded = engine_with().load(*saved);
  REQUIRE_MESSAGE(loaded, loaded.error().message);
  CHECK(reads_through_places(*loaded));
  CHECK(ran(*loaded, bound(operands)) == fresh(operands));
}

TEST_CASE("placed values: of single precision, and finite ones that become infinite") {
  const Engine engine = engine_with();
  Tensors operands = operands_of(operand("sparse(40x50x60,nnz=3000,seed=1)"));
  operands.at("T") = *convert(operands.at("T"), sparse_format(3, Scalar::f32), Resources(), "T");
  const Kernel kernel = compiled(engine, text, operands, changing_options());
  CHECK(reads_through_places(kernel));
  const Bindings bindings = bound(operands);
  CHECK(ran(kernel, bindings) == fresh(operands));
  for (float& value : operands.at("T").writable_values<float>()) value *= 2;
  CHECK(ran(kernel, bindings) == fresh(operands));
}

TEST_CASE("placed values: nothing is charged for values, and what is kept gives way") {
  const auto used = [](bool changing) {
    const Engine engine = engine_with(1, Memory(std::uint64_t{1} << 30));
    const Tensors operands = operands_of(operand("sparse(40x50x60,nnz=30000,seed=1)"));
    CompileOptions options = changing_options();
    if (!changing) options.changing.clear();
    const Kernel kernel = compiled(engine, text, operands, options);
    Bindings bindings;
    for (const auto& [name, tensor] : operands) bindings.set(name, tensor, {.changes = name == "T"});
    CHECK(ran(kernel, bindings) == fresh(operands));
    CHECK(ran(kernel, bindings) == fresh(operands));
    engine.give_back();
    CHECK(ran(kernel, bindings) == fresh(operands));
    return engine.options().resources.memory.used();
  };
  CHECK(used(true) < used(false));
}

}  // namespace placed_values_test
