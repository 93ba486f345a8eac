#include "runtime/workers.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/affinity.h"
#include "runtime/elapsed.h"
#include "runtime/shared_loop.h"
#include "runtime/thread.h"

namespace weft {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free);

/// Sleeps while the word is as seen. May return early.
void sleep_while(const Word& word, std::uint32_t seen) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
/// Only the address matters: the word may be gone.
void wake(const Word* word, std::uint32_t most) {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, std::min<std::uint32_t>(most, INT_MAX), nullptr, nullptr, 0);
}

/// How long a thread without work looks for some before it sleeps: a bit more than Succession counts on.
constexpr std::chrono::microseconds awake{120};
/// How long no thread is asked for after the system has refused one.
constexpr std::chrono::milliseconds refused_for{100};

/// Looks whether `ended()`, for a while; whether it became so. Gives way to whatever else wants this CPU.
template <class Ended>
bool spun_until(const Ended& ended) {
  const auto start = Clock::now();
  do {
    for (int look = 0; look < 32; ++look) {
      if (ended()) return true;
      __builtin_ia32_pause();
    }
    ::sched_yield();
  } while (Clock::now() - start < awake);
  return ended();
}

/// A loop in the list of those that threads may join; on the stack of its caller.
struct OpenLoop {
  OpenLoop(std::size_t tasks, unsigned threads, const SharedLoop::Body& body) : shared(tasks, threads, body) {}
  SharedLoop shared;
  unsigned wanted = 0;  // threads that may still join
  OpenLoop* next = nullptr;
  Word inside{0};       // threads that have joined and not left; `caller_sleeps` too
  static constexpr std::uint32_t caller_sleeps = std::uint32_t{1} << 31;
};

}  // namespace

struct Workers::State {
  struct Worker {
    Thread thread;
    std::size_t cpu = 0;  // in `cpus`
  };

  explicit State(unsigned asked) : cpus(allowed_cpus()), most(asked) {
#ifndef WEFT_THREADS_BEYOND_CPUS
    // A thread that has to wait for the CPU of another brings nothing but its memory.
    if (!cpus.empty()) most = std::min(most, static_cast<unsigned>(cpus.size()));
#endif
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    // Threads that are not in this process can neither be told nor waited for.
    const bool gone = inherited();
    ended = true;
    posted.fetch_add(1);
    if (!gone) wake(&posted, INT_MAX);
    for (unsigned number = 0; number < started.load(); ++number) {
      Thread& thread = workers[number].thread;
      gone ? thread.forget() : thread.join();
    }
  }

  /// Whether threads that were started are in the parent of this process.
  bool inherited() const {
    const pid_t owner = process.load(std::memory_order_relaxed);
    return owner != 0 && owner != ::getpid();
  }

  /// Sees to it that `threads` have been started, or the system refuses.
  void start(unsigned threads) {
    if (started.load(std::memory_order_acquire) >= threads) return;
    if (refused.load(std::memory_order_relaxed) && Clock::now() < ask_again()) return;
    const std::lock_guard lock(starting);
    if (workers == nullptr) workers.reset(new (std::nothrow) Worker[most - 1]);
    while (started.load() < threads) {
      const unsigned number = started.load();
      if (workers == nullptr || !begin(workers[number], number + 1)) {
        refused_at.store(Clock::now().time_since_epoch().count());
        refused.store(true);
        return;
      }
      started.store(number + 1, std::memory_order_release);
    }
    refused.store(false);
  }

  bool begin(Worker& worker, unsigned slot) {
    worker.cpu = quietest_cpu();
    worker.thread = Thread([this, slot] { serve(slot); });  // small enough for std::function not to allocate
    if (!worker.thread.started()) return false;
    process.store(::getpid());
    pin(worker);
    return true;
  }

  /// The first behind the caller's on which the fewest threads are, the caller included.
  std::size_t quietest_cpu() const {
    std::size_t best = 0;
    unsigned fewest = UINT_MAX;
    for (std::size_t turn = 1; turn <= cpus.size(); ++turn) {
      const std::size_t cpu = (home.load() + turn) % cpus.size();
      unsigned there = cpu == home.load() ? 1 : 0;
      for (unsigned number = 0; number < started.load(); ++number) there += workers[number].cpu == cpu ? 1 : 0;
      if (there < fewest) best = cpu;
      fewest = std::min(fewest, there);
    }
    return best;
  }

  Clock::time_point ask_again() const { return Clock::time_point(Clock::duration(refused_at.load())) + refused_for; }

  void pin(const Worker& worker) const {
    if (cpus.size() > 1) restrict_to(worker.thread.handle(), cpus[worker.cpu]);
  }

  /// A woken thread otherwise tends to land on the CPU of the spinning caller and waits there for a whole time slice.
  /// Where the system has moved the caller to the CPU of a thread, the two change places.
  void make_room_for_caller() {
    if (cpus.size() < 2) return;
    const auto found = std::find(cpus.begin(), cpus.end(), ::sched_getcpu());
    const auto here = static_cast<std::size_t>(found - cpus.begin());
    if (found == cpus.end() || here == home.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(starting, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const std::size_t left = home.exchange(here);
    for (unsigned number = 0; number < started.load(); ++number) {
      if (workers[number].cpu != here) continue;
      workers[number].cpu = left;
      pin(workers[number]);
    }
  }

  void for_each(std::size_t tasks, const SharedLoop::Body& body) {
    const auto helpers = static_cast<unsigned>(std::min<std::size_t>(tasks, most)) - 1;
    OpenLoop loop(tasks, helpers + 1, body);
    loop.wanted = helpers;
    // Several callers have no common CPU to keep free.
    if (open.load(std::memory_order_relaxed) == nullptr) make_room_for_caller();
    start(helpers);
    {
      const std::lock_guard lock(joining);
      loop.next = open.load(std::memory_order_relaxed);
      open.store(&loop, std::memory_order_relaxed);
    }
    posted.fetch_add(1);
    wake_up_to_two(helpers);
    loop.shared.work(0);
    {
      const std::lock_guard lock(joining);
      OpenLoop* before = open.load(std::memory_order_relaxed);
      if (before == &loop) {
        open.store(loop.next, std::memory_order_relaxed);
      } else {
        while (before->next != &loop) before = before->next;
        before->next = loop.next;
      }
    }
    wait_for_threads(loop);
    loop.shared.rethrow();
  }

  /// Each of which wakes two more if there is work for them: no thread has to wake all others.
  void wake_up_to_two(unsigned wanted) {
    if (wanted > 0 && asleep.load() > 0) wake(&posted, std::min(2U, wanted));
  }

  static void wait_for_threads(OpenLoop& loop) {
    if (spun_until([&] { return loop.inside.load(std::memory_order_acquire) == 0; })) return;
    std::uint32_t now = loop.inside.fetch_or(OpenLoop::caller_sleeps, std::memory_order_acq_rel) | OpenLoop::caller_sleeps;
    while (now != OpenLoop::caller_sleeps) {
      sleep_while(loop.inside, now);
      now = loop.inside.load(std::memory_order_acquire);
    }
  }

  /// Joins the loop that has the fewest threads. `wanted`: how many more the loops could do with.
  OpenLoop* join(unsigned& wanted) {
    wanted = 0;
    if (open.load(std::memory_order_relaxed) == nullptr) return nullptr;
    const std::lock_guard lock(joining);
    OpenLoop* best = nullptr;
    for (OpenLoop* loop = open.load(std::memory_order_relaxed); loop != nullptr; loop = loop->next) {
      wanted += loop->wanted;
      if (loop->wanted > 0 && (best == nullptr || loop->inside.load() < best->inside.load())) best = loop;
    }
    if (best == nullptr) return nullptr;
    --best->wanted;
    --wanted;
    best->inside.fetch_add(1, std::memory_order_relaxed);
    return best;
  }

  static void leave(OpenLoop& loop) {
    const Word* word = &loop.inside;
    // From here on the caller may return, and the loop is no more.
    if (loop.inside.fetch_sub(1, std::memory_order_acq_rel) == OpenLoop::caller_sleeps + 1) wake(word, 1);
  }

  void serve(unsigned slot) {
    while (true) {
      const std::uint32_t seen = posted.load();
      if (ended.load()) return;
      unsigned wanted = 0;
      if (OpenLoop* loop = join(wanted)) {
        wake_up_to_two(wanted);
        loop->shared.work(slot);
        leave(*loop);
      } else if (!spun_until([&] { return posted.load(std::memory_order_relaxed) != seen; })) {
        asleep.fetch_add(1);
        sleep_while(posted, seen);
        asleep.fetch_sub(1);
      }
    }
  }

  const std::vector<int> cpus;
  unsigned most;                          // the caller included
  std::mutex starting;                    // guards workers and what is in them
  std::unique_ptr<Worker[]> workers;      // the first `started` of them run
  std::atomic<unsigned> started{0};
  std::atomic<pid_t> process{0};          // that they belong to
  std::atomic<std::size_t> home{0};       // the CPU, in `cpus`, that is the caller's
  std::atomic<bool> refused{false};       // the last that was asked for
  std::atomic<Clock::rep> refused_at{0};
  std::mutex joining;                     // guards the list of loops and what threads they want
  std::atomic<OpenLoop*> open{nullptr};
  Word posted{0};                         // changes with every loop: what threads without work look at
  std::atomic<unsigned> asleep{0};
  std::atomic<bool> ended{false};
};

Workers::Workers(unsigned most) : state_(std::make_unique<State>(std::max(1U, most))) {}
Workers::~Workers() = default;

void Workers::for_each(std::size_t tasks, const std::function<void(std::size_t, unsigned)>& body) {
  if (state_->most == 1 || tasks <= 1 || state_->inherited()) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, 0);
  } else {
    state_->for_each(tasks, body);
  }
}

unsigned Workers::available() const {
  if (state_->inherited()) return 1;
  return state_->refused.load() ? 1 + state_->started.load() : state_->most;
}

}  // namespace weft
