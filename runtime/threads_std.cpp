// Worker threads from std::thread, for builds under ThreadSanitizer, which does not understand Debian's oneTBB.
#ifdef WEFT_STD_THREADS

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/affinity.h"
#include "runtime/host_loop.h"
#include "runtime/succession.h"
#include "weft/memory.h"

namespace weft {

struct Threads::Arena {
  explicit Arena(unsigned threads)
      : count(threads ? threads : std::max<unsigned>(1, static_cast<unsigned>(allowed_cpus().size()))) {}
  unsigned count;
  Loop host;  // empty: threads of our own
  Succession succession;
};

Threads::Threads(unsigned count) : arena_(std::make_shared<Arena>(count)) {}

Threads::Threads(unsigned count, Loop loop) : Threads(count) { arena_->host = std::move(loop); }
Threads Threads::of_caller(unsigned count) { return Threads(count); }

unsigned Threads::count() const { return arena_->count; }

Succession& Threads::succession() const { return arena_->succession; }

void Threads::for_each(std::size_t tasks, const std::function<void(std::size_t, unsigned)>& body) const {
  if (arena_->host) {
    for_each_on(arena_->host, arena_->count, tasks, body);
    return;
  }
  std::atomic<std::size_t> next{0};
  auto work = [&](unsigned slot) {
    for (std::size_t task = next++; task < tasks; task = next++) body(task, slot);
  };
  std::vector<std::thread> workers;
  for (unsigned slot = 1; slot < std::min<std::size_t>(arena_->count, tasks); ++slot) {
    try {
      workers.emplace_back(work, slot);
    } catch (const std::system_error&) {
      break;  // the system gives no more threads: those there are do the work
    }
  }
  work(0);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace weft

#endif
