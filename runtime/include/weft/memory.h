// Memory that is accounted for, and what every long-running runtime function needs from its caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "weft/error.h"

namespace weft {

class Charge;
class Kept;
class Succession;

/// A shared account of bytes with an optional limit. Cheap to copy (copies share the account), thread safe. One that
/// could not be opened, because memory ran out, has a limit of 0 and refuses every charge, saying so.
class Memory {
 public:
  static constexpr std::uint64_t unlimited = ~std::uint64_t{0};
  Memory() : Memory(unlimited) {}
  explicit Memory(std::uint64_t limit_bytes);
  /// Reserves bytes until the Charge dies. What weft keeps only to be faster next time is given back first, the least
  /// recently used first. Resource error naming `what`, the bytes asked, used and the limit.
  Expected<Charge> charge(std::uint64_t bytes, std::string_view what) const;
  std::uint64_t used() const;
  std::uint64_t peak() const;
  std::uint64_t limit() const;

 private:
  friend class Charge;
  friend void enlist(const Memory& memory, const std::shared_ptr<Kept>& one);
  friend void enlist_once(const Memory& memory, const std::shared_ptr<Kept>& one);
  friend bool same_account(const Memory& one, const Memory& other) noexcept;
  friend void give_back_kept(const Memory& memory) noexcept;
  struct Account;
  std::shared_ptr<Account> account_;
};

/// Bytes with shared ownership, 64-byte aligned (or borrowed from the host). Copies share the bytes; who builds a
/// Buffer may write to it, afterwards it is treated as immutable.
class Buffer {
 public:
  Buffer() = default;
  /// Zeroed bytes, charged to `memory` under the name `what`. Large sizes come straight from the kernel, so the
  /// zeroing costs nothing before first touch. Resource error if the limit or the machine has no room.
  static Expected<Buffer> allocate(std::uint64_t bytes, const Memory& memory, std::string_view what);
  /// The same for bytes that are charged already.
  static Expected<Buffer> allocate(std::uint64_t bytes, Charge charge, std::string_view what);
  /// Host memory, not owned and not charged; it must outlive every copy of the Buffer.
  static Buffer borrow(const void* data, std::uint64_t bytes);

  /// The same bytes, kept alive by `owner` alone.
  Buffer owned_by(std::shared_ptr<void> owner) const;

  /// Whether the bytes are the host's: nothing of weft keeps them alive.
  bool borrowed() const { return bytes_ > 0 && !owner_; }
  /// Whether this alone keeps the bytes alive: no other tensor shows what is written to them.
  bool only_here() const { return owner_ && owner_.use_count() == 1; }

  std::uint64_t size_bytes() const { return bytes_; }
  void* data() { return data_; }
  const void* data() const { return data_; }
  template <class T>
  std::span<T> as() {
    return {static_cast<T*>(data_), static_cast<std::size_t>(bytes_ / sizeof(T))};
  }
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<std::size_t>(bytes_ / sizeof(T))};
  }

 private:
  friend class GrowingBuffer;
  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Set by any thread (or a signal handler) to stop work at its next poll. Copies share the flag, which is allocated in
/// the host's own code: std::bad_alloc is thrown there.
class Cancellation {
 public:
  Cancellation() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() const { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_->load(std::memory_order_relaxed); }
  const std::atomic<bool>* flag() const { return flag_.get(); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// Each call of weft calls it from one thread at a time, at most some ten times a second, and several that run at once
/// each for themselves: what is being done and the fraction done.
using Progress = std::function<void(std::string_view what, double fraction)>;

/// Worker threads. Cheap to copy; copies share the workers, which start at first use. The calling thread takes part.
/// Only workers that are weft's own are pinned to CPUs (within the affinity mask of the process), never the caller.
/// They do not come along into the child of a fork: what they were started for then runs on the calling thread alone.
/// Where the system starts no more of them, those that there are do the work. Made in the host's own code, where
/// std::bad_alloc is thrown.
class Threads {
 public:
  /// Calls body(slot) once for every slot below `slots`, some at once if it can, and returns when all calls have.
  using Loop = std::function<void(unsigned slots, const std::function<void(unsigned slot)>& body)>;
  /// `count` 0, and none: all CPUs the process may use; 4096 at most.
  Threads() : Threads(0) {}
  explicit Threads(unsigned count);
  /// Threads of the host, `count` at once; none of weft's are started.
  Threads(unsigned count, Loop loop);
  /// The oneTBB arena that the caller of each function is in (tbb::task_arena::execute); `count` as above.
  static Threads of_caller(unsigned count = 0);
  unsigned count() const;
  /// How many of them there are: fewer where the process has fewer CPUs, where the system has refused to start one, and
  /// in the child of a fork. Those of the host are taken to be there.
  unsigned available() const;
  /// Runs body(task, slot) for every task in [0, tasks), in any order, on up to count() threads; slot < count() is
  /// exclusive to one thread at a time. Blocks until all are done. What a task throws is thrown here, on the calling
  /// thread, once no task runs any more: the first if several do; tasks that had not begun by then are left out.
  void for_each(std::size_t tasks, const std::function<void(std::size_t task, unsigned slot)>& body) const;
  /// Whether short work is worth waking them for; of all copies.
  Succession& succession() const;

 private:
  struct Arena;
  std::shared_ptr<Arena> arena_;
};

/// What a long-running function may use and whom it tells.
struct Resources {
  Memory memory;
  Threads threads;
  Cancellation cancellation;
  Progress progress;  ///< may be empty
  /// The same with another token.
  Resources with(const Cancellation& token) const { return {memory, threads, token, progress}; }
};

}  // namespace weft
