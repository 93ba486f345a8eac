// The memory behind a Buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/charge.h"

namespace weft {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Buffers of this size come straight from the kernel, which zeroes them at first touch and gets them back at once.
constexpr std::uint64_t mapped_from = std::uint64_t{1} << 20;

/// Which pages of a mapping that are no huge ones are made with it: a fault for each, of 0.25 microseconds and one in some virtual
/// machines, takes longer than filling the page.
enum class Pages : std::uint8_t { at_once, when_touched };

/// Memory of one Buffer together with its charge, so that both end with the last copy.
struct Block {
  Charge charge;
  void* data = nullptr;
  void* mapping = nullptr;  ///< null: from the C heap
  std::size_t mapped_bytes = 0;

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();
  /// Zeroed memory of its own from the kernel; false if there is none.
  bool map(std::uint64_t bytes, Pages pages);
};

std::uint64_t page_bytes();  ///< of the machine

/// "out of memory: T needs 8 bytes, more than the machine can give"; shorter where not even that text can be made.
Error no_room(std::uint64_t bytes, std::string_view what) noexcept;

/// A Buffer with pages of its own however small it is, whole pages charged: for blocks that come in great numbers or
/// live for one phase, such as the parsed pieces of a file. The C heap would hand them out again but keep them resident,
/// and nothing is charged for what a heap keeps.
Expected<Buffer> mapped_buffer(std::uint64_t bytes, const Memory& memory, std::string_view what, Pages pages = Pages::when_touched);

}  // namespace weft
