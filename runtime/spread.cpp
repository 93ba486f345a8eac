#include "runtime/spread.h"

namespace weft {

unsigned spread_place() noexcept {
  static constinit std::atomic<unsigned> threads{0};
  thread_local const unsigned place = threads.fetch_add(1, std::memory_order_relaxed) % spread_places;
  return place;
}

}  // namespace weft
