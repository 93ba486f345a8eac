// Runs at once over memory of the host: those that write to one tensor take turns, and checked engines name what is lent twice.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "unit/frontend/host_loop.h"

namespace runs_under_way_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr std::uint64_t rows = 2000;

/// An engine on two threads of the host, which call `meanwhile` before their first work of a run.
Engine engine_that_calls(std::function<void()>& meanwhile, bool checked) {
  EngineOptions options;
  options.checked = checked;
  options.resources.threads = Threads(2, [&meanwhile](unsigned slots, const std::function<void(unsigned)>& body) {
    if (const auto once = std::exchange(meanwhile, {})) once();
    for (unsigned slot = 0; slot < slots; ++slot) body(slot);
  });
  auto engine = Engine::create(options);
  REQUIRE(engine);
  return *engine;
}

/// y = M x over rows that take long enough for two threads, and bindings of x and the memory for y.
struct Product {
  Tensor M = operand("uniform(2000x2000)", "dd");
  std::vector<double> x = std::vector<double>(rows, 1), y = std::vector<double>(rows), right;

  Bindings bindings(const Tensor& of_x, const Tensor& of_y) const {
    Bindings made;
    made.set("M", M);
    made.set("x", of_x);
    made.output("y", of_y);
    return made;
  }
  Kernel kernel(const Engine& engine) const {
    return compiled(engine, "y(i) = M(i,j) * x(j)", {{"M", M}, {"x", *borrow_dense({rows}, x)}});
  }
  /// Of an x that is `entry` everywhere.
  std::vector<double> expected(double entry) const {
    std::vector<double> sums(rows);
    const auto values = M.values().as<const double>();
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j) sums[i] += values[i * rows + j] * entry;
    return sums;
  }
};

}  // namespace

TEST_CASE("runs at once: bindings that write to one tensor take turns, though their operands are others") {
  Product product;
  std::function<void()> meanwhile;
  const Engine first = engine_that_calls(meanwhile, false);
  const Engine second = engine_with(1);
  const Kernel slow = product.kernel(first), other = product.kernel(second);
  const Tensor y = *borrow_dense({rows}, product.y);
  std::vector<double> twos(rows, 2);
  const Bindings of_ones = product.bindings(*borrow_dense({rows}, product.x), y);
  Bindings of_twos = of_ones;
  of_twos.set("x", *borrow_dense({rows}, twos));
  REQUIRE(slow.run(of_ones));  // converted and bound: what follows is the run alone
  REQUIRE(other.run(of_twos));
  std::atomic<bool> began{false}, done{false}, early{false};
  std::thread beside;
  bool called = false;
  meanwhile = [&] {
    called = true;
    beside = std::thread([&] {
      began = true;
      if (!other.run(of_twos)) early = true;
      done = true;
    });
    while (!began) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (done) early = true;
  };
  const auto ran = slow.run(of_ones);
  REQUIRE(called);
  beside.join();
  REQUIRE(ran);
  CHECK(!early);
  CHECK(done);
  CHECK(product.y == product.expected(2));
}

TEST_CASE("runs at once: a run that waits for its turn ends when its token is set") {
  Product product;
  std::function<void()> meanwhile;
  const Engine first = engine_that_calls(meanwhile, false);
  const Engine second = engine_with(1);
  const Kernel slow = product.kernel(first), other = product.kernel(second);
  const Bindings bindings = product.bindings(*borrow_dense({rows}, product.x), *borrow_dense({rows}, product.y));
  REQUIRE(slow.run(bindings));
  bool called = false;
  Expected<Tensors> waited;
  meanwhile = [&] {
    called = true;
    const Cancellation token;
    std::jthread waits([&] { waited = other.run(bindings, &token); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    token.cancel();
  };  // joins
  const auto ran = slow.run(bindings);
  REQUIRE(called);
  REQUIRE(ran);
  REQUIRE_FALSE(waited);
  CHECK(waited.error().kind == ErrorKind::cancelled);
  CHECK(product.y == product.expected(1));
}

TEST_CASE("runs at once: a checked engine names what another run writes to, or reads, and both go on") {
  Product product;
  std::function<void()> meanwhile;
  const Engine first = engine_that_calls(meanwhile, true);
  const Engine second = engine_with(1, Memory(), true);
  const Kernel slow = product.kernel(first), other = product.kernel(second);
  std::vector<double> elsewhere(rows), twos(rows, 2);
  const Tensor x = *borrow_dense({rows}, product.x), y = *borrow_dense({rows}, product.y);
  const Bindings busy = product.bindings(x, y);
  REQUIRE(slow.run(busy));
  struct Case {
    Bindings bindings;
    std::string told;  ///< nothing: it runs
  };
  const std::vector<Case> cases = {
      {product.bindings(*borrow_dense({rows}, twos), *borrow_dense({rows}, product.y)),
       "the memory for y overlaps the memory for y of another run that is under way"},
      {product.bindings(*borrow_dense({rows}, twos), *borrow_dense({rows}, product.x)),
       "the memory for y overlaps the operand x of another run that is under way"},
      {product.bindings(*borrow_dense({rows}, product.y), *borrow_dense({rows}, elsewhere)),
       "the operand x overlaps the memory for y of another run that is under way"},
      {product.bindings(x, *borrow_dense({rows}, elsewhere)), ""}};
  for (const Case& each : cases) {
    CAPTURE(each.told);
    std::optional<Expected<Tensors>> result;
    meanwhile = [&] { result = other.run(each.bindings); };
    product.x.assign(rows, 1);
    REQUIRE(slow.run(busy));
    CHECK(product.y == product.expected(1));
    REQUIRE(result);
    CHECK(result->has_value() == each.told.empty());
    if (!*result) {
      CHECK(result->error().kind == ErrorKind::input);
      CHECK(result->error().message == each.told);
      CHECK(!result->error().operand.empty());
    }
    CHECK(other.run(each.bindings));  // nothing else is under way
    product.x.assign(rows, 1);
  }
  CHECK(elsewhere == product.expected(1));
}

TEST_CASE("runs at once: scratch memory is one run's, whichever engine the other is of") {
  const Tensors operands = {{"T", operand("sparse(60x50x40,nnz=6000,seed=1)")},
                            {"B", operand("uniform(50x200)")},
                            {"C", operand("uniform(40x200)")}};
  const std::string text = "y(i,r) = T(i,j,k) * B(j,r) * C(k,r)";
  std::function<void()> meanwhile;
  const Engine first = engine_that_calls(meanwhile, false), second = engine_with(1);
  const Kernel slow = compiled(first, text, operands), other = compiled(second, text, operands);
  std::vector<std::byte> memory(1 << 20);
  Bindings busy = bound(operands), late = bound(operands);
  busy.scratch(memory);
  late.scratch(std::span(memory).last(1 << 19));
  std::optional<Expected<Tensors>> result;
  meanwhile = [&] { result = other.run(late); };
  REQUIRE(slow.run(busy));
  REQUIRE(result);
  REQUIRE(!*result);
  CHECK(result->error().message == "the scratch memory is used by another run");
  CHECK(other.run(late));
}

}  // namespace runs_under_way_test
