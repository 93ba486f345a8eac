#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "bench/data.h"
#include "bench/prepared.h"
#include "bench/single_figures.h"

namespace weft::bench {
namespace {

Expected<void> measure_wake(std::uint64_t nonzeros) {
  const Resources resources;
  auto sparse = random_sparse({{1000, 1000, 1000}, nonzeros, 1, 1}, resources);
  if (!sparse) return std::unexpected(sparse.error());
  auto b = random_dense({1000, 32}, 1, resources);
  if (!b) return std::unexpected(b.error());
  auto c = random_dense({1000, 32}, 2, resources);
  if (!c) return std::unexpected(c.error());
  const std::map<std::string, Tensor> operands = {{"T", *sparse}, {"B", *b}, {"C", *c}};
  const auto prepared = prepare({.name = "wake", .expression = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", .data = {}}, operands, resources);
  if (!prepared) return std::unexpected(prepared.error());

  fmt::print("{:<28} {:>10} {:>10} {:>8}\n", fmt::format("MTTKRP, {} nonzeros, r32", nonzeros), "1 thread", "2 threads", "speedup");
  for (const int idle_ms : {0, 3, 30}) {
    double medians[2] = {};
    for (const unsigned threads : {1U, 2U}) {
      Resources own = resources;
      own.threads = Threads(threads);
      auto binding = prepared->kernel.bind(operands, own, false);
      if (!binding) return std::unexpected(binding.error());
      for (int round = 0; round < 20; ++round) {
        if (auto warm = binding->run(); !warm) return warm;
      }
      Timing timing;
      for (int round = 0; round < 41; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(idle_ms));
        Expected<void> ran;
        timing.ms.push_back(time_ms([&] { ran = binding->run(); }));
        if (!ran) return ran;
      }
      medians[threads - 1] = timing.median();
    }
    fmt::print("{:<28} {:>7.3f} ms {:>7.3f} ms {:>8.2f}\n",
               idle_ms == 0 ? "again and again" : fmt::format("after {} ms of sleep", idle_ms), medians[0], medians[1],
               medians[0] / medians[1]);
  }
  return {};
}

}  // namespace

int wake() {
  for (const std::uint64_t nonzeros : {500'000U, 5'000U, 2'500U, 1'500U}) {
    const auto measured = measure_wake(nonzeros);
    if (!measured) fmt::print(stderr, "error: {}\n", measured.error().message);
    if (!measured) return 1;
  }
  return 0;
}

}  // namespace weft::bench
