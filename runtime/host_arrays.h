// What can be told of arrays of the host without reading them.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/host.h"

namespace weft {

/// What makes an address none of an array; sizes are left to verify(), which names the position. "": nothing.
std::string_view wrong_address(const void* data, std::uint64_t bytes, unsigned element_bytes);

/// Input error for indices of another width (32 or 64 bits, or `narrow` ones), of signed integers too narrow for the extent, or at no
/// address of an array.
Expected<void> check_indices(const HostIndices& indices, std::uint64_t extent, std::size_t level, std::string_view array,
                             unsigned narrow = 0);

}  // namespace weft
