// Workspaces in memory that the host lends.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "unit/frontend/host_loop.h"
#include "unit/share.h"

namespace scratch_test {

using namespace weft;
using namespace weft::test;

namespace {

std::vector<double> ran(const Kernel& kernel, const Bindings& bindings) {
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  const Tensor& result = results->begin()->second;
  REQUIRE(verify(result, Resources(), "result"));
  const auto dense = convert(result, dense_format(result.order()), Resources(), "result");
  REQUIRE(dense);
  const auto values = dense->values().as<const double>();
  return {values.begin(), values.end()};
}

struct Workspaces {
  std::string text;
  std::string format;  ///< of the result
  bool unfused = false;
  std::uint64_t least = 64;  ///< bytes of scratch that there are for certain
};

}  // namespace

TEST_CASE("scratch: runs in memory of the host give what runs in the engine's give, whatever lay there") {
  const Tensors all = {{"T", operand("sparse(60x50x40,nnz=6000,seed=1)")}, {"B", operand("uniform(50x200)")},
                       {"C", operand("uniform(40x200)")},
                       {"M", operand("sparse(3000x2000,nnz=120000,seed=1)", "ds")}, {"D", operand("uniform(3000x16)")},
                       {"L", operand("sparse(900x700,nnz=20000,seed=1)", "ds")}, {"N", operand("sparse(700x900,nnz=10000,seed=2)", "ds")}};
  std::uint64_t number = 0;
  for (const Workspaces& each : {Workspaces{"y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", ""},
                                 Workspaces{"y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "", true, 200 * 8},
                                 Workspaces{"y(j,r) = M(i,j) * D(i,r)", ""},
                                 Workspaces{"y(i,l) = L(i,j) * N(j,l)", "ds", false, 3000}, Workspaces{"y(j) = L(i,j) * N(j,i)", ""}}) {
    for (const unsigned threads : {1U, 2U}) {
      if (!test::is_drawn_sanitized(number++)) continue;
      CAPTURE(each.text);
      CAPTURE(threads);
      Tensors operands;
      for (const auto& [name, tensor] : all) {
        if (each.text.find(" " + name + "(") != std::string::npos) operands[name] = tensor;
      }
      const Engine engine = engine_with(threads);
      CompileOptions options;
      options.unfused = each.unfused;
      if (!each.format.empty()) options.formats["y"] = *parse_format(each.format);
      const auto kernel = engine.compile(each.text, operands, options);
      REQUIRE_MESSAGE(kernel, kernel.error().message);
      Bindings bindings = bound(operands);
      const std::vector<double> expected = ran(*kernel, bindings);
      const auto bytes = kernel->scratch_bytes(bindings);
      REQUIRE_MESSAGE(bytes, bytes.error().message);
      CHECK(*bytes >= each.least);
      constexpr std::size_t around = 4096;
      for (const std::size_t shifted : {0, 1, 8}) {
        std::vector<std::byte> memory(*bytes + 2 * around, std::byte{0xff});
        bindings.scratch(std::span(memory).subspan(around + shifted, *bytes));
        for (int run = 0; run < 3; ++run) {
          CHECK(ran(*kernel, bindings) == expected);
          std::ranges::fill(memory, std::byte{0xff});  // the host's between runs
        }
        CHECK(ran(*kernel, bindings) == expected);
        const auto written = [](std::byte byte) { return byte != std::byte{0xff}; };
        const bool beside = std::ranges::any_of(std::span(memory).first(around + shifted), written) ||
                            std::ranges::any_of(std::span(memory).subspan(around + shifted + *bytes), written);
        CHECK_FALSE(beside);
      }
      bindings.scratch({});
      CHECK(ran(*kernel, bindings) == expected);
    }
  }
}

TEST_CASE("scratch: too little is a resource error that says how much is wanted, and leaves the kernel usable") {
  const Tensors operands = {{"A", operand("sparse(600x500,nnz=6000,seed=1)", "ds")},
                            {"B", operand("sparse(500x700,nnz=6000,seed=2)", "ds")}};
  CompileOptions options;
  options.formats["C"] = *parse_format("ds");
  const auto kernel = engine_with(2).compile("C(i,j) = A(i,k) * B(k,j)", operands, options);
  REQUIRE(kernel);
  Bindings bindings = bound(operands);
  const std::uint64_t bytes = *kernel->scratch_bytes(bindings);
  alignas(64) static std::byte memory[1 << 20];
  REQUIRE(bytes <= sizeof memory);
  for (const std::size_t few : {std::size_t{1}, std::size_t{64}, static_cast<std::size_t>(bytes) - 65}) {
    bindings.scratch(std::span(memory).first(few));
    const auto refused = kernel->run(bindings);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::resource);
    CHECK(refused.error().code == ErrorCode::memory_limit);
    CHECK(refused.error().message == "the scratch memory has " + std::to_string(few) + " bytes, " + std::to_string(bytes - 64) +
                                         " are wanted (Kernel::scratch_bytes)");
  }
  bindings.scratch(std::span(memory).first(bytes));
  const auto results = kernel->run(bindings);
  CHECK(results);
}

TEST_CASE("scratch: memory that another run uses, or that overlaps operands or results, is refused") {
  std::vector<double> x(50), y(40);
  const Tensors operands = {{"M", operand("sparse(40x50,nnz=300,seed=1)")}, {"x", *borrow_dense({50}, x)}};
  EngineOptions options;
  options.resources.threads = Threads(1);
  std::atomic<int> state{0};
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const auto kernel = engine->compile("y(i) = M(i,j) * x(j)", operands);
  REQUIRE(kernel);
  Bindings bindings = bound(operands);
  bindings.scratch(std::as_writable_bytes(std::span(x)));
  auto refused = kernel->run(bindings);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the scratch memory overlaps the operand x");
  bindings.output("y", *borrow_dense({40}, y));
  bindings.scratch(std::as_writable_bytes(std::span(y)));
  refused = kernel->run(bindings);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the scratch memory overlaps the memory for y");
  std::vector<std::byte> memory(1 << 20);
  const Tensors large = {{"A", operand("sparse(4000x4000,nnz=200000,seed=1)", "ds")},
                         {"B", operand("sparse(4000x4000,nnz=200000,seed=2)", "ds")}};
  CompileOptions sparse;
  sparse.formats["C"] = *parse_format("ds");
  const auto product = engine->compile("C(i,j) = A(i,k) * B(k,j)", large, sparse);
  REQUIRE(product);
  Bindings busy = bound(large);
  busy.scratch(memory);
  REQUIRE(product->run(busy));
  Bindings other = bound(operands);
  other.scratch(std::span(memory).subspan(100, 1000));
  // Whoever comes second is refused.
  std::thread runs([&] {
    while (state == 0) static_cast<void>(product->run(busy));
  });
  bool seen = false;
  for (int attempt = 0; attempt < 10'000'000 && !seen; ++attempt) {
    const auto result = kernel->run(other);
    seen = !result;
    if (seen) CHECK(result.error().message == "the scratch memory is used by another run");
  }
  state = 1;
  runs.join();
  CHECK(seen);
  CHECK(kernel->run(other));
}

TEST_CASE("scratch: what is told is what a run wants, whichever kernel ran over the operands before") {
  // Blocks of a matrix with another number of rows want a kernel for any, and one entry of them a workspace.
  Bindings bindings;
  bindings.set("M", operand("sparse(19x3,nnz=7,seed=1)", "ds"));
  bindings.set("B", operand("uniform(3x5)"));
  CompileOptions options;
  options.calls = 100000;
  options.formats = {{"Y", *parse_format("dd")}, {"M", *parse_format("bcsr(2,2)")}};
  const Tensors other_extents = {{"M", operand("sparse(26x1,nnz=5,seed=1)", "ds")}, {"B", operand("uniform(1x1)")}};
  const auto kernel = engine_with(1).compile("Y(r,i) = M(i,j) * B(j,r)", other_extents, options);
  REQUIRE_MESSAGE(kernel, kernel.error().message);
  REQUIRE(kernel->run(bindings));
  for (const char* other : {"sparse(19x3,nnz=1,seed=1)", "sparse(19x3,nnz=3,seed=1)", "sparse(19x3,nnz=50,seed=1)"}) {
    CAPTURE(other);
    bindings.set("M", operand(other, "ds"));
    bindings.scratch({});
    const std::vector<double> expected = ran(*kernel, bindings);
    const auto bytes = kernel->scratch_bytes(bindings);
    REQUIRE_MESSAGE(bytes, bytes.error().message);
    std::vector<std::byte> memory(*bytes);
    bindings.scratch(memory);
    CHECK(ran(*kernel, bindings) == expected);
  }
}

}  // namespace scratch_test
