// Bytes that grow at their end and are charged as they grow.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/block.h"

namespace weft {

/// Grows without copying large blocks: from 1 MB on, under a memory limit from 32 KB on, the kernel moves pages to where there is room
/// (mremap). Smaller ones are copied in the C heap.
/// For one thread at a time. Move only.
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept;
  ~GrowingBuffer() = default;

  /// Room for at least `bytes`, and for a share more where the limit allows it; contents are kept, new bytes are
  /// undefined, addresses change. Resource error naming `what` if the limit or the machine has no room: contents and
  /// addresses are as before.
  Expected<void> reserve(std::uint64_t bytes, const Memory& memory, std::string_view what);
  std::uint64_t capacity() const { return capacity_; }
  void* data() { return block_ ? block_->data : nullptr; }
  const void* data() const { return block_ ? block_->data : nullptr; }

  /// Gives back what lies behind `bytes`, as far as that is whole pages.
  void trim(std::uint64_t bytes);
  /// The pages that lie inside of [begin, end) go back to the machine, not their charge; their contents are lost.
  void discard(std::uint64_t begin, std::uint64_t end);
  /// The charge, for memory that replaces this; what is here lives on uncharged.
  Charge take_charge();
  /// The first `bytes` as a Buffer; empties this. What stands in the heap and leaves a quarter of its room empty is copied.
  Buffer finish(std::uint64_t bytes);

 private:
  Expected<void> grow_to(std::uint64_t bytes, const Memory& memory, std::string_view what);
  bool move_to_heap(std::uint64_t bytes);
  bool move_to_pages(std::uint64_t bytes);

  std::shared_ptr<Block> block_;
  std::uint64_t capacity_ = 0;
};

}  // namespace weft
