// MemoryCache: one computation per key however many threads ask.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/guarded.h"
#include "runtime/spread.h"
#include "runtime/waiting.h"
#include "weft/error.h"

namespace weft {

/// What a MemoryCache may hold.
struct MemoryCacheLimits {
  std::size_t entries = 1024;
  std::uint64_t weight = std::uint64_t{64} << 20;  ///< of all values together, in the unit of the function that weighs
};

/// Key to value, bounded; values are copied out, so Value should be a cheap handle, and a copy keeps what it
/// stands for after the cache has let it go. Thread safe. A hit takes a shared lock only. A failure is given to
/// every call that waited for it and is not remembered, an exception too; a cancellation to the call that was cancelled alone. Beyond a
/// limit the least recently used eighth of the finished entries goes at once, and more where that is too heavy: a linear
/// pass, but one per an eighth of the capacity. The newest entry, and those being computed, stay.
template <class Value>
class MemoryCache {
 public:
  using Weigh = std::function<std::uint64_t(const Value&)>;
  /// Without `weigh` every value weighs nothing.
  explicit MemoryCache(MemoryCacheLimits limits = {}, Weigh weigh = {}) : limits_(limits), weigh_(std::move(weigh)) {
    if (limits_.entries == 0) limits_.entries = 1;
  }
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  /// The value of the key. `compute()`, returning Expected<Value>, runs in the first thread that asks; the others wait
  /// for it, or end as cancelled some milliseconds after `stopped()`. `compute` must not ask this cache for the same key. In the child
  /// of a fork it is computed anew where a thread of the parent was at it.
  template <class Compute, class Stopped = bool (*)()>
  Expected<Value> get(std::string_view key, Compute&& compute, Stopped&& stopped = [] { return false; }) {
    // Where the call that computed was cancelled, the next one that waited computes: it was not meant.
    const auto is_told = [](const Expected<Value>& value) { return value || value.error().kind != ErrorKind::cancelled; };
    std::shared_ptr<Entry> mine;
    for (;;) {
      std::shared_ptr<Entry> theirs = find(key);
      if (!theirs) {
        mine = std::make_shared<Entry>();
        theirs = insert(key, mine);
        if (!theirs) break;
      }
      bool inherited = false;
      while (!inherited && theirs->outcome.wait_for(between_looks) != std::future_status::ready) {
        if (stopped()) return fail(ErrorKind::cancelled, "interrupted while another thread computes the same");
        inherited = theirs->process != ::getpid();
      }
      if (inherited) {
        (void)forget(key, *theirs);
        continue;
      }
      if (Expected<Value> value = theirs->outcome.get(); is_told(value)) return value;
    }
    try {
      Expected<Value> value = std::forward<Compute>(compute)();
      // Forgotten before it is published: a call after a failure was seen computes anew.
      const Removed removed = value ? finish(*mine, *value) : Removed{};
      const std::shared_ptr<Entry> failed = value ? nullptr : forget(key, *mine);
      mine->promise.set_value(value);
      return value;
    } catch (...) {
      const std::shared_ptr<Entry> failed = forget(key, *mine);
      mine->promise.set_exception(std::current_exception());
      throw;
    }
  }

  /// Tells that the value of the key was used by somebody who has a copy of it.
  void use(std::string_view key) {
    const std::shared_lock lock(mutex_);
    const auto known = entries_.find(key);
    if (known != entries_.end()) use(*known->second);
  }

  /// Forgets what is finished.
  void clear() {
    Removed removed;  // ends after the lock does
    const std::unique_lock lock(mutex_);
    removed.reserve(entries_.size());
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (!entry->second->finished) {
        ++entry;
        continue;
      }
      weight_ -= entry->second->weight;
      removed.push_back(std::move(entry->second));
      entry = entries_.erase(entry);
      count_removal();
    }
  }

  /// Whether a value is there, finished; asking is no use of it.
  bool holds(std::string_view key) const {
    const std::shared_lock lock(mutex_);
    const auto known = entries_.find(key);
    return known != entries_.end() && known->second->finished;
  }
  /// Counts what was forgotten: a copy of a value is what get() would give while this stays as it was before get() gave it.
  /// Read by many; nothing else is written beside it.
  std::uint64_t removals() const { return removals_.load(std::memory_order_acquire); }
  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return entries_.size();
  }
  /// Of all finished values.
  std::uint64_t weight() const {
    const std::shared_lock lock(mutex_);
    return weight_;
  }
  /// Calls of get that found a value finished or being computed, and calls that computed.
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  std::uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::promise<Expected<Value>> promise;
    std::shared_future<Expected<Value>> outcome = promise.get_future().share();
    const pid_t process = ::getpid();  // that computes it
    std::atomic<std::uint64_t> last_used{0};
    std::uint64_t weight = 0;  // guarded by mutex_, like the flag
    bool finished = false;
  };
  /// Destroyed by the caller outside the lock: what a value stands for may take a while to end.
  using Removed = std::vector<std::shared_ptr<Entry>>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  void use(Entry& entry) {
    entry.last_used.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  }

  std::shared_ptr<Entry> find(std::string_view key) {
    const std::shared_lock lock(mutex_);
    const auto known = entries_.find(key);
    if (known == entries_.end()) return nullptr;
    use(*known->second);
    hits_.fetch_add(1, std::memory_order_relaxed);
    return known->second;
  }

  // The entry that another thread inserted meanwhile, or null after inserting `entry`.
  std::shared_ptr<Entry> insert(std::string_view key, const std::shared_ptr<Entry>& entry) {
    const std::unique_lock lock(mutex_);
    const auto [place, inserted] = entries_.try_emplace(std::string(key), entry);
    use(*place->second);
    if (!inserted) {
      hits_.fetch_add(1, std::memory_order_relaxed);
      return place->second;
    }
    misses_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }

  Removed finish(Entry& entry, const Value& value) {
    const std::uint64_t weight = weigh_ ? weigh_(value) : 0;
    const std::unique_lock lock(mutex_);
    Removed removed;
    entry.finished = true;
    entry.weight = weight;
    weight_ += weight;
    if (entries_.size() > limits_.entries || weight_ > limits_.weight) {
      // Without memory for its lists nothing goes: who finishes the next value tries again.
      (void)had_memory_for([&] { evict(entry, removed); });
    }
    return removed;
  }

  void evict(const Entry& newest, Removed& removed) {
    std::vector<std::pair<std::uint64_t, typename Entries::iterator>> finished;
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second->finished && entry->second.get() != &newest)
        finished.emplace_back(entry->second->last_used.load(std::memory_order_relaxed), entry);
    }
    removed.reserve(finished.size());
    std::sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::size_t room = limits_.entries - limits_.entries / 8;
    const std::uint64_t lightest = limits_.weight - limits_.weight / 8;
    for (const auto& [used, place] : finished) {
      if (entries_.size() <= room && weight_ <= lightest) break;
      weight_ -= place->second->weight;
      removed.push_back(std::move(place->second));
      entries_.erase(place);
      count_removal();
    }
  }

  /// Needs no memory: it is how a computation ends that had none.
  std::shared_ptr<Entry> forget(std::string_view key, const Entry& entry) {
    const std::unique_lock lock(mutex_);
    const auto known = entries_.find(key);
    if (known == entries_.end() || known->second.get() != &entry) return nullptr;
    weight_ -= entry.weight;
    std::shared_ptr<Entry> removed = std::move(known->second);
    entries_.erase(known);
    return removed;
  }

  void count_removal() { removals_.fetch_add(1, std::memory_order_release); }

  using Entries = std::unordered_map<std::string, std::shared_ptr<Entry>, Hash, std::equal_to<>>;
  MemoryCacheLimits limits_;
  Weigh weigh_;
  mutable std::shared_mutex mutex_;
  Entries entries_;
  std::uint64_t weight_ = 0;
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  alignas(spread_bytes) std::atomic<std::uint64_t> removals_{0};
};

}  // namespace weft
