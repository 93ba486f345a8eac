// Worker threads from an arena of oneTBB. Builds for ThreadSanitizer use threads_std.cpp instead.
#ifndef WEFT_STD_THREADS

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/affinity.h"
#include "runtime/host_loop.h"
#include "runtime/succession.h"
#include "weft/memory.h"

namespace weft {
namespace {

/// Pins workers, never the caller, while they are in our arena. A woken worker otherwise tends to land on the CPU of
/// the spinning caller and waits there for a whole time slice. Workers belong to the whole process: on leaving they
/// get back the mask they came with.
class Pinning : public tbb::task_scheduler_observer {
 public:
  explicit Pinning(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena), cpus_(allowed_cpus()) {
    if (cpus_.size() > 1) observe(true);
  }
  ~Pinning() override {
    // A worker still looking for work here would keep our mask for good: wait until all have left, which they do
    // within microseconds. The bound is for a process that is ending and has stopped them already.
    for (int turn = 0; inside_.load(std::memory_order_acquire) > 0 && turn < 1000; ++turn)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    observe(false);
  }
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;

  /// Tells where the caller runs now, so that workers take the other CPUs.
  void note_caller() { caller_cpu_.store(::sched_getcpu(), std::memory_order_relaxed); }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;
    inside_.fetch_add(1, std::memory_order_relaxed);
    auto found = std::find(cpus_.begin(), cpus_.end(), caller_cpu_.load(std::memory_order_relaxed));
    std::size_t caller = found == cpus_.end() ? 0 : static_cast<std::size_t>(found - cpus_.begin());
    int slot = tbb::this_task_arena::current_thread_index();
    mask_before = allowed_cpus();
    if (slot >= 0) restrict_to({cpus_[(caller + static_cast<std::size_t>(slot)) % cpus_.size()]});
  }
  void on_scheduler_exit(bool is_worker) override {
    if (!is_worker) return;
    restrict_to(std::exchange(mask_before, {}));
    inside_.fetch_sub(1, std::memory_order_release);
  }

 private:
  static thread_local std::vector<int> mask_before;
  std::vector<int> cpus_;
  std::atomic<int> caller_cpu_{-1};
  std::atomic<int> inside_{0};
};

thread_local std::vector<int> Pinning::mask_before;

}  // namespace

struct Threads::Arena {
  explicit Arena(unsigned threads, Loop loop = {})
      : count(threads ? threads : std::max<unsigned>(1, static_cast<unsigned>(allowed_cpus().size()))), host(std::move(loop)) {}
  unsigned count;
  Loop host;  // empty: an arena of our own
  Succession succession;
  std::once_flag started;
  std::optional<tbb::task_arena> arena;
  std::optional<Pinning> pinning;
  pid_t process = 0;  // that the workers belong to

  void start() {
    std::call_once(started, [this] {
      // Asking for more than TBB is allowed to give brings nothing but a warning on the host's standard error.
      auto allowed = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
      arena.emplace(static_cast<int>(std::min<std::size_t>(count, allowed)), 1);
      arena->initialize();
      pinning.emplace(*arena);
      process = ::getpid();
    });
  }
  /// Workers do not come along into the child of a fork. The arena is as it was, and never asked again.
  bool has_workers() const { return process == ::getpid(); }
};

Threads::Threads(unsigned count)
    : arena_(std::make_shared<Arena>(count)) {}

Threads::Threads(unsigned count, Loop loop) : arena_(std::make_shared<Arena>(count, std::move(loop))) {}

Threads Threads::of_caller(unsigned count) {
  return Threads(count, [](unsigned slots, const std::function<void(unsigned)>& body) {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0U, slots, body, tbb::simple_partitioner()); });
  });
}

unsigned Threads::count() const { return arena_->count; }

Succession& Threads::succession() const { return arena_->succession; }

void Threads::for_each(std::size_t tasks, const std::function<void(std::size_t, unsigned)>& body) const {
  if (arena_->count == 1 || tasks <= 1) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  if (arena_->host) {
    for_each_on(arena_->host, arena_->count, tasks, body);
    return;
  }
  arena_->start();
  if (!arena_->has_workers()) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  arena_->pinning->note_caller();
  // Isolated: while it waits for the last tasks, a thread must not begin one of another for_each, whose caller may hold
  // a lock that this caller waits for.
  auto all = [&] {
    // The caller cuts the work itself: with grain 1 every task is stolen singly, which balances unequal chunks.
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, tasks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          auto slot = static_cast<unsigned>(tbb::this_task_arena::current_thread_index());
          for (std::size_t task = range.begin(); task != range.end(); ++task) body(task, slot);
        },
        tbb::simple_partitioner());
  };
  arena_->arena->execute([&] { tbb::this_task_arena::isolate(all); });
}

}  // namespace weft

#endif
