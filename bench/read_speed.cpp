#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "bench/single_figures.h"
#include "bench/timing.h"
#include "weft/file.h"

namespace weft::bench {

int read_speed(const std::string& path) {
  fmt::print("{:<8} {:>9} {:>9} {:>14} {:>12} {:>9} {:>9}\n", "threads", "text MB", "ms", "MB/s per core", "decompress", "parse",
             "build");
  std::vector<unsigned> counts = {1};
  if (Threads().count() > 1) counts.push_back(Threads().count());
  for (const unsigned threads : counts) {
    Resources resources;
    resources.threads = Threads(threads);
    ReadTimes best;
    double best_ms = 0;
    for (int round = 0; round < 3; ++round) {
      ReadTimes times;
      Expected<Tensor> tensor = Tensor{};
      const double ms = time_ms([&] { tensor = read_tensor(path, {}, resources, "T", &times); });
      if (!tensor) {
        fmt::print(stderr, "error: {}\n", tensor.error().message);
        return 1;
      }
      if (round == 0 || ms < best_ms) {
        best_ms = ms;
        best = times;
      }
    }
    const double megabytes = static_cast<double>(best.text_bytes) * 1e-6;
    fmt::print("{:<8} {:>9.1f} {:>9.1f} {:>14.1f} {:>10.1f} % {:>7.1f} % {:>7.1f} %\n", threads, megabytes, best_ms,
               megabytes / best_ms * 1000 / threads, 100 * best.decompress / best_ms, 100 * best.parse / best_ms,
               100 * best.build / best_ms);
  }
  return 0;
}

}  // namespace weft::bench
