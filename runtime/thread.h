// A thread that may not start.
#pragma once

#include <pthread.h>

#include <functional>
#include <memory>
#include <new>
#include <utility>

namespace weft {

/// std::thread throws where the system gives no thread or no memory for one; this one says so. `body` must not throw.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::function<void()> body) {
    std::unique_ptr<std::function<void()>> own(new (std::nothrow) std::function<void()>(std::move(body)));
    const auto run = [](void* given) -> void* {
      const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(given));
      (*mine)();
      return nullptr;
    };
    started_ = own != nullptr && ::pthread_create(&handle_, nullptr, run, own.get()) == 0;
    if (started_) (void)own.release();
  }
  Thread(Thread&& other) noexcept : handle_(other.handle_), started_(std::exchange(other.started_, false)) {}
  Thread& operator=(Thread&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(started_, other.started_);
    return *this;
  }
  ~Thread() { join(); }

  /// Whether there is one that join() would wait for.
  bool started() const { return started_; }
  bool is_current() const { return started_ && ::pthread_equal(handle_, ::pthread_self()) != 0; }
  pthread_t handle() const { return handle_; }
  void join() {
    if (std::exchange(started_, false)) ::pthread_join(handle_, nullptr);
  }
  void detach() {
    if (std::exchange(started_, false)) ::pthread_detach(handle_);
  }
  /// Of a thread of the parent, in the child of a fork: there is nothing to wait for or to give back.
  void forget() { started_ = false; }

 private:
  pthread_t handle_{};
  bool started_ = false;
};

}  // namespace weft
