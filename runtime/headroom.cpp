#include "runtime/headroom.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>

#include "runtime/guarded.h"

namespace weft {
namespace {

/// Of all steps that run now.
std::atomic<std::uint64_t> promised{0};

}  // namespace

// Writable, because limits of the data segment and strict overcommit count nothing else; no page of it is touched.
bool Headroom::is_there(std::uint64_t bytes) noexcept {
  void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return place != MAP_FAILED && ::munmap(place, bytes) == 0;
}

Expected<Headroom> Headroom::take(std::uint64_t bytes, std::string_view doing) {
  Headroom headroom(bytes);
  if (is_there(promised.fetch_add(bytes) + bytes)) return headroom;
  return guarded({doing}, [&] {
    return Expected<Headroom>(fail(ErrorKind::resource, fmt::format("out of memory while {}, which may take {:.0f} MB", doing,
                                                                    static_cast<double>(bytes) * 1e-6)));
  });
}

Headroom::~Headroom() { promised.fetch_sub(bytes_); }

}  // namespace weft
