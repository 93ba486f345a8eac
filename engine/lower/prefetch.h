// How far ahead a sparse loop fetches the rows that it gathers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/lower/nest.h"

namespace weft {

/// Of a dense tensor with the modes of an access; 2^64 - 1: more than fits into 64 bits.
std::uint64_t dense_bytes(const NestAccess& access, Scalar scalar, const Network& network);

/// A level that a loop binds.
struct LocatedLevel {
  const NestAccess* access = nullptr;
  std::size_t level = 0;
};

/// Iterations ahead, 0: none, for a loop with a sparse driver that binds these levels. Dense inputs are fetched by the
/// bytes they are gathered from. Compressed rows are fetched in any case, since how many bytes they have in all is not
/// in the program: in the caches it costs nothing, beyond them it halves the time of a sparse product.
std::uint32_t prefetch_distance(const Nest& nest, const Network& network, const std::vector<LocatedLevel>& bound, bool root);

}  // namespace weft
