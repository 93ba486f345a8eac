#include "runtime/growing_buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/guarded.h"

namespace weft {
namespace {

/// From here on a block has pages of its own: freed ones go back at once, and growing moves no bytes. Under a limit small blocks have
/// them too: a result of 28 MB in 600 chunks was there twice while these were put together, and charged once. Without one the C heap hands
/// out again what the run before gave back: mapping, moving and faulting in chunks of 100 KB took half of a product of 1.4 ms.
std::uint64_t paged_from(const Memory& memory) { return memory.limit() == Memory::unlimited ? mapped_from : 32 * 1024; }
/// Below this a block doubles, above it grows by half.
constexpr std::uint64_t doubled_below = std::uint64_t{1} << 20;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// A range of addresses that nothing uses, aligned to huge pages if it holds one. Null if there is none.
void* reserved_range(std::uint64_t length, int protection) {
  const std::uint64_t slack = length >= huge_page ? huge_page : 0;
  void* range = ::mmap(nullptr, length + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  if (!slack) return range;
  auto* begin = static_cast<std::byte*>(range);
  const auto address = reinterpret_cast<std::uintptr_t>(range);
  const std::uintptr_t skipped = ((address + huge_page - 1) & ~(huge_page - 1)) - address;
  if (skipped) ::munmap(begin, skipped);
  if (skipped < slack) ::munmap(begin + skipped + length, slack - skipped);
  return begin + skipped;
}

}  // namespace

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept
    : block_(std::move(other.block_)), capacity_(std::exchange(other.capacity_, 0)) {}

GrowingBuffer& GrowingBuffer::operator=(GrowingBuffer&& other) noexcept {
  block_ = std::move(other.block_);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

Expected<void> GrowingBuffer::reserve(std::uint64_t bytes, const Memory& memory, std::string_view what) {
  if (bytes <= capacity_) return {};
  const std::uint64_t share = capacity_ < doubled_below ? capacity_ : capacity_ / 2;
  if (grow_to(std::max(bytes, capacity_ + share), memory, what)) return {};
  return grow_to(bytes, memory, what);  // near the limit, what is needed and no more
}

Expected<void> GrowingBuffer::grow_to(std::uint64_t bytes, const Memory& memory, std::string_view what) {
  const auto exhausted = [&] {
    return std::unexpected(no_room(bytes, what));
  };
  if (bytes > Memory::unlimited - huge_page) return exhausted();  // whose pages cannot be counted
  const bool in_heap = bytes < paged_from(memory) && (!block_ || block_->mapping == nullptr);
  bytes = in_heap ? rounded_up(bytes, 64) : rounded_up(bytes, bytes < huge_page ? page_bytes() : huge_page);
  auto charge = memory.charge(bytes - capacity_, what);
  if (!charge) return std::unexpected(std::move(charge.error()));
  try {
    if (!block_) block_ = std::make_shared<Block>();
  } catch (const std::bad_alloc&) {
    return exhausted();
  }
  if (!(in_heap ? move_to_heap(bytes) : move_to_pages(bytes))) return exhausted();
  block_->charge.join(std::move(*charge));
  capacity_ = bytes;
  return {};
}

bool GrowingBuffer::move_to_heap(std::uint64_t bytes) {
  void* data = std::aligned_alloc(64, bytes);
  if (!data) return false;
  if (capacity_) std::memcpy(data, block_->data, std::min(bytes, capacity_));
  std::free(block_->data);
  block_->data = data;
  return true;
}

bool GrowingBuffer::move_to_pages(std::uint64_t bytes) {
  const bool paged = block_->mapping != nullptr;
  void* range = reserved_range(bytes, paged ? PROT_NONE : PROT_READ | PROT_WRITE);
  if (!range) return false;
  if (paged) {
    if (::mremap(block_->mapping, block_->mapped_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, range) == MAP_FAILED) {
      ::munmap(range, bytes);
      return false;
    }
  } else {
    if (capacity_) std::memcpy(range, block_->data, capacity_);
    std::free(block_->data);
  }
  block_->data = range;
  block_->mapping = range;
  block_->mapped_bytes = bytes;
  // Advice only, and for the whole range, because only one kind of pages can be moved at once.
  if (bytes >= huge_page) (void)::madvise(range, bytes, MADV_HUGEPAGE);
  return true;
}

void GrowingBuffer::trim(std::uint64_t bytes) {
  if (!block_ || !block_->mapping) return;
  const std::uint64_t kept = std::max(rounded_up(bytes, page_bytes()), page_bytes());
  if (kept >= capacity_) return;
  ::munmap(static_cast<std::byte*>(block_->mapping) + kept, capacity_ - kept);
  block_->mapped_bytes = kept;
  (void)block_->charge.split(capacity_ - kept);
  capacity_ = kept;
}

void GrowingBuffer::discard(std::uint64_t begin, std::uint64_t end) {
  if (!block_ || !block_->mapping) return;
  const std::uint64_t page = page_bytes();
  begin = rounded_up(begin, page);
  end = std::min(end, capacity_) / page * page;
  if (begin < end) (void)::madvise(static_cast<std::byte*>(block_->data) + begin, end - begin, MADV_DONTNEED);
}

Charge GrowingBuffer::take_charge() { return block_ ? std::move(block_->charge) : Charge(); }

Buffer GrowingBuffer::finish(std::uint64_t bytes) {
  Buffer buffer;
  if (bytes > 0) {
    trim(bytes);
    // A result lives on: up to half of what it grew into is empty.
    const std::uint64_t kept = rounded_up(bytes, 64);
    if (!block_->mapping && kept < capacity_ - capacity_ / 4) (void)move_to_heap(kept);
    if (block_->charge.bytes() > bytes) (void)block_->charge.split(block_->charge.bytes() - bytes);
    buffer.data_ = block_->data;
    buffer.bytes_ = bytes;
    buffer.owner_ = std::move(block_);
  }
  block_.reset();
  capacity_ = 0;
  return buffer;
}

}  // namespace weft
