// Which runs of a kernel are shared out to threads: of a host, which tell when they are called.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "weft/engine.h"
#include "weft/file.h"

namespace weft::waking_test {
namespace {

/// y(i) = M(i,j) * x(j) over rows of M: `root` is "owner" or "serial".
struct Product {
  Kernel kernel;
  Bindings bindings;

  static Product over(const Engine& engine, const std::string& matrix, const std::string& vector, const std::string& root) {
    const Resources resources{Memory(), Threads(1), {}, {}};
    const Tensors operands = {{"M", *generate_tensor(matrix, std::nullopt, resources, "M")},
                              {"x", *generate_tensor(vector, std::nullopt, resources, "x")}};
    CompileOptions options;
    options.schedule = "schedule\n tree (M * x)\n layout M ds:0,1 f64 converted\n layout x d:0 f64\n result y d:0 f64\n"
                       " y[i] += M[i,j] * x[j] loops i,j\n parallel i " + root + "\n";
    auto kernel = engine.compile("y(i) = M(i,j) * x(j)", operands, options);
    REQUIRE(kernel);
    Product made{*kernel, {}};
    for (const auto& [name, tensor] : operands) made.bindings.set(name, tensor);
    return made;
  }
  void run() const { REQUIRE(kernel.run(bindings)); }
};

}  // namespace

TEST_CASE("a long run on one thread does not make threads pay for a short one behind it") {
  const auto shared = std::make_shared<int>(0);
  EngineOptions options;
  options.resources.threads = Threads(2, [shared](unsigned slots, const std::function<void(unsigned)>& body) {
    ++*shared;
    for (unsigned slot = 0; slot < slots; ++slot) body(slot);
  });
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const Product shorter = Product::over(*engine, "sparse(4000x4000,nnz=30000)", "uniform(4000)", "owner");
  const Product longer = Product::over(*engine, "sparse(4000x4000,nnz=400000)", "uniform(4000)", "serial");
  const Product large = Product::over(*engine, "sparse(4000x4000,nnz=400000)", "uniform(4000)", "owner");
  const auto calls_of = [&](const Product& product) {
    const int before = *shared;
    product.run();
    return *shared - before;
  };
  for (const Product* product : {&shorter, &longer, &large}) product->run();  // conversions, which are shared out
  // Longer than workers stay awake.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int turn = 0; turn < 20; ++turn) {
    CHECK(calls_of(longer) == 0);
    CHECK(calls_of(shorter) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(calls_of(large) > 0);
}

}  // namespace weft::waking_test
