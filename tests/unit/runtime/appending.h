// What a kernel does with an AppendedOutput, written by hand: entries appended in order, parents closed lazily.
#pragma once

#include <cstring>

#include "runtime/appended.h"
#include "unit/runtime/reference.h"

namespace weft::reference {

/// Entries by LEVEL, in order.
class Appender {
 public:
  Appender(const AppendedShape& shape, AppendedOutput output, std::uint64_t begin)
      : shape_(shape), output_(output), begin_(begin) {}

  /// False if growing was refused.
  bool append(const Entries& entries) {
    std::vector<std::pair<Tuple, double>> list(entries.begin(), entries.end());
    return list.empty() || append(0, 0, list.data(), list.data() + list.size());
  }

 private:
  using Entry = std::pair<Tuple, double>;

  bool append(std::size_t level, std::uint64_t parent, const Entry* begin, const Entry* end) {
    const bool sparse = level < shape_.format.order() && shape_.format.levels[level].kind != LevelKind::dense;
    if (level == shape_.format.order()) {
      store(parent, begin->second);
      return true;
    }
    if (sparse && !close(level, parent)) return false;
    while (begin != end) {
      const std::uint64_t coordinate = begin->first[level];
      const Entry* next = begin;
      while (next != end && next->first[level] == coordinate) ++next;
      std::uint64_t position = parent * shape_.extent_of_level(level) + coordinate - (level == 0 ? begin_ : 0);
      if (sparse) {
        if (!room(level)) return false;
        position = push(level, coordinate);
      }
      if (!append(level + 1, position, begin, next)) return false;
      if (sparse) ++output_.levels[level].size;
      begin = next;
    }
    return true;
  }

  bool close(std::size_t level, std::uint64_t parent) {
    AppendedLevel& filled = output_.levels[level];
    if (filled.pos_capacity < parent + 1 &&
        grow_appended(&output_, level, parent + 1, filled.size + 1) != 0)
      return false;
    for (std::uint64_t closed = filled.closed + 1; closed <= parent; ++closed) filled.pos[closed] = filled.size;
    filled.closed = parent;
    return true;
  }

  bool room(std::size_t level) {
    AppendedLevel& filled = output_.levels[level];
    const bool values = level != shape_.last_compressed() || filled.size < output_.values_capacity;
    return (filled.size < filled.crd_capacity && values) ||
           grow_appended(&output_, level, filled.closed + 1, filled.size + 1) == 0;
  }

  std::uint64_t push(std::size_t level, std::uint64_t coordinate) {
    AppendedLevel& filled = output_.levels[level];
    if (shape_.format.levels[level].crd_bits == 64)
      static_cast<std::uint64_t*>(filled.crd)[filled.size] = coordinate;
    else
      static_cast<std::uint32_t*>(filled.crd)[filled.size] = static_cast<std::uint32_t>(coordinate);
    if (level == shape_.last_compressed())
      std::memset(output_.values + filled.size * shape_.block_bytes(), 0, shape_.block_bytes());
    return filled.size;
  }

  void store(std::uint64_t position, double value) {
    if (shape_.format.scalar == Scalar::f64)
      reinterpret_cast<double*>(output_.values)[position] = value;
    else
      reinterpret_cast<float*>(output_.values)[position] = static_cast<float>(value);
  }

  const AppendedShape& shape_;
  AppendedOutput output_;
  std::uint64_t begin_;
};

}  // namespace weft::reference
