// Background: threads that compile beside those of the host.
#pragma once

#include <functional>
#include <memory>

namespace weft {

/// Runs work in the order it came, on threads that start when there is work for them, `threads` at most. Thread safe.
class Background {
 public:
  /// Told whether it was dropped: the background ended before its turn came.
  using Work = std::function<void(bool dropped)>;

  explicit Background(unsigned threads);
  /// Drops what has not begun and waits for what has, unless that is what ends the background.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Where there is no thread at all, because the system gives none or in the child of a fork, or no memory to note the
  /// work, it is done before this returns. `work` must not throw.
  void post(Work work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
