#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "bench/data.h"
#include "bench/prepared.h"
#include "bench/single_figures.h"

namespace weft::bench {
namespace {

Expected<void> measure_wake() {
  const Resources resources;
  auto sparse = random_sparse({{1000, 1000, 1000}, 500'000, 1, 1}, resources);
  if (!sparse) return std::unexpected(sparse.error());
  auto b = random_dense({1000, 32}, 1, resources);
  if (!b) return std::unexpected(b.error());
  auto c = random_dense({1000, 32}, 2, resources);
  if (!c) return std::unexpected(c.error());
  const std::map<std::string, Tensor> operands = {{"T", *sparse}, {"B", *b}, {"C", *c}};
  const auto prepared = prepare({.name = "wake", .expression = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", .data = {}}, operands, resources);
  if (!prepared) return std::unexpected(prepared.error());

  fmt::print("{:<28} {:>10} {:>10} {:>8}\n", "MTTKRP, 500,000 nonzeros, r32", "1 thread", "2 threads", "speedup");
  for (const int idle_ms : {0, 3, 30}) {
    double medians[2] = {};
    for (const unsigned threads : {1U, 2U}) {
      Resources own = resources;
      own.threads = Threads(threads);
      auto binding = prepared->kernel.bind(operands, own, false);
      if (!binding) return std::unexpected(binding.error());
      if (auto warm = binding->run(); !warm) return warm;
      Timing timing;
      for (int round = 0; round < 41; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(idle_ms));
        Expected<void> ran;
        timing.ms.push_back(time_ms([&] { ran = binding->run(); }));
        if (!ran) return ran;
      }
      medians[threads - 1] = timing.median();
    }
    fmt::print("{:<28} {:>7.2f} ms {:>7.2f} ms {:>8.2f}\n",
               idle_ms == 0 ? "again and again" : fmt::format("after {} ms of sleep", idle_ms), medians[0], medians[1],
               medians[0] / medians[1]);
  }
  return {};
}

}  // namespace

int wake() {
  const auto measured = measure_wake();
  if (!measured) fmt::print(stderr, "error: {}\n", measured.error().message);
  return measured ? 0 : 1;
}

}  // namespace weft::bench
