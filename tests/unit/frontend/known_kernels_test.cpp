// Kernels found by what was asked for, and why others were not.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "frontend/operand.h"
#include "weft/engine.h"
#include "weft/file.h"
#include "weft/host.h"

namespace known_kernels_test {

using namespace weft;

namespace {

Tensor operand(const std::string& text, const std::string& format = "") {
  std::optional<Format> wanted;
  if (!format.empty()) wanted = *parse_format(format);
  auto tensor = load_operand(text, wanted, Resources(), text);
  REQUIRE_MESSAGE(tensor, tensor.error().message);
  return *tensor;
}

struct Traced {
  std::vector<std::string> lines;
  Engine engine = [this] {
    EngineOptions options;
    options.resources.threads = Threads(1);
    options.trace = [this](std::string_view line) { lines.emplace_back(line); };
    return *Engine::create(options);
  }();
  /// What the last compilation was told of its being known.
  std::string compiled(const std::string& text, const Tensors& operands, const CompileOptions& options = {}) {
    lines.clear();
    const auto kernel = engine.compile(text, operands, options);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    for (const std::string& line : lines) {
      const std::size_t found = line.find(" # ask ");
      if (found != std::string::npos) return line.substr(found + 7);
    }
    return "";
  }
};

}  // namespace

TEST_CASE("known kernels: found by the text and what is known of the operands, and told why not") {
  Traced traced;
  const std::string text = "y(i) = M(i,j) * x(j)";
  const Tensor M = operand("sparse(20x30,nnz=90,seed=1)", "ds");
  const Tensor x = operand("uniform(30)");
  CHECK(traced.compiled(text, {{"M", M}, {"x", x}}) == "a text that is new");
  CHECK(traced.compiled(text, {{"M", M}, {"x", x}}) == "known");
  CHECK(traced.compiled(text, {{"M", M}, {"x", operand("ones(30)")}}) == "known");
  const auto plans = traced.engine.counters().plans_made;
  std::vector<double> values(90, 2);
  CHECK(traced.compiled(text, {{"M", *same_pattern(M, values)}, {"x", x}}) == "known");
  CHECK(traced.engine.counters().plans_made == plans);
  CompileOptions options;
  options.calls = 7;
  CHECK(traced.compiled(text, {{"M", M}, {"x", x}}, options) == "other options");
  CHECK(traced.compiled(text, {{"M", M}, {"x", x}}, options) == "known");
  CHECK(traced.compiled(text, {{"M", operand("sparse(20x30,nnz=300,seed=2)", "ds")}, {"x", x}}, options) == "other pattern of M");
  CHECK(traced.compiled(text, {{"M", operand("sparse(21x31,nnz=90,seed=1)", "ss")}, {"x", operand("ones(31)")}}, options) ==
        "other format, extents, pattern of M; other extents of x");
  values[3] = std::nan("");
  CHECK(traced.compiled(text, {{"M", M}, {"x", x}}) == "known");
  CHECK(traced.compiled(text, {{"M", *same_pattern(M, values)}, {"x", x}}) == "known");  // NaN changes nothing here
  const CacheCounters counters = traced.engine.counters();
  CHECK(counters.known == 6);
  CHECK(counters.missed_text == 1);
  CHECK(counters.missed_options == 1);
  CHECK(counters.missed_pattern == 1);
  CHECK(counters.missed_format == 1);
}

TEST_CASE("known kernels: an equal pattern of one sparse operand has the same kernel; joins of several are of these very patterns") {
  Traced traced;
  const std::string text = "y(i) = M(i,j) * x(j)";
  const Tensor x = operand("uniform(30)");
  CHECK(traced.compiled(text, {{"M", operand("sparse(20x30,nnz=90,seed=1)")}, {"x", x}}) == "a text that is new");
  CHECK(traced.compiled(text, {{"M", operand("sparse(20x30,nnz=90,seed=1)")}, {"x", x}}) == "known");
  const std::string joined = "s = M(i,j) * N(i,j)";
  const Tensor M = operand("sparse(20x30,nnz=90,seed=1)");
  const Tensor N = operand("sparse(20x30,nnz=90,seed=2)");
  CHECK(traced.compiled(joined, {{"M", M}, {"N", N}}) == "a text that is new");
  CHECK(traced.compiled(joined, {{"M", M}, {"N", N}}) == "known");
  CHECK(traced.compiled(joined, {{"M", M}, {"N", operand("sparse(20x30,nnz=90,seed=2)")}}) == "other pattern of N");
}

TEST_CASE("known kernels: the report of one that was found says so, with the sizes of its operands") {
  const Engine engine = *Engine::create({});
  const auto compiled = [&](const Tensor& M) { return *engine.compile("s = M(i)", {{"M", M}}); };
  const Kernel first = compiled(operand("sparse(100000,nnz=1000,seed=1)"));
  CHECK(first.report().plan_cache == "miss");
  const Kernel second = compiled(operand("sparse(100000,nnz=1001,seed=2)"));
  CHECK(second.report().plan_cache == "hit");
  CHECK(second.report().kernel_cache == "memory");
  CHECK(second.report().operands.at("M").nnz == 1001);
  CHECK(second.report().phases.plan == 0);
  CHECK(first.report().operands.at("M").nnz == 1000);
}

TEST_CASE("known kernels: without caches, and after they were given back, all is made anew") {
  EngineOptions options;
  options.use_cache = false;
  const Engine engine = *Engine::create(options);
  const Tensors operands = {{"M", operand("sparse(100,nnz=10)")}};
  for (std::uint64_t round = 1; round <= 2; ++round) {
    REQUIRE(engine.compile("s = M(i)", operands));
    CHECK(engine.counters().plans_made == round);
    CHECK(engine.counters().known == 0);
  }
  const Engine caching = *Engine::create({});
  REQUIRE(caching.compile("s = M(i)", operands));
  caching.give_back();
  REQUIRE(caching.compile("s = M(i)", operands));
  CHECK(caching.counters().known == 0);
}

TEST_CASE("known kernels: borrowed arrays are verified before anything is looked up") {
  const Engine engine = *Engine::create({});
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  const std::vector<double> values = {1, 2, 3, 4};
  REQUIRE(engine.compile("s = M(i,j)", {{"M", *borrow_csr(3, 4, pos, crd, values)}}));
  pos[3] = 40;
  const auto refused = engine.compile("s = M(i,j)", {{"M", *borrow_csr(3, 4, pos, crd, values)}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::input);
}

TEST_CASE("known kernels: many threads ask for one text at once and compile it once") {
  const Engine engine = *Engine::create({});
  const Tensors operands = {{"M", operand("sparse(100x200,nnz=1000)")}, {"x", operand("ones(200)")}};
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int n = 0; n < 6; ++n)
    threads.emplace_back([&] { failed += !engine.compile("y(i) = M(i,j) * x(j)", operands).has_value(); });
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(engine.counters().plans_made == 1);
  CHECK(engine.counters().known == 5);
}

}  // namespace known_kernels_test
