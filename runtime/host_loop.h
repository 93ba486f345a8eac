// Tasks on threads of the host.
#pragma once

#include <algorithm>
#include <atomic>

#include "weft/memory.h"

namespace weft {

/// As Threads::for_each: every slot takes the next task until there is none, so it does not matter how many of them the
/// host runs at once.
inline void for_each_on(const Threads::Loop& loop, unsigned count, std::size_t tasks,
                        const std::function<void(std::size_t, unsigned)>& body) {
  std::atomic<std::size_t> next{0};
  loop(static_cast<unsigned>(std::min<std::size_t>(count, tasks)), [&](unsigned slot) {
    for (std::size_t task = next++; task < tasks; task = next++) body(task, slot);
  });
}

}  // namespace weft
