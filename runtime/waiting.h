// Waiting for what another thread does, no longer than the caller's call lives.
#pragma once

#include <chrono>
#include <mutex>

namespace weft {

/// How often a call that waits looks whether it was cancelled.
inline constexpr std::chrono::milliseconds between_looks{10};

/// The lock, or one that holds nothing once `stopped()`.
template <class Stopped>
std::unique_lock<std::timed_mutex> locked_unless(std::timed_mutex& mutex, Stopped&& stopped) {
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock() && !stopped()) (void)lock.try_lock_for(between_looks);
  return lock;
}

}  // namespace weft
