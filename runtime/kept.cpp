#include "runtime/kept.h"

#include <algorithm>

namespace weft {

void KeptList::enlist(std::weak_ptr<Kept> one) {
  const std::lock_guard lock(mutex_);
  if (all_.size() >= pruned_at_) prune();
  all_.push_back(std::move(one));
}

void KeptList::prune() noexcept {
  std::erase_if(all_, [](const std::weak_ptr<Kept>& other) { return other.expired(); });
  pruned_at_ = std::max<std::size_t>(64, 2 * all_.size());
}

void KeptList::give_back() noexcept {
  make_room([] { return false; });
  const std::lock_guard lock(mutex_);
  prune();
  if (all_.empty()) std::vector<std::weak_ptr<Kept>>().swap(all_);
}

std::shared_ptr<Kept> KeptList::next(std::uint64_t after) noexcept {
  std::shared_ptr<Kept> oldest;
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Kept>& one : all_) {
    std::shared_ptr<Kept> living = one.lock();
    if (!living || living->last_used() <= after) continue;
    if (!oldest || living->last_used() < oldest->last_used()) oldest = std::move(living);
  }
  return oldest;
}

}  // namespace weft
