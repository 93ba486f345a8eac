// Bytes of the host, or of a run, in memory of their own.
#pragma once

#include <algorithm>
#include <string_view>

#include "weft/memory.h"

namespace weft {

/// Resource error.
inline Expected<Buffer> copied(const Buffer& from, const Memory& memory, std::string_view name) {
  if (from.size_bytes() == 0) return Buffer();
  auto copy = Buffer::allocate(from.size_bytes(), memory, name);
  if (copy) std::ranges::copy(from.as<const std::byte>(), copy->as<std::byte>().begin());
  return copy;
}

}  // namespace weft
