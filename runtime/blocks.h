// Cutting [0, count) into contiguous blocks for the threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

/// Equal contiguous blocks of [0, count). Their number depends on the count and the threads, never on timing.
struct Blocks {
  std::uint64_t count = 0;
  std::uint64_t number = 0;

  /// A few blocks per thread, so that unequal ones balance, but none below `grain` elements.
  Blocks(std::uint64_t elements, const Threads& threads, std::uint64_t grain = 1 << 14)
      : count(elements),
        number(std::clamp<std::uint64_t>(elements / grain, elements ? 1 : 0,
                                         threads.count() == 1 ? 1 : 4 * std::uint64_t{threads.count()})) {}

  std::uint64_t begin(std::uint64_t block) const {
    // count * block may exceed 64 bits; the remainder is spread over the first blocks instead.
    return count / number * block + std::min(block, count % number);
  }
  std::uint64_t end(std::uint64_t block) const { return begin(block + 1); }
};

/// Runs f(begin, end, block) for every block.
template <class F>
void for_blocks(const Threads& threads, const Blocks& blocks, F&& f) {
  threads.for_each(static_cast<std::size_t>(blocks.number),
                   [&](std::size_t block, unsigned) { f(blocks.begin(block), blocks.end(block), block); });
}

/// The same in parts of blocks, one behind the other, until the token is cancelled. What is left out then is for the caller to tell:
/// check_not_cancelled() behind it.
template <class F>
void for_parts(const Resources& resources, const Blocks& blocks, F&& f) {
  constexpr std::uint64_t part = std::uint64_t{1} << 18;
  for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    for (; begin < end && !resources.cancellation.cancelled(); begin += std::min(part, end - begin))
      f(begin, begin + std::min(part, end - begin), block);
  });
}

inline Expected<void> check_not_cancelled(const Resources& resources, std::string_view doing) {
  if (!resources.cancellation.cancelled()) return {};
  return fail(ErrorKind::cancelled, std::string("cancelled while ").append(doing));
}

}  // namespace weft
