// Loops over many elements on the threads of an engine, and memory for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "weft.h"

namespace weft_python {

/// How many parts a loop over so many elements is cut into: one for few.
inline std::uint64_t parts_of(const weft_engine* engine, std::uint64_t elements) {
  constexpr std::uint64_t least = 1 << 15;
  const std::uint64_t threads = engine ? weft_engine_threads(engine) : 1;
  return threads < 2 ? 1 : std::clamp<std::uint64_t>(elements / least, 1, 4 * threads);
}

/// Calls body(part) for all parts, which touches no object of Python and throws nothing.
template <class Body>
void for_parts(const weft_engine* engine, std::uint64_t parts, const Body& body) {
  const auto call = [](void* context, std::uint64_t part, std::uint32_t) { (*static_cast<const Body*>(context))(part); };
  if (parts > 1 && weft_engine_for_each(engine, parts, call, const_cast<Body*>(&body), nullptr) == WEFT_OK) return;
  for (std::uint64_t part = 0; part < parts; ++part) body(part);
}

/// Calls body(begin, end) for contiguous parts of [0, count), likewise.
template <class Body>
void for_ranges(const weft_engine* engine, std::uint64_t count, const Body& body) {
  const std::uint64_t parts = parts_of(engine, count);
  const auto bound = [&](std::uint64_t part) { return count / parts * part + std::min(part, count % parts); };
  for_parts(engine, parts, [&](std::uint64_t part) { body(bound(part), bound(part + 1)); });
}

/// Memory that is written before it is read, so that its pages are first touched by the threads that write it.
template <class Element>
class Array {
 public:
  Array() = default;
  explicit Array(std::uint64_t size) : size_(size), elements_(std::make_unique_for_overwrite<Element[]>(size)) {}
  /// A copy.
  Array(const weft_engine* engine, const Element* from, std::uint64_t size) : Array(size) {
    for_ranges(engine, size, [&](std::uint64_t begin, std::uint64_t end) { std::copy(from + begin, from + end, data() + begin); });
  }
  Element* data() { return elements_.get(); }
  const Element* data() const { return elements_.get(); }
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Element& operator[](std::uint64_t at) { return elements_[at]; }
  const Element& operator[](std::uint64_t at) const { return elements_[at]; }

 private:
  std::uint64_t size_ = 0;
  std::unique_ptr<Element[]> elements_;
};

}  // namespace weft_python
