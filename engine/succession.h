// Succession: whether threads pay for work of a known length, by what came right before it.
#pragma once

#include <chrono>

#include "runtime/elapsed.h"

namespace weft {

/// Workers look for work for some tenth of a millisecond after their last, then they sleep, and waking them keeps the caller for
/// about 40 us. So a nest that takes less than that saves is run by its caller alone, unless it is one of many in quick
/// succession: then the workers are woken once and stay awake (MTTKRP of 30 us on one thread, two threads: 20 us in
/// succession, 50 us after half a millisecond). Not thread safe.
class Succession {
 public:
  /// Below this a second thread does not pay even if it is awake.
  static constexpr double least_ns = 12'000;
  /// From here on it pays although it has to be woken.
  static constexpr double waking_ns = 100'000;

  /// Of work that begins and takes so long on one thread.
  bool threads_pay(double serial_ns, Clock::time_point now = Clock::now()) {
    if (now - ended_ > awake) before_ns_ = 0;
    before_ns_ += serial_ns;
    return serial_ns > least_ns && before_ns_ > waking_ns;
  }
  /// The work has ended.
  void end(Clock::time_point now = Clock::now()) { ended_ = now; }

 private:
  static constexpr std::chrono::microseconds awake{100};
  Clock::time_point ended_{};
  double before_ns_ = 0;
};

}  // namespace weft
