// Kept: what can be made again, and is given back, least recently used first, when an account of memory has no room left.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/memory.h"

namespace weft {

/// Converted layouts, workspaces between runs. Held by those who made it; an account knows of it while it lives.
class Kept {
 public:
  virtual ~Kept() = default;
  /// Gives back the memory, but for what is in use or just being made. From any thread, which may hold any lock but those
  /// that this function takes: what takes them charges nothing meanwhile.
  virtual void give_back() noexcept = 0;
  /// It is used now. A thread that uses the same again and again tells so now and then only: the order is exact for what
  /// one thread uses, and roughly that of the calls of several.
  void touch() noexcept;
  std::uint64_t last_used() const noexcept { return last_used_.load(std::memory_order_relaxed); }
  static std::uint64_t now() noexcept { return clock().load(std::memory_order_relaxed); }

 private:
  static std::atomic<std::uint64_t>& clock() noexcept {
    static constinit std::atomic<std::uint64_t> ticks{1};
    return ticks;
  }
  std::atomic<std::uint64_t> last_used_{0};
};

/// What was made with the memory of an account, to be given back before a charge is refused. Thread safe.
class KeptList {
 public:
  void enlist(std::weak_ptr<Kept> one);
  /// The same, where it may be on the list already.
  void enlist_once(const std::shared_ptr<Kept>& one);
  /// Gives back everything.
  void give_back() noexcept;
  /// Forgets those that have ended.
  void prune() noexcept;
  /// Calls `visit(one)` for all that live.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<Kept>& each : all_)
      if (const std::shared_ptr<Kept> one = each.lock()) visit(*one);
  }
  /// Gives back one after the other, the least recently used first, until `enough()`; false if that never came. What others
  /// use meanwhile is left alone, so that it ends.
  template <class Enough>
  bool make_room(Enough&& enough) noexcept {
    const std::uint64_t until = Kept::now();
    for (std::uint64_t after = 0; !enough();) {
      const std::shared_ptr<Kept> oldest = next(after, until);
      if (!oldest) return false;
      after = oldest->last_used();
      oldest->give_back();
    }
    return true;
  }

 private:
  /// The one that was used longest ago, of those used later than `after`, and not later than `until`.
  std::shared_ptr<Kept> next(std::uint64_t after, std::uint64_t until) noexcept;
  void prune_locked() noexcept;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Kept>> all_;
  std::size_t pruned_at_ = 64;
};

/// Makes it known to the account.
void enlist(const Memory& memory, const std::shared_ptr<Kept>& one);
/// The same, where the account may know it already.
void enlist_once(const Memory& memory, const std::shared_ptr<Kept>& one);
bool same_account(const Memory& one, const Memory& other) noexcept;
/// Gives back all that the account knows.
void give_back_kept(const Memory& memory) noexcept;

}  // namespace weft
