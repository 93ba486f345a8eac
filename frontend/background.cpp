#include "frontend/background.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/guarded.h"

namespace weft {

struct Background::State {
  unsigned most_threads = 1;
  std::mutex mutex;
  std::condition_variable changed;
  std::list<Work> waiting;  // which can be emptied, and left, without memory
  std::size_t idle = 0;  // threads that wait for work
  bool ended = false;
  std::vector<std::thread> threads;
  std::shared_ptr<State> itself;  // of threads that are not in this process
  pid_t process = 0;  // that the threads belong to

  /// Threads do not come along into the child of a fork.
  bool has_threads() const { return !threads.empty() && process == ::getpid(); }

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
      work(false);
      work = nullptr;  // what it holds may end this background, which takes the lock
      lock.lock();
    }
  }
};

Background::Background(unsigned threads) : state_(std::make_shared<State>()) { state_->most_threads = std::max(1U, threads); }

Background::~Background() {
  std::list<Work> dropped;
  std::vector<std::thread> threads;
  bool inherited = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    inherited = !state_->threads.empty() && !state_->has_threads();
    dropped.swap(state_->waiting);
    // Handles of threads that are not in this process: nothing may be done with them, not even to let them go.
    if (inherited) {
      state_->itself = state_;
    } else {
      threads.swap(state_->threads);
    }
  }
  state_->changed.notify_all();
  for (const Work& work : dropped) work(true);
  for (std::thread& thread : threads) {
    // What a thread is doing may hold the last handle of its engine.
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void Background::post(Work work) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->threads.empty() && !state_->has_threads()) {
      // In a child: the caller does the work.
    } else if (state_->idle <= state_->waiting.size() && state_->threads.size() < state_->most_threads) {
      try {
        state_->threads.emplace_back([state = state_] { state->serve(); });
        state_->process = ::getpid();
      } catch (const std::system_error&) {
        // The threads that there are do the work, or the caller.
      } catch (const std::bad_alloc&) {
        // Likewise.
      }
    }
    if (state_->has_threads()) {
      (void)had_memory_for([&] {
        state_->waiting.emplace_back();
        state_->waiting.back().swap(work);
      });
    }
  }
  state_->changed.notify_one();
  if (work) work(false);
}

}  // namespace weft
