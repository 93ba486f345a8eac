#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/affinity.h"
#include "runtime/host_loop.h"
#include "runtime/succession.h"
#include "runtime/workers.h"
#include "weft/memory.h"

namespace weft {

struct Threads::Arena {
  static constexpr unsigned most = 4096;

  explicit Arena(unsigned threads, Loop loop = {})
      : count(threads ? std::min(threads, most) : std::max(1U, static_cast<unsigned>(allowed_cpus().size()))), host(std::move(loop)) {}
  unsigned count;
  Loop host;  // empty: workers of our own
  Succession succession;

  Workers& workers() {
    std::call_once(made, [this] { own = std::make_unique<Workers>(count); });
    return *own;
  }

 private:
  std::once_flag made;
  std::unique_ptr<Workers> own;
};

Threads::Threads(unsigned count) : arena_(std::make_shared<Arena>(count)) {}

Threads::Threads(unsigned count, Loop loop) : arena_(std::make_shared<Arena>(count, std::move(loop))) {}

unsigned Threads::count() const { return arena_->count; }

unsigned Threads::available() const {
  return arena_->count == 1 || arena_->host ? arena_->count : arena_->workers().available();
}

Succession& Threads::succession() const { return arena_->succession; }

void Threads::for_each(std::size_t tasks, const std::function<void(std::size_t, unsigned)>& body) const {
  if (arena_->count == 1 || tasks <= 1) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, 0);
  } else if (arena_->host) {
    for_each_on(arena_->host, arena_->count, tasks, body);
  } else {
    arena_->workers().for_each(tasks, body);
  }
}

}  // namespace weft
