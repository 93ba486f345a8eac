// MemoryCache: one computation per key however many threads ask.
#pragma once

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

#include "weft/error.h"

namespace weft {

/// Key to value, bounded; values are copied out, so Value should be a cheap handle. Thread safe. A hit takes a shared
/// lock only. A failure is given to everybody who waited for it and is not remembered. Beyond `capacity` entries the
/// least recently used finished one goes; entries being computed never do.
template <class Value>
class MemoryCache {
 public:
  explicit MemoryCache(std::size_t capacity = 1024) : capacity_(capacity == 0 ? 1 : capacity) {}
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  /// The value of the key. `compute()`, returning Expected<Value>, runs in the first thread that asks; the others wait
  /// for it. `compute` must not ask this cache for the same key.
  template <class Compute>
  Expected<Value> get(std::string_view key, Compute&& compute) {
    if (const std::shared_ptr<Entry> known = find(key)) return known->outcome.get();
    auto mine = std::make_shared<Entry>();
    if (const std::shared_ptr<Entry> theirs = insert(key, mine)) return theirs->outcome.get();
    try {
      Expected<Value> value = std::forward<Compute>(compute)();
      // Forgotten before it is published: whoever asks after a failure was seen computes anew.
      if (!value) forget(key, *mine);
      mine->finished.store(true, std::memory_order_relaxed);
      mine->promise.set_value(value);
      return value;
    } catch (...) {
      forget(key, *mine);
      mine->promise.set_exception(std::current_exception());
      throw;
    }
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return entries_.size();
  }
  /// Calls of get that found a value finished or being computed, and calls that computed.
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  std::uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::promise<Expected<Value>> promise;
    std::shared_future<Expected<Value>> outcome = promise.get_future().share();
    std::atomic<std::uint64_t> last_used{0};
    std::atomic<bool> finished{false};
  };
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
    if (entries_.size() > capacity_) evict();
    return nullptr;
  }

  // Linear: it happens at most once per computation, which costs milliseconds.
  void evict() {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (!entry->second->finished.load(std::memory_order_relaxed)) continue;
      if (oldest == entries_.end() || entry->second->last_used.load(std::memory_order_relaxed) <
                                          oldest->second->last_used.load(std::memory_order_relaxed))
        oldest = entry;
    }
    if (oldest != entries_.end()) entries_.erase(oldest);
  }

  void forget(std::string_view key, const Entry& entry) {
    const std::unique_lock lock(mutex_);
    const auto known = entries_.find(key);
    if (known != entries_.end() && known->second.get() == &entry) entries_.erase(known);
  }

  std::size_t capacity_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>, Hash, std::equal_to<>> entries_;
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
};

}  // namespace weft
