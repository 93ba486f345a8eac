// Span: a part of a text.
#pragma once

#include <cstddef>

namespace weft {

/// Bytes [begin, end). An empty span is a place between two bytes.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Span&) const = default;
};

}  // namespace weft
