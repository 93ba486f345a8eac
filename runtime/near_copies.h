// NearCopies: what a table that threads share has given, once more for every thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/guarded.h"
#include "runtime/spread.h"

namespace weft {

/// Values by key as a shared table gave them, by the places of threads (spread_place): found without writing to what
/// other threads write to. A table counts what makes them wrong as its version; copies of another version are not found.
/// As long as one thread alone asks nothing is kept. Value: a handle that is cheap to copy, whose references are counted apart
/// from those of the table's, or nothing is gained. Thread safe.
template <class Value>
class NearCopies {
 public:
  /// `used()` is called for one in 64 that are found, so that a table that forgets what is not used learns that this is.
  template <class Used>
  std::optional<Value> find(std::string_view key, std::uint64_t version, Used&& used) {
    if (alone()) return std::nullopt;
    bool tell = false;
    auto found = found_here(key, version, tell);
    if (found && tell) used();
    return found;
  }
  /// Keeps what `apart()` makes of what the table has given since it was at that version, unless `now()`, the version, is
  /// another by then; without memory it does not.
  template <class Now, class Apart>
  void keep(std::string_view key, std::uint64_t version, Now&& now, Apart&& apart) noexcept {
    if (alone()) return;
    (void)had_memory_for([&] {
      Copies ending;
      Copy other{std::string(key), apart()};
      Place& place = places_[spread_place()];
      const std::lock_guard lock(place.mutex);
      if (place.version != version) std::swap(place.copies, ending);
      place.version = version;
      kept_.store(true, std::memory_order_relaxed);
      if (now() != version) return;
      std::size_t number = 0;
      while (number < place.copies.size() && place.copies[number].key != key) ++number;
      std::swap(place.copies[number < place.copies.size() ? number : place.next++ % place.copies.size()], other);
    });
  }
  /// Lets go of all, once the table has another version: of what is put here meanwhile, nothing stays.
  void clear() noexcept {
    if (!kept_.exchange(false, std::memory_order_relaxed)) return;
    for (Place& place : places_) {
      Copies ending;
      const std::lock_guard lock(place.mutex);
      std::swap(place.copies, ending);
    }
  }

 private:
  struct Copy {
    std::string key;
    std::optional<Value> value;
  };
  using Copies = std::array<Copy, 8>;
  struct alignas(spread_bytes) Place {
    std::mutex mutex;
    Copies copies;
    std::uint64_t version = 0;
    std::size_t next = 0;
    unsigned found = 0;
  };
  static constexpr unsigned no_place = spread_places, several = spread_places + 1;

  std::optional<Value> found_here(std::string_view key, std::uint64_t version, bool& tell) {
    Copies ending;  // after the lock does
    Place& place = places_[spread_place()];
    const std::lock_guard lock(place.mutex);
    if (place.version != version) std::swap(place.copies, ending);
    for (const Copy& copy : place.copies) {
      if (!copy.value || copy.key != key) continue;
      tell = ++place.found % 64 == 0;
      return copy.value;
    }
    return std::nullopt;
  }

  /// Whether all who have asked so far have the calling thread's place.
  bool alone() noexcept {
    const unsigned first = first_.load(std::memory_order_relaxed);
    if (first == several) return false;
    const unsigned mine = spread_place();
    unsigned none = no_place;
    if (first == mine || (first == no_place && first_.compare_exchange_strong(none, mine, std::memory_order_relaxed))) return true;
    first_.store(several, std::memory_order_relaxed);
    return false;
  }
  std::atomic<unsigned> first_{no_place};
  std::atomic<bool> kept_{false};
  std::array<Place, spread_places> places_;
};

}  // namespace weft
