#include "runtime/unfinished_files.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace weft {
namespace {

// A signal handler can reach nothing but static storage. Empty unless something is being written.
constexpr int most_listed = 32;
constexpr std::size_t longest_name = 1024;
enum class Listing : int { empty, taken, listed };
std::atomic<Listing> place_states[most_listed];
char place_names[most_listed][longest_name];

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) { replace(path); }
UnfinishedFile::~UnfinishedFile() { replace({}); }

void UnfinishedFile::replace(const std::string& path) {
  if (place_ >= 0) place_states[place_].store(Listing::empty, std::memory_order_release);
  place_ = -1;
  if (path.empty() || path.size() >= longest_name) return;
  for (int place = 0; place < most_listed; ++place) {
    Listing empty = Listing::empty;
    if (!place_states[place].compare_exchange_strong(empty, Listing::taken, std::memory_order_acquire)) continue;
    std::memcpy(place_names[place], path.c_str(), path.size() + 1);
    place_states[place].store(Listing::listed, std::memory_order_release);
    place_ = place;
    return;
  }
}

void remove_unfinished_files() {
  for (int place = 0; place < most_listed; ++place) {
    if (place_states[place].load(std::memory_order_acquire) == Listing::listed) ::unlink(place_names[place]);
  }
}

}  // namespace weft
