// RunProgress: how much of a run is done, told between chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "runtime/elapsed.h"
#include "weft/memory.h"

namespace weft {

/// Tells at most ten times a second, from whichever thread finishes a chunk, and nothing of a run that takes less than a
/// tenth of a second. Nests count alike. Without anybody who listens it does nothing.
class RunProgress {
 public:
  RunProgress(const Progress& progress, std::string what, std::size_t nests)
      : progress_(progress), what_(std::move(what)), nests_(nests), last_(progress ? Clock::now() : Clock::time_point()) {}
  void begin(std::size_t nest, std::size_t chunks) {
    nest_ = nest;
    chunks_ = chunks;
    done_ = 0;
  }
  void chunk_done() {
    if (!progress_) return;
    const std::size_t done = done_.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::unique_lock lock(turn_, std::try_to_lock);
    if (!lock || milliseconds_since(last_) < 100) return;
    last_ = Clock::now();
    const double of_nest = static_cast<double>(done) / static_cast<double>(chunks_);
    progress_(what_, (static_cast<double>(nest_) + of_nest) / static_cast<double>(nests_));
  }

 private:
  const Progress& progress_;
  std::string what_;
  std::size_t nests_;
  std::size_t nest_ = 0;
  std::size_t chunks_ = 1;
  std::atomic<std::size_t> done_{0};
  std::mutex turn_;
  Clock::time_point last_;
};

}  // namespace weft
