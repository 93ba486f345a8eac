// Engines: planning, lowering, compiling, explaining, and running every kind of nest. LLVM's and Z3's own allocations are
// spared (runtime/foreign_code.h).
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "unit/memory/fault_points.h"
#include "unit/runtime/file_fixture.h"
#include "weft/engine.h"
#include "weft/host.h"

namespace weft::engine_faults_test {

using allocation_faults::armed;
using test::drawn;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;
using test::TemporaryDirectory;

namespace {

Engine engine_with(EngineOptions options, unsigned threads = 1) {
  options.resources.threads = Threads(threads);
  auto engine = Engine::create(std::move(options));
  REQUIRE(engine);
  return *engine;
}

/// Small integers, so that every order of summation gives the same bits.
Tensor whole(Tensor tensor) {
  double next = 1;
  for (double& value : tensor.writable_values<double>()) {
    if (value != 0) value = next = next == 7 ? 1 : next + 1;
  }
  return tensor;
}

struct Run {
  const char* name;
  std::string text;
  Tensors operands;
  std::map<std::string, std::string> formats = {};
  unsigned threads = 1;
  OperandUse use = {};
};

std::vector<Run> all_runs() {
  const Tensor a = whole(drawn("sparse(40x30,nnz=200,seed=1)", "ds"));
  const Tensor b = whole(drawn("sparse(30x50,nnz=200,seed=2)", "ds"));
  const Tensor t = whole(drawn("sparse(12x10x8,nnz=150,seed=3)", "sss"));
  const Tensor x = whole(drawn("ones(30)", "d"));
  const Tensor c = whole(drawn("ones(10x4)", "dd"));
  const Tensor d = whole(drawn("ones(8x4)", "dd"));
  const Tensor long_a = whole(drawn("sparse(4000x300,nnz=30000,seed=4)", "ss"));
  const Tensor long_x = whole(drawn("ones(4000)", "d"));
  return {{"dense", "y(i) = A(i,j) * x(j)", {{"A", a}, {"x", x}}},
          {"fused", "R(i,r) = T(i,j,k) * C(j,r) * D(k,r)", {{"T", t}, {"C", c}, {"D", d}}},
          {"appended", "R(i,k) = A(i,j) * B(j,k)", {{"A", a}, {"B", b}}, {{"R", "ds"}}},
          {"appended on two threads", "R(i,k) = A(i,j) * B(j,k)", {{"A", a}, {"B", b}}, {{"R", "ds"}}, 2},
          {"delivered in a table", "R(i,k) = A(i,j) * B(j,k)", {{"A", a}, {"B", b}}, {{"R", "dh"}}},
          {"coordinates", "R(k,i) = A(i,j) * B(j,k)", {{"A", a}, {"B", b}}, {{"R", "uq"}}},
          {"hashed workspace", "R(j,k) = T(i,j,k) * T(i,j,k)", {{"T", t}}, {{"R", "ss"}}},
          {"hashed operand", "y(i) = H(i,j) * x(j)", {{"H", whole(drawn("sparse(40x30,nnz=200,seed=1)", "dh"))}, {"x", x}}},
          {"private copies", "y(j) = L(i,j) * x(i)", {{"L", long_a}, {"x", long_x}}, {}, 2},
          {"several assignments", "S(i,k) = A(i,j) * B(j,k); y(i) = S(i,k) * S(i,k)", {{"A", a}, {"B", b}}, {{"S", "ss"}}},
          {"a scalar", "s = A(i,j) * A(i,j)", {{"A", a}}},
          {"values that change", "y(i) = A(i,j) * x(j)", {{"A", a}, {"x", x}}, {}, 1, {.trusted = false, .changes = true}}};
}

CompileOptions options_of(const Run& run) {
  CompileOptions options;
  for (const auto& [name, format] : run.formats) options.formats[name] = *parse_format(format);
  return options;
}

/// What the results hold, in one number per result; values are small integers.
std::map<std::string, double> figures(const Tensors& results) {
  std::map<std::string, double> sums;
  const Resources resources{Memory(), Threads(1), {}, {}};
  for (const auto& [name, tensor] : results) {
    const auto sound = verify(tensor, resources, name);
    REQUIRE_MESSAGE(sound, sound.error().message);
    double position = 0;
    const auto listed = entries(tensor, true, resources);
    REQUIRE(listed);
    for (const double value : listed->values.as<const double>()) sums[name] += value * ++position;
    sums[name] += static_cast<double>(listed->count);
  }
  return sums;
}

}  // namespace

TEST_CASE("faults: creating an engine") {
  const Memory memory;
  fail_every_allocation("an engine", [&]() -> Outcome {
    EngineOptions options;
    options.resources.memory = memory;
    options.resources.threads = Threads(1);
    auto engine = armed([&] { return Engine::create(std::move(options)); });
    if (!engine) return refused(engine.error());
    return test::right();
  }, memory);
}

TEST_CASE("faults: compiling, with and without what the caches know") {
  for (const bool cached : {true, false}) {
    EngineOptions options;
    options.use_cache = cached;
    const Engine engine = engine_with(options);
    for (const Run& run : all_runs()) {
      const CompileOptions wanted = options_of(run);
      fail_every_allocation(std::string(cached ? "compiling again, " : "compiling, ") + run.name, [&]() -> Outcome {
        Tensors operands = run.operands;
        for (auto& [name, tensor] : operands) tensor = Tensor(tensor.arrays(), Validity::known);  // nothing is known of it
        auto kernel = armed([&] { return engine.compile(run.text, operands, wanted); });
        if (!kernel) return refused(kernel.error());
        return judged(!kernel->report().tree.empty(), "no tree");
      }, engine.options().resources.memory, cached ? 20 : 4);
    }
  }
}

TEST_CASE("faults: planning otherwise, and what stages say") {
  const Engine engine = engine_with({});
  const Run run = all_runs()[1];
  const auto plain = engine.compile(run.text, run.operands, {});
  REQUIRE(plain);
  std::map<std::string, CompileOptions> ways;
  ways["unfused"].unfused = true;
  ways["proven"].prove = true;
  ways["a tree"].tree = "((T * C) * D)";
  ways["a schedule"].schedule = *plain->explain("schedule");
  ways["workspace-order"].objective = "workspace-order";
  ways["baked"].specialize = Specialization::baked;
  ways["generic"].specialize = Specialization::generic;
  for (const auto& [name, options] : ways) {
    fail_every_allocation("planning, " + name, [&]() -> Outcome {
      auto kernel = armed([&] { return engine.compile(run.text, run.operands, options); });
      if (!kernel) return refused(kernel.error());
      return judged(!kernel->report().tree.empty(), "no tree");
    }, engine.options().resources.memory, name == "proven" ? 4 : 15);
  }
  for (const std::string stage : {"network", "tree", "schedule", "loops", "proofs", "signature", "llvm", "asm", "object"}) {
    fail_every_allocation("explaining " + stage, [&]() -> Outcome {
      auto text = armed([&] { return plain->explain(stage); });
      if (!text) return refused(text.error());
      return judged(!text->empty(), "nothing");
    }, engine.options().resources.memory, 10);
  }
  std::map<std::string, Statistics> known;
  for (const auto& [name, tensor] : run.operands) known.emplace(name, statistics(tensor, engine.options().resources.threads));
  fail_every_allocation("compiling for statistics", [&]() -> Outcome {
    auto kernel = armed([&] { return engine.compile(run.text, known); });
    if (!kernel) return refused(kernel.error());
    return test::right();
  }, engine.options().resources.memory, 20);
}

TEST_CASE("faults: a wrong text stays a wrong text") {
  const Engine engine = engine_with({});
  const Run run = all_runs()[0];
  fail_every_allocation("a wrong text", [&]() -> Outcome {
    auto kernel = armed([&] { return engine.compile("y(i) = A(i,j) * x(i)", run.operands); });
    if (kernel) return {.error = {}, .wrong = "it was compiled"};
    if (kernel.error().kind == ErrorKind::resource) return refused(kernel.error());
    return judged(kernel.error().kind == ErrorKind::input, kernel.error().message);
  }, engine.options().resources.memory);
}

TEST_CASE("faults: plans and code on disk") {
  const TemporaryDirectory directory;
  EngineOptions options;
  options.cache_directory = directory.path("cache");
  const Run run = all_runs()[0];
  const Memory memory;
  options.resources.memory = memory;
  fail_every_allocation("a cache on disk", [&]() -> Outcome {
    const Engine engine = engine_with(options);
    auto kernel = armed([&] { return engine.compile(run.text, run.operands); });
    if (!kernel) return refused(kernel.error());
    return judged(engine.counters().compiled + engine.counters().disk > 0, "no code");
  }, memory, 25);
  fail_every_allocation("storing on disk", [&]() -> Outcome {
    std::filesystem::remove_all(*options.cache_directory);
    const Engine engine = engine_with(options);
    auto kernel = armed([&] { return engine.compile(run.text, run.operands); });
    if (std::filesystem::exists(*options.cache_directory)) {
      for (const auto& file : std::filesystem::directory_iterator(*options.cache_directory)) {
        const std::string name = file.path().filename();
        if (name.find("tmp") != std::string::npos || name.find("temp") != std::string::npos) return {.error = {}, .wrong = "left: " + name};
      }
    }
    if (!kernel) return refused(kernel.error());
    return test::right();
  }, memory, 15);
}

TEST_CASE("faults: running") {
  for (const Run& run : all_runs()) {
    const Engine engine = engine_with({}, run.threads);
    const auto kernel = engine.compile(run.text, run.operands, options_of(run));
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    std::optional<std::map<std::string, double>> expected;
    const auto results_right = [&](const Expected<Tensors>& results) {
      const auto now = figures(*results);
      if (!expected) expected = now;
      return now == *expected;
    };
    fail_every_allocation(std::string("setting and running, ") + run.name, [&]() -> Outcome {
      Tensors operands = run.operands;
      Bindings bindings = armed([] { return Bindings(); });
      for (auto& [name, tensor] : operands) armed([&] { bindings.set(name, std::move(tensor), run.use); });
      auto results = armed([&] { return kernel->run(bindings); });
      if (!results) return refused(results.error());
      return judged(results_right(results), "other results");
    }, engine.options().resources.memory, 25);
    Bindings kept;
    for (const auto& [name, tensor] : run.operands) kept.set(name, tensor, run.use);
    fail_every_allocation(std::string("running again, ") + run.name, [&]() -> Outcome {
      auto results = armed([&] { return kernel->run(kept); });
      if (!results) return refused(results.error());
      return judged(results_right(results), "other results");
    }, engine.options().resources.memory, 25);
  }
}

TEST_CASE("faults: operands of another size run in a kernel that is made then") {
  const Engine engine = engine_with({});
  const Run run = all_runs()[0];
  const auto kernel = engine.compile(run.text, run.operands);
  REQUIRE(kernel);
  Tensors others = {{"A", whole(drawn("sparse(20x10,nnz=60,seed=9)", "ss"))}, {"x", whole(drawn("ones(10)", "d"))}};
  fail_every_allocation("another size", [&]() -> Outcome {
    Tensors operands = others;
    Bindings bindings;
    for (auto& [name, tensor] : operands) bindings.set(name, std::move(tensor));
    auto results = armed([&] { return kernel->run(bindings); });
    if (!results) return refused(results.error());
    return judged(results->at("y").extents()[0] == 20, "another extent");
  }, engine.options().resources.memory, 25);
}

TEST_CASE("faults: compiling in the background") {
  const Engine engine = engine_with({});
  const Run run = all_runs()[0];
  fail_every_allocation("in the background", [&]() -> Outcome {
    std::string text = run.text;
    Tensors operands = run.operands;
    int told = 0;
    std::function<void(const Expected<Kernel>&)> done = [&](const Expected<Kernel>&) { ++told; };
    Cancellation cancellation;
    const auto kernel = armed([&] {
      auto future = engine.compile_async(std::move(text), std::move(operands), {}, std::move(done), std::move(cancellation));
      // The thread that compiles is armed as long as this one.
      while (__atomic_load_n(&told, __ATOMIC_SEQ_CST) == 0) std::this_thread::yield();
      return future;
    });
    if (!kernel.valid()) return {.error = {}, .wrong = "no future"};
    if (!kernel.get()) return refused(kernel.get().error());
    return test::right();
  }, engine.options().resources.memory, 40);
}

TEST_CASE("faults: bindings of which something could not be set refuse every run") {
  const Engine engine = engine_with({});
  const Run run = all_runs()[0];
  const auto kernel = engine.compile(run.text, run.operands);
  REQUIRE(kernel);
  Bindings bindings;
  for (const auto& [name, tensor] : run.operands) bindings.set(name, tensor);
  REQUIRE(kernel->run(bindings));
  Tensor other = run.operands.at("x");
  const Bindings copy = bindings;  // so that these need tables of their own
  allocation_faults::begin(1, allocation_faults::Fails::one);
  armed([&] { bindings.set("x", std::move(other)); });
  REQUIRE(allocation_faults::fired());
  CHECK(bindings.failure());
  for (int turn = 0; turn < 2; ++turn) {
    const auto results = kernel->run(bindings);
    REQUIRE(!results);
    CHECK(results.error().kind == ErrorKind::resource);
    CHECK(results.error().message == "out of memory while operands and outputs were set");
  }
}

}  // namespace weft::engine_faults_test
