#include "unit/memory/allocation_faults.h"

#include <execinfo.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/foreign_code.h"

extern "C" {
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void __real_free(void* pointer);
void* __real_mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset);
void* __real_mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, void* to);
ZSTD_DCtx* __real_ZSTD_createDCtx();
ZSTD_CCtx* __real_ZSTD_createCCtx();
std::size_t __real_ZSTD_decompressStream(ZSTD_DCtx* context, ZSTD_outBuffer* output, ZSTD_inBuffer* input);
std::size_t __real_ZSTD_compressStream2(ZSTD_CCtx* context, ZSTD_outBuffer* output, ZSTD_inBuffer* input, ZSTD_EndDirective end);
int __real_inflateInit2_(z_streamp stream, int bits, const char* version, int size);
int __real_inflate(z_streamp stream, int flush);
int __real_deflateInit2_(z_streamp stream, int level, int method, int bits, int memory, int strategy, const char* version, int size);
}

namespace allocation_faults {
namespace {

/// What was allocated and not given back: a table of pointers, found by linear probing. It allocates nothing itself.
class Kept {
 public:
  static constexpr std::size_t places = std::size_t{1} << 20;
  static constexpr std::size_t frames = 12;
  struct Place {
    const void* pointer = nullptr;
    std::uint64_t number = 0;
    std::uint64_t run = 0;
    std::array<void*, frames> trace{};
  };

  void add(const void* pointer, std::uint64_t number) {
    const Turn turn(*this);
    if (size_ > places / 2) return;
    std::size_t place = first(pointer);
    while (table_[place].pointer != nullptr) place = (place + 1) % places;
    table_[place] = {pointer, number, run_, {}};
    if (traced_) (void)::backtrace(table_[place].trace.data(), frames);
    ++size_;
  }
  void remove(const void* pointer) {
    if (size_.load(std::memory_order_relaxed) == 0) return;
    const Turn turn(*this);
    std::size_t place = first(pointer);
    for (; table_[place].pointer != pointer; place = (place + 1) % places) {
      if (table_[place].pointer == nullptr) return;
    }
    --size_;
    // What stands behind it moves up, so that every search still ends where it should.
    for (std::size_t next = place;;) {
      table_[place].pointer = nullptr;
      for (;;) {
        next = (next + 1) % places;
        if (table_[next].pointer == nullptr) return;
        const std::size_t wanted = first(table_[next].pointer);
        const bool reachable = place <= next ? place < wanted && wanted <= next : place < wanted || wanted <= next;
        if (!reachable) break;
      }
      table_[place] = table_[next];
      place = next;
    }
  }
  std::size_t size() const { return size_; }
  std::vector<Place> all() {
    std::vector<Place> found;
    for (std::size_t place = 0; place < places; ++place) {
      if (table_[place].pointer != nullptr) found.push_back(table_[place]);
    }
    return found;
  }
  void begin(bool traced) {
    traced_ = traced;
    ++run_;
  }

 private:
  struct Turn {
    explicit Turn(Kept& kept) : kept_(kept) {
      while (kept_.taken_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Turn() { kept_.taken_.clear(std::memory_order_release); }
    Kept& kept_;
  };
  static std::size_t first(const void* pointer) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(pointer) >> 4) * 0x9E3779B97F4A7C15ULL >> 44);
  }

  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
  std::atomic<std::size_t> size_{0};
  bool traced_ = false;
  std::uint64_t run_ = 0;
  std::array<Place, places> table_{};
};

constinit Kept held;
std::atomic<unsigned> calls_armed{0};
std::atomic<std::uint64_t> counted{0};
std::atomic<std::uint64_t> number_at_fault{0};
std::atomic<Fails> how{Fails::none};
std::atomic<bool> has_fired{false};

bool traced() { return std::getenv("WEFT_TRACE_KEPT") != nullptr; }

/// The number of an allocation, or 0 for one that does not count.
std::uint64_t numbered() {
  if (calls_armed.load(std::memory_order_relaxed) == 0 || weft::ForeignCode::runs()) return 0;
  return ++counted;
}

bool fails(std::uint64_t number) {
  if (number == 0 || how == Fails::none) return false;
  const bool now = how == Fails::one ? number == number_at_fault : number >= number_at_fault;
  if (!now) return false;
  if (!has_fired.exchange(true) && std::getenv("WEFT_TRACE_FAULT") != nullptr) {
    std::array<void*, 64> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), 64), 2);
  }
  return true;
}

/// A pointer that `allocate` gives, or null if it is to fail.
template <class Allocate>
void* made(Allocate&& allocate) {
  const std::uint64_t number = numbered();
  if (fails(number)) return nullptr;
  void* pointer = allocate();
  if (number != 0 && pointer != nullptr) held.add(pointer, number);
  return pointer;
}

void* new_or_null(std::size_t bytes) {
  return made([&] { return std::malloc(std::max<std::size_t>(bytes, 1)); });
}

void* new_or_null(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return made([&] { return __real_aligned_alloc(unit, (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit); });
}

void* or_throw(void* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

void give_back(void* pointer) {
  if (pointer == nullptr) return;
  held.remove(pointer);
  __real_free(pointer);
}

}  // namespace

void begin(std::uint64_t number, Fails fails) {
  counted = 0;
  number_at_fault = number;
  how = fails;
  has_fired = false;
  held.begin(traced());
}
std::uint64_t seen() { return counted; }
bool fired() { return has_fired; }
std::size_t kept() { return held.size(); }

std::string newest_kept(std::size_t count) {
  std::vector<Kept::Place> places = held.all();
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.run != b.run ? a.run > b.run : a.number > b.number; });
  if (places.size() > count) places.resize(count);
  std::string text = traced() ? "" : "(WEFT_TRACE_KEPT=1 tells where they were made)\n";
  for (const Kept::Place& place : places) {
    text += "allocation " + std::to_string(place.number) + "\n";
    char** names = ::backtrace_symbols(place.trace.data(), Kept::frames);
    for (std::size_t frame = 2; names != nullptr && frame < Kept::frames && place.trace[frame] != nullptr; ++frame) {
      text += std::string("    ") + names[frame] + "\n";
    }
    std::free(names);
  }
  return text;
}

Armed::Armed() { ++calls_armed; }
Armed::~Armed() { --calls_armed; }

}  // namespace allocation_faults

using allocation_faults::fails;
using allocation_faults::give_back;
using allocation_faults::held;
using allocation_faults::made;
using allocation_faults::new_or_null;
using allocation_faults::numbered;
using allocation_faults::or_throw;

void* operator new(std::size_t bytes) { return or_throw(new_or_null(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(new_or_null(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return new_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return new_or_null(bytes); }
void* operator new(std::size_t bytes, std::align_val_t unit) { return or_throw(new_or_null(bytes, unit)); }
void* operator new[](std::size_t bytes, std::align_val_t unit) { return or_throw(new_or_null(bytes, unit)); }
void operator delete(void* pointer) noexcept { give_back(pointer); }
void operator delete[](void* pointer) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { give_back(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { give_back(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { give_back(pointer); }
void operator delete[](void* pointer, const std::nothrow_t&) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { give_back(pointer); }
void operator delete[](void* pointer, std::align_val_t) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { give_back(pointer); }
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept { give_back(pointer); }

extern "C" {
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return made([&] { return __real_aligned_alloc(alignment, bytes); });
}
void __wrap_free(void* pointer) { give_back(pointer); }
// Mappings move and are given back in parts: that none is left is seen by the account that they are charged to.
void* __wrap_mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (!fails(numbered())) return __real_mmap(address, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
void* __wrap_mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, void* to) {
  if (!fails(numbered())) return __real_mremap(address, old_bytes, bytes, flags, to);
  errno = ENOMEM;
  return MAP_FAILED;
}
ZSTD_DCtx* __wrap_ZSTD_createDCtx() { return fails(numbered()) ? nullptr : __real_ZSTD_createDCtx(); }
ZSTD_CCtx* __wrap_ZSTD_createCCtx() { return fails(numbered()) ? nullptr : __real_ZSTD_createCCtx(); }
std::size_t __wrap_ZSTD_decompressStream(ZSTD_DCtx* context, ZSTD_outBuffer* output, ZSTD_inBuffer* input) {
  // An error of the library is the negated code.
  if (fails(numbered())) return static_cast<std::size_t>(-ZSTD_error_memory_allocation);
  return __real_ZSTD_decompressStream(context, output, input);
}
std::size_t __wrap_ZSTD_compressStream2(ZSTD_CCtx* context, ZSTD_outBuffer* output, ZSTD_inBuffer* input, ZSTD_EndDirective end) {
  if (fails(numbered())) return static_cast<std::size_t>(-ZSTD_error_memory_allocation);
  return __real_ZSTD_compressStream2(context, output, input, end);
}
int __wrap_inflateInit2_(z_streamp stream, int bits, const char* version, int size) {
  return fails(numbered()) ? Z_MEM_ERROR : __real_inflateInit2_(stream, bits, version, size);
}
int __wrap_inflate(z_streamp stream, int flush) { return fails(numbered()) ? Z_MEM_ERROR : __real_inflate(stream, flush); }
int __wrap_deflateInit2_(z_streamp stream, int level, int method, int bits, int memory, int strategy, const char* version, int size) {
  if (fails(numbered())) return Z_MEM_ERROR;
  return __real_deflateInit2_(stream, level, method, bits, memory, strategy, version, size);
}
}
