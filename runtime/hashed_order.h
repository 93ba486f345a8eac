// Entries of hashed workspaces in the order of their keys.
#pragma once

#include <cstdint>

#include "runtime/hashed_keys.h"

namespace weft::hashed {

/// Orders `table.size` records of `words` words by the bits of one of them from `first_bit` on, equal ones as they are; `to` has room for
/// them, and both are exchanged as often as it takes. False: cancelled.
bool sort_by_digits(const HashedTable& table, std::uint64_t*& from, std::uint64_t*& to, std::uint64_t words, std::uint64_t word,
                    unsigned first_bit = 0);

/// The tags of all entries in order, equal ones by entry: a number of both where they fit into one, else pairs.
struct Ordered {
  const std::uint64_t* numbers = nullptr;  ///< null: `status` says why
  std::uint64_t* free = nullptr;           ///< room for as many
  unsigned entry_bits = 0;                 ///< of a number; 0: pairs

  std::uint64_t tag(std::uint64_t n) const { return entry_bits != 0 ? numbers[n] >> entry_bits : numbers[2 * n]; }
  std::uint64_t entry(std::uint64_t n) const {
    return entry_bits != 0 ? numbers[n] & ((std::uint64_t{1} << entry_bits) - 1) : numbers[2 * n + 1];
  }
};

/// Lies behind the records of `sorted`.
Ordered ordered(HashedTable& table);

}  // namespace weft::hashed
