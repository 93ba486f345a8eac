// Keys of hashed workspaces as numbers, and room for their arrays: for those who put entries in, in order, and out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/abi.h"
#include "runtime/gaps.h"

namespace weft::hashed {

/// Multiplication by odd constants (Knuth, "The Art of Computer Programming" 6.4).
inline std::uint64_t hash(const std::uint64_t* key, std::uint64_t modes) {
  std::uint64_t mixed = 0;
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    mixed = (mixed ^ key[mode]) * golden_ratio;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

/// The key as one number where it is packed, else its hash.
inline std::uint64_t tag_of_key(const HashedTable& table, const std::uint64_t* key) {
  if (table.packed == 0) return hash(key, table.modes);
  std::uint64_t tag = key[0];
  for (std::uint64_t mode = 1; mode < table.modes; ++mode) tag = tag << table.bits[mode] | key[mode];
  return tag;
}

/// Words of a key in `keys`: of tuples that may be appended, its tag alone.
inline std::uint64_t key_words(const HashedTable& table) { return table.deferrable != 0 ? 1 : table.modes; }

inline std::uint64_t tag_of_entry(const HashedTable& table, std::uint64_t entry) {
  return table.deferrable != 0 ? table.keys[entry] : tag_of_key(table, table.keys + entry * table.modes);
}

/// Room for so many bytes, what is there moved; else the status is that the limit is reached.
template <class T>
bool resize(HashedTable& table, T*& array, HashedTable::Array number, std::uint64_t bytes) {
  void* moved = table.allocate(&table, number, std::max<std::uint64_t>(bytes, 1));
  if (moved == nullptr) {
    table.status = static_cast<std::int32_t>(KernelStatus::limit);
    return false;
  }
  array = static_cast<T*>(moved);
  return true;
}

inline bool is_cancelled(const HashedTable& table) { return table.cancelled != nullptr && *table.cancelled != 0; }

/// Calls body(first, end) for runs of [0, count), a million entries each: some milliseconds between two looks at the cancellation flag.
/// False: cancelled.
template <class Body>
bool in_runs(const HashedTable& table, std::uint64_t count, const Body& body) {
  constexpr std::uint64_t run = std::uint64_t{1} << 20;
  for (std::uint64_t first = 0; first < count; first += run) {
    if (is_cancelled(table)) return false;
    body(first, std::min(count, first + run));
  }
  return true;
}

}  // namespace weft::hashed
