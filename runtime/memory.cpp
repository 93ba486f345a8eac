#include "weft/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/block.h"
#include "runtime/guarded.h"
#include "runtime/kept.h"
#include "runtime/machine_memory.h"

namespace weft {

struct Memory::Account {
  std::uint64_t limit = unlimited;
  /// No more than there is: the system would promise more, and end the process that takes it.
  std::uint64_t most = machine_memory();
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::uint64_t> peak{0};
  KeptList kept;
};

void enlist(const Memory& memory, const std::shared_ptr<Kept>& one) {
  one->touch();
  if (memory.account_) memory.account_->kept.enlist(one);
}

void enlist_once(const Memory& memory, const std::shared_ptr<Kept>& one) {
  one->touch();
  if (memory.account_) memory.account_->kept.enlist_once(one);
}

bool same_account(const Memory& one, const Memory& other) noexcept { return one.account_ == other.account_; }

void give_back_kept(const Memory& memory) noexcept {
  if (memory.account_) memory.account_->kept.give_back();
}

Memory::Memory(std::uint64_t limit_bytes) {
  (void)had_memory_for([&] {
    account_ = std::make_shared<Account>();
    account_->limit = limit_bytes;
    account_->most = std::min(limit_bytes, account_->most);
  });
}

Expected<Charge> Memory::charge(std::uint64_t bytes, std::string_view what) const {
  if (!account_) return std::unexpected(out_of_memory({"opening the account of memory"}));
  std::uint64_t used = account_->used.load(std::memory_order_relaxed);
  const auto fits = [&] {
    used = account_->used.load(std::memory_order_relaxed);
    return used <= account_->most && bytes <= account_->most - used;
  };
  do {
    const bool room = used <= account_->most && bytes <= account_->most - used;
    if (!room && !(bytes <= account_->most && account_->kept.make_room(fits)))
      return guarded({"charging ", what}, [&]() -> Expected<Charge> {
        if (account_->limit > account_->most)
          return fail(ErrorKind::resource, ErrorCode::memory_limit, what,
                      fmt::format("out of memory: {} needs {} bytes, but {} of the machine's {} are in use", what, bytes, used,
                                  account_->most));
        return fail(ErrorKind::resource, ErrorCode::memory_limit, what,
                    fmt::format("memory limit: {} needs {} bytes, but {} of the limit of {} are in use", what, bytes, used,
                                account_->limit));
      });
  } while (!account_->used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::uint64_t peak = account_->peak.load(std::memory_order_relaxed);
  while (peak < used + bytes &&
         !account_->peak.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  Charge charge;
  charge.account_ = account_;
  charge.bytes_ = bytes;
  return charge;
}

std::uint64_t Memory::used() const { return !account_ ? 0 : account_->used.load(std::memory_order_relaxed); }
std::uint64_t Memory::peak() const { return !account_ ? 0 : account_->peak.load(std::memory_order_relaxed); }
std::uint64_t Memory::limit() const { return account_ ? account_->limit : 0; }

Charge::Charge(Charge&& other) noexcept
    : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Charge::~Charge() {
  if (account_) account_->used.fetch_sub(bytes_, std::memory_order_relaxed);
}

void Charge::join(Charge other) {
  if (!account_) account_ = other.account_;
  bytes_ += std::exchange(other.bytes_, 0);
}

Charge Charge::split(std::uint64_t bytes) {
  Charge part;
  part.account_ = account_;
  part.bytes_ = std::min(bytes, bytes_);
  bytes_ -= part.bytes_;
  return part;
}

bool Block::map(std::uint64_t bytes, Pages pages) {
  // Aligned to huge pages where that pays: page faults of 4 KiB cost more than filling the array does.
  const std::size_t slack = bytes >= huge_page ? huge_page : 0;
  if (bytes > SIZE_MAX - slack) return false;
  const std::size_t length = static_cast<std::size_t>(bytes) + slack;
  void* reserved = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return false;
  mapping = reserved;
  mapped_bytes = length;
  auto address = reinterpret_cast<std::uintptr_t>(reserved);
  if (slack) address = (address + huge_page - 1) & ~(huge_page - 1);
  data = reinterpret_cast<void*>(address);
  // Advice only: without huge pages everything works, more slowly.
  const std::size_t huge = static_cast<std::size_t>(bytes) & ~(huge_page - 1);
  if (slack) (void)::madvise(data, huge, MADV_HUGEPAGE);
  if (pages == Pages::at_once && bytes > huge)
    (void)::madvise(static_cast<std::byte*>(data) + huge, static_cast<std::size_t>(bytes) - huge, MADV_POPULATE_WRITE);
  return true;
}

Block::~Block() {
  if (mapping)
    ::munmap(mapping, mapped_bytes);
  else
    std::free(data);
}

Expected<Buffer> Buffer::allocate(std::uint64_t bytes, const Memory& memory, std::string_view what) {
  if (bytes == 0) return Buffer{};
  auto charge = memory.charge(bytes, what);
  if (!charge) return std::unexpected(charge.error());
  return allocate(bytes, std::move(*charge), what);
}

Expected<Buffer> Buffer::allocate(std::uint64_t bytes, Charge charge, std::string_view what) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  auto exhausted = [&] {
    return guarded({"allocating ", what}, [&]() -> Expected<Buffer> {
      return resource_error(
          fmt::format("out of memory: {} needs {} bytes, more than the machine can give", what, bytes));
    });
  };
  try {
    auto block = std::make_shared<Block>();
    block->charge = std::move(charge);
    if (bytes >= mapped_from) {
      if (!block->map(bytes, Pages::at_once)) return exhausted();
    } else {
      std::size_t rounded = (static_cast<std::size_t>(bytes) + 63) & ~std::size_t{63};
      block->data = std::aligned_alloc(64, rounded);
      if (!block->data) return exhausted();
      std::memset(block->data, 0, rounded);
    }
    buffer.data_ = block->data;
    buffer.bytes_ = bytes;
    buffer.owner_ = std::move(block);
  } catch (const std::bad_alloc&) {
    return exhausted();
  }
  return buffer;
}

Buffer Buffer::borrow(const void* data, std::uint64_t bytes) {
  Buffer buffer;
  buffer.data_ = const_cast<void*>(data);
  buffer.bytes_ = bytes;
  return buffer;
}

Buffer Buffer::owned_by(std::shared_ptr<void> owner) const {
  Buffer buffer = *this;
  buffer.owner_ = std::move(owner);
  return buffer;
}

Error no_room(std::uint64_t bytes, std::string_view what) noexcept {
  auto told = guarded({"allocating ", what}, [&]() -> Expected<void> {
    return resource_error(fmt::format("out of memory: {} needs {} bytes, more than the machine can give", what, bytes));
  });
  return std::move(told.error());  // a copy of its texts may have no memory either
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

Expected<Buffer> mapped_buffer(std::uint64_t bytes, const Memory& memory, std::string_view what, Pages pages) {
  if (bytes == 0) return Buffer{};
  const std::uint64_t page = page_bytes();
  const std::uint64_t charged = bytes > Memory::unlimited - page ? bytes : (bytes + page - 1) / page * page;
  auto charge = memory.charge(charged, what);
  if (!charge) return std::unexpected(charge.error());
  try {
    auto block = std::make_shared<Block>();
    block->charge = std::move(*charge);
    if (block->map(bytes, pages)) {
      void* const data = block->data;
      return Buffer::borrow(data, bytes).owned_by(std::move(block));
    }
  } catch (const std::bad_alloc&) {
  }
  return std::unexpected(no_room(bytes, what));
}

}  // namespace weft
