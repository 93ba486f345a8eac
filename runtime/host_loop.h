// Tasks on threads of the host.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>

#include "weft/memory.h"

namespace weft {

/// As Threads::for_each: every slot takes the next task until there is none, so it does not matter how many of them the
/// host runs at once. Nothing is thrown through the host's frames.
inline void for_each_on(const Threads::Loop& loop, unsigned count, std::size_t tasks,
                        const std::function<void(std::size_t, unsigned)>& body) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;  // the first, written by who set the flag
  loop(static_cast<unsigned>(std::min<std::size_t>(count, tasks)), [&](unsigned slot) {
    try {
      for (std::size_t task = next++; task < tasks && !failed.load(std::memory_order_relaxed); task = next++) body(task, slot);
    } catch (...) {
      if (!failed.exchange(true)) thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace weft
