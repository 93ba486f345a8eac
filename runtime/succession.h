// Succession: whether threads pay for work of a known length, by what they could share right before it.
#pragma once

#include <atomic>
#include <chrono>

#include "runtime/elapsed.h"

namespace weft {

/// Workers look for work for some tenth of a millisecond after their last, then they sleep, and waking them keeps the caller for
/// about 40 us. So a nest that takes less than that saves is run by its caller alone, unless it is one of many in quick
/// succession: then the workers are woken once and stay awake (MTTKRP of 30 us on one thread, two threads: 20 us in
/// succession, 50 us after half a millisecond). Only what threads can share counts: what one thread does takes its time, and
/// the workers fall asleep meanwhile. Workers serve all bindings, so that all tell one object. Thread safe; of what several
/// callers tell at once some may be lost, which makes a guess worse and no result.
class Succession {
 public:
  /// Below this a second thread does not pay even if it is awake.
  static constexpr double least_ns = 12'000;
  /// From here on it pays although it has to be woken.
  static constexpr double waking_ns = 100'000;

  /// Of work that begins, of which threads can share what takes so long on one. The clock is read only where it matters.
  bool threads_pay(double shared_ns) { return shared_ns > least_ns && threads_pay(shared_ns, Clock::now()); }
  bool threads_pay(double shared_ns, Clock::time_point now) {
    if (shared_ns <= least_ns) return false;
    const Clock::time_point ended{Clock::duration(ended_.load(std::memory_order_relaxed))};
    const double before_ns = now - ended > awake ? 0 : before_ns_.load(std::memory_order_relaxed);
    before_ns_.store(before_ns + shared_ns, std::memory_order_relaxed);
    return before_ns + shared_ns > waking_ns;
  }
  /// That work has ended, on one thread or on several.
  void end(double shared_ns) {
    if (shared_ns > least_ns) end(shared_ns, Clock::now());
  }
  void end(double shared_ns, Clock::time_point now) {
    if (shared_ns > least_ns) ended_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::chrono::microseconds awake{100};
  std::atomic<Clock::rep> ended_{0};
  std::atomic<double> before_ns_{0};
};

}  // namespace weft
