// Tasks on threads of the host.
#pragma once

#include <algorithm>

#include "runtime/shared_loop.h"
#include "weft/memory.h"

namespace weft {

/// As Threads::for_each: every slot takes tasks until there are none, so it does not matter how many of them the host runs
/// at once. What a task throws does not pass through the host.
inline void for_each_on(const Threads::Loop& loop, unsigned count, std::size_t tasks, const SharedLoop::Body& body) {
  SharedLoop shared(tasks, count, body);
  loop(static_cast<unsigned>(std::min<std::size_t>(count, tasks)), [&](unsigned slot) { shared.work(slot); });
  shared.rethrow();
}

}  // namespace weft
