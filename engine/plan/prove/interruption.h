// Cancels a query to Z3 when a token is set.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/plan/problem.h"
#include "runtime/thread.h"
#include "weft/memory.h"

namespace weft {

/// Calls `interrupt`, from a thread of its own, every few milliseconds while something is asked and a token is set: once
/// may be too early, before anybody listens. Nothing else depends on that thread, and where the system gives none, tokens
/// are looked at between questions only.
class Interruption {
 public:
  /// Refers to the tokens.
  Interruption(const std::vector<Cancellation>& tokens, std::function<void()> interrupt);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  void asking(bool now) { asking_ = now; }

 private:
  void watch();

  const std::vector<Cancellation>& tokens_;
  std::function<void()> interrupt_;
  std::atomic<bool> asking_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Thread thread_;  // last: it uses the others
};

}  // namespace weft
