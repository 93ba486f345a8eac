#include "runtime/kept.h"

#include <algorithm>

namespace weft {

void Kept::touch() noexcept {
  constexpr unsigned told_at_least_every = 64;
  struct Recent {
    const Kept* one = nullptr;
    std::uint64_t at = 0;
    unsigned calls = 0;
  };
  thread_local constinit Recent recent;
  // Neither the clock nor the time of what other threads use too is written to where nothing else was used meanwhile.
  const bool again = recent.one == this && last_used_.load(std::memory_order_relaxed) >= recent.at;
  if (again && ++recent.calls % told_at_least_every != 0) return;
  recent = {this, clock().fetch_add(1, std::memory_order_relaxed), 0};
  last_used_.store(recent.at, std::memory_order_relaxed);
}

void KeptList::enlist(std::weak_ptr<Kept> one) {
  const std::lock_guard lock(mutex_);
  if (all_.size() >= pruned_at_) prune_locked();
  all_.push_back(std::move(one));
}

void KeptList::enlist_once(const std::shared_ptr<Kept>& one) {
  const std::lock_guard lock(mutex_);
  const auto same = [&](const std::weak_ptr<Kept>& other) { return !other.owner_before(one) && !one.owner_before(other); };
  if (std::ranges::any_of(all_, same)) return;
  if (all_.size() >= pruned_at_) prune_locked();
  all_.push_back(one);
}

void KeptList::prune_locked() noexcept {
  std::erase_if(all_, [](const std::weak_ptr<Kept>& other) { return other.expired(); });
  pruned_at_ = std::max<std::size_t>(64, 2 * all_.size());
}

void KeptList::give_back() noexcept {
  // Twice: what the first has given back may be known to another, which forgets it then.
  for (int round = 0; round < 2; ++round) make_room([] { return false; });
  prune();
}

void KeptList::prune() noexcept {
  const std::lock_guard lock(mutex_);
  prune_locked();
  if (all_.empty()) std::vector<std::weak_ptr<Kept>>().swap(all_);
}

std::shared_ptr<Kept> KeptList::next(std::uint64_t after, std::uint64_t until) noexcept {
  std::shared_ptr<Kept> oldest;
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Kept>& one : all_) {
    std::shared_ptr<Kept> living = one.lock();
    if (!living || living->last_used() <= after || living->last_used() > until) continue;
    if (!oldest || living->last_used() < oldest->last_used()) oldest = std::move(living);
  }
  return oldest;
}

}  // namespace weft
