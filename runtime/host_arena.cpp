// Threads of the oneTBB arena that the host is in: the only place that uses TBB.
#include "weft/memory.h"

#ifndef WEFT_WITHOUT_TBB
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#endif

namespace weft {

Threads Threads::of_caller(unsigned count) {
#ifdef WEFT_WITHOUT_TBB
  // ThreadSanitizer does not understand the distribution's TBB, which is not instrumented.
  return Threads(count);
#else
  return Threads(count, [](unsigned slots, const std::function<void(unsigned)>& body) {
    // Isolated: a thread that waits must not begin a task of the host, or of another loop.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0U, slots, body, tbb::simple_partitioner()); });
  });
#endif
}

}  // namespace weft
