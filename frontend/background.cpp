#include "frontend/background.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/process_end.h"
#include "runtime/thread.h"

namespace weft {
namespace {

// Work under way in the background of all engines. The end of the process waits for it: LLVM's objects go soon after exit() is called,
// earlier than engines that are global, or are never destroyed, would wait.
class Doing {
 public:
  Doing() {
    static const bool told_of_exit = at_process_end(wait_at_exit);
    (void)told_of_exit;
    count(1);
    ++of_this_thread;
  }
  ~Doing() {
    --of_this_thread;
    count(-1);
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

  static bool at_exit() { return ending.load(std::memory_order_acquire); }

 private:
  // Longer than any compilation that was seen; a thread that never comes back must not keep the process.
  static constexpr std::chrono::seconds patience{10};

  static std::uint64_t of_this_process() { return static_cast<std::uint64_t>(::getpid()) << 32; }
  // In the child of a fork nothing is being done: the upper half says whose count it is.
  static void count(int step) {
    const std::uint64_t own = of_this_process();
    for (std::uint64_t known = doing.load();;) {
      const std::uint64_t before = known >> 32 == own >> 32 ? known : own;
      if (doing.compare_exchange_weak(known, before + static_cast<std::uint64_t>(static_cast<std::int64_t>(step)))) return;
    }
  }
  static void wait_at_exit() {
    ending.store(true, std::memory_order_release);
    const auto until = std::chrono::steady_clock::now() + patience;
    const std::uint64_t own = of_this_process() | of_this_thread;
    const auto others = [&] {
      const std::uint64_t known = doing.load();
      return known >> 32 == own >> 32 && known > own;
    };
    while (others() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  static constinit inline std::atomic<std::uint64_t> doing{0};
  static constinit inline std::atomic<bool> ending{false};
  static constinit inline thread_local unsigned of_this_thread = 0;  // exit() may be called from what is done
};

}  // namespace

struct Background::State : std::enable_shared_from_this<State> {
  unsigned most_threads = 1;
  std::mutex mutex;
  std::condition_variable changed;
  std::list<Work> waiting;  // which can be made and emptied without memory
  std::size_t idle = 0;  // threads that wait for work
  bool ended = false;
  std::vector<Thread> threads;
  std::atomic<pid_t> process = 0;  // that the threads belong to; 0: there are none yet

  /// Threads do not come along into the child of a fork, but what says that they wait does: a condition variable would wait for them.
  bool is_inherited() const { return process != 0 && process != ::getpid(); }

  /// One more thread, if the system gives one.
  void start() {
    try {
      threads.reserve(threads.size() + 1);
      Thread thread([state = shared_from_this()] { state->serve(); });
      if (!thread.started()) return;
      threads.push_back(std::move(thread));
      process = ::getpid();
    } catch (const std::bad_alloc&) {
    }
  }

  /// A place for one more piece of work, if there is memory for it.
  bool make_room() {
    try {
      waiting.emplace_back();
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      ++idle;
      changed.wait(lock, [&] { return ended || !waiting.empty(); });
      --idle;
      if (ended) return;
      Work work = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      {
        const Doing doing;
        work(Doing::at_exit());
        work = nullptr;  // what it holds may end this background, which takes the lock
      }
      lock.lock();
    }
  }
};

Background::Background(unsigned threads) : state_(std::make_shared<State>()) { state_->most_threads = std::max(1U, threads); }

Background::~Background() {
  std::list<Work> dropped;
  std::vector<Thread> threads;
  if (state_->is_inherited()) {
    // A thread of the parent may have had the lock; each has a handle of the state, which stays.
    if (!state_->mutex.try_lock()) return;
    dropped.swap(state_->waiting);
    threads.swap(state_->threads);
    state_->mutex.unlock();
    for (const Work& work : dropped) work(true);
    for (Thread& thread : threads) thread.forget();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    dropped.swap(state_->waiting);
    threads.swap(state_->threads);
  }
  state_->changed.notify_all();
  for (const Work& work : dropped) work(true);
  for (Thread& thread : threads) {
    if (thread.is_current()) {
      thread.detach();  // what it is doing held the last handle of its engine
    } else {
      thread.join();
    }
  }
}

void Background::post(Work work) {
  // What the parent of this process has started does nothing here.
  if (!state_->is_inherited()) {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->idle <= state_->waiting.size() && state_->threads.size() < state_->most_threads) state_->start();
      if (!state_->threads.empty() && state_->make_room()) state_->waiting.back().swap(work);
    }
    state_->changed.notify_one();
  }
  if (work) work(false);
}

}  // namespace weft
