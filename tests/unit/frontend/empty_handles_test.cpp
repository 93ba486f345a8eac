// Handles that stand for nothing: made by a default constructor, or moved from.
#include <doctest/doctest.h>

#include "weft/session.h"

namespace empty_handles_test {

using namespace weft;

namespace {

void is_empty(const auto& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::input);
  CHECK(result.error().message.find("empty") != std::string::npos);
}

Tensor ones() { return *dense_zeros({3}, dense_format(1, Scalar::f64), Resources(), "x"); }

}  // namespace

TEST_CASE("kernels that were not compiled") {
  const Kernel kernel;
  is_empty(kernel.run(Bindings()));
  is_empty(kernel.explain("loops"));
  CHECK(kernel.report().run_ms.empty());
  auto engine = Engine::create();
  REQUIRE(engine);
  auto made = engine->compile("s = x(i)", Tensors{{"x", ones()}});
  REQUIRE(made);
  const Kernel moved = std::move(*made);
  is_empty(made->run(Bindings()));  // NOLINT(bugprone-use-after-move)
  Bindings bindings;
  bindings.set("x", ones());
  CHECK(moved.run(bindings));
  const Bindings other = std::move(bindings);
  is_empty(moved.run(bindings));  // NOLINT(bugprone-use-after-move)
  bindings.set("x", ones());
  CHECK(moved.run(bindings));
  CHECK(moved.run(other));
}

TEST_CASE("engines and sessions that were not created") {
  const Engine engine;
  is_empty(engine.compile("s = x(i)", Tensors{{"x", ones()}}));
  is_empty(engine.compile("s = x(i)", std::map<std::string, Statistics>()));
  int told = 0;
  is_empty(engine.compile_async("s = x(i)", {}, {}, [&](const Expected<Kernel>& kernel) { told += kernel ? 0 : 1; }).get());
  CHECK(told == 1);
  CHECK(engine.counters().compiled == 0);
  CHECK(engine.options().use_cache == EngineOptions().use_cache);
  const Session session{Engine()};
  session.set("x", ones());
  session.drop("x");
  is_empty(session.evaluate("s = x(i)"));
  is_empty(session.evaluate("s = x(i)", {"x"}, {}));
  CHECK(session.tensors()->empty());
  REQUIRE(session.failure());
}

}  // namespace empty_handles_test
