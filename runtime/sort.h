// Sorting coordinates by several modes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// Whether the entries are lexicographically ordered by `modes` (first mode most significant); equal neighbours count
/// as ordered. One parallel pass.
bool ordered_by(const Coordinates& coordinates, std::span<const std::uint32_t> modes, const Resources& resources);

/// The leading modes that must be sorted by where entries are known to be ordered by `already`: the rest is in order within equal
/// values of these.
std::span<const std::uint32_t> needed_keys(std::span<const std::uint32_t> modes, std::span<const std::uint32_t> already);

/// The permutation that orders the entries by `modes`, stably: entry n of the result is the number of the n-th input
/// entry. Elements have coordinate_bits(count). Parallel least-significant-digit radix sort on
/// words that hold some key bits above the entry's number, so it works for any number of modes, any extents and any
/// count. `already` is an order the entries are known to have (may be empty); keys it makes redundant are not sorted by.
/// `told` gets the share that is done, after each pass.
Expected<Buffer> sorted_permutation(const Coordinates& coordinates, std::span<const std::uint32_t> modes,
                                    std::span<const std::uint32_t> already, const Resources& resources,
                                    const std::function<void(double share)>& told = {});

}  // namespace weft
