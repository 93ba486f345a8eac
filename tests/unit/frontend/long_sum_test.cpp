// Sums of more ones than f32 can count one by one: from 2^24 on adding 1 changes nothing.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "unit/sanitized.h"
#include "weft/host.h"
#include "weft/session.h"

namespace long_sum_test {

using namespace weft;

TEST_CASE("sums of 4e7 ones in f32 are right where they are added up in registers") {
  const std::vector<float> ones(8, 1);
  const std::vector<float> many(40'000'000, 1);
  const auto zero = [](std::size_t order) { return std::vector<std::int64_t>(order, 0); };
  std::vector<std::uint32_t> crd(40'000'000);
  for (std::uint32_t n = 0; n < crd.size(); ++n) crd[n] = n % 2000;
  std::vector<std::uint32_t> pos;
  for (std::uint32_t n = 0; n <= 20'000; ++n) pos.push_back(n * 2000);
  const Tensors operands = {
      {"v", *borrow_dense({40'000'000}, many)},
      {"w", trusted(*borrow_coo({40'000'000}, {[&] {
                      static std::vector<std::uint32_t> all(40'000'000);
                      for (std::uint32_t n = 0; n < all.size(); ++n) all[n] = n;
                      return HostIndices(all);
                    }()}, many))},
      {"M", trusted(*borrow_csr(20'000, 2000, pos, crd, many))},
      {"R", *borrow_dense({40'000'000, 3}, ones, {0, 1})},
      {"S", *borrow_dense({20'000, 2000}, ones, zero(2))},
      {"t", *borrow_dense({2000}, ones, zero(1))},
      {"u", *borrow_dense({20'000}, ones, zero(1))},
      {"b", *borrow_dense({4}, std::span(ones).first(4))},
  };
  struct Way {
    unsigned threads;
    bool deterministic;
  };
  // Code that LLVM makes is not sanitized: one of them shows that the test itself is clean.
  std::vector<Way> ways = {{1, false}, {2, false}, {2, true}};
  if (test::is_sanitized()) ways.resize(1);
  for (const auto [threads, deterministic] : ways) {
    EngineOptions options;
    options.resources.threads = Threads(threads);
    options.deterministic = deterministic;
    const Engine engine = *Engine::create(options);
    for (const char* text :
         {"y = v(i)", "y = w(i)", "y = M(i,j)", "y = M(i,j) * t(j)", "y = u(i) * M(i,j)", "y = S(i,j)",
          "y(r) = R(i,r)", "y(r) = w(i) * R(i,r)", "y(r) = (M(i,j) * t(j) * b(r))", "y(r) = (w(i) * b(r))"}) {
      CAPTURE(text);
      CAPTURE(threads);
      CAPTURE(deterministic);
      Bindings bindings;
      Tensors used;
      for (const auto& [name, tensor] : operands) {
        if (std::string(text).find(name + "(") == std::string::npos) continue;
        used[name] = tensor;
        bindings.set(name, tensor);
      }
      const auto kernel = engine.compile(text, used);
      REQUIRE_MESSAGE(kernel, kernel.error().message);
      const auto results = kernel->run(bindings);
      REQUIRE_MESSAGE(results, results.error().message);
      const Tensor& y = results->at("y");
      REQUIRE(y.format().scalar == Scalar::f32);
      for (const float sum : y.values().as<const float>()) CHECK(sum == 40'000'000);
    }
  }
}

}  // namespace long_sum_test
