// An engine keeps no more kernels than it may.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/jit/debugger.h"
#include "frontend/operand.h"
#include "unit/share.h"
#include "weft/engine.h"
#include "weft/session.h"

namespace kernel_memory_test {

using namespace weft;

namespace {

Tensor operand(const std::string& text) {
  auto tensor = load_operand(text, std::nullopt, Resources(), text);
  REQUIRE(tensor);
  return *tensor;
}

double first_of(const Kernel& kernel, const Tensors& operands) {
  Bindings bindings;
  for (const auto& [name, tensor] : operands) bindings.set(name, tensor);
  const auto results = kernel.run(bindings);
  REQUIRE(results);
  return results->at("y").values().as<const double>()[0];
}

}  // namespace

TEST_CASE("engine: of many kernels only so many stay loaded, and one that is held stays usable") {
  const std::size_t before = debugger_entries();
  {
    EngineOptions options;
    options.kernels_in_memory = 8;
    options.resources.threads = Threads(1);
    const auto engine = Engine::create(options);
    REQUIRE(engine);
    const auto compiled = [&](int extent, Tensors& operands) {
      operands = {{"M", operand("ones(3x2)")}, {"x", operand("ones(2x" + std::to_string(extent) + ")")}};
      auto kernel = engine->compile("y(i,r) = M(i,j) * x(j,r)", operands);
      REQUIRE(kernel);
      return *kernel;
    };
    Tensors held_operands;
    const Kernel held = compiled(200, held_operands);
    for (int extent = 201; extent < (test::is_drawn_sanitized(0) ? 250 : 220); ++extent) {
      Tensors operands;
      const Kernel kernel = compiled(extent, operands);
      CHECK(debugger_entries() - before <= 8 + 2 + 2);
      if (extent % 16 == 0) CHECK(first_of(kernel, operands) == 2);
    }
    CHECK(first_of(held, held_operands) == 2);
  }
  // Those of tests before this one may go meanwhile.
  CHECK(debugger_entries() <= before);
}

TEST_CASE("engine: what several threads ask for again is forgotten by all of them, and no session keeps a tensor that was replaced") {
  const std::size_t before = debugger_entries();
  const Memory memory;
  EngineOptions options;
  options.kernels_in_memory = 4;
  options.resources.threads = Threads(1);
  options.resources.memory = memory;
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const Session session(*engine);
  const std::uint64_t held = memory.used();
  const auto by_threads = [&](const auto& body) {
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) threads.emplace_back(body);
    for (std::thread& thread : threads) thread.join();
  };
  for (int extent = 300; extent < 320; ++extent) {
    const Tensors operands = {{"M", operand("ones(3x2)")}, {"x", operand("ones(2x" + std::to_string(extent) + ")")}};
    std::atomic<int> wrong{0};
    by_threads([&] {
      for (int n = 0; n < 3; ++n) wrong += engine->compile("y(i,r) = M(i,j) * x(j,r)", operands).has_value() ? 0 : 1;
    });
    CHECK(wrong == 0);
    CHECK(debugger_entries() - before <= 4 + 2 + 2);
  }
  session.set("M", operand("ones(3x2)"));
  for (int round = 0; round < 4; ++round) {
    auto large = dense_zeros({2, 10'000}, *parse_format("dd"), engine->options().resources, "x");
    REQUIRE(large);
    session.set("x", *large);
    large = Tensor();
    by_threads([&] {
      for (int n = 0; n < 3; ++n) (void)session.evaluate("y(i) = M(i,j) * x(j,r)");
    });
    CHECK(memory.used() >= held + 160'000);
    CHECK(memory.used() < held + 2 * 160'000);
  }
  session.drop("x");
  CHECK(memory.used() < held + 160'000);
}

}  // namespace kernel_memory_test
