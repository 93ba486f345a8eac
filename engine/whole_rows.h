// Matrices computed over parts of their modes, in rows of whole modes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/network/exposure.h"
#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft {

/// A sparse matrix whose levels hold these parts of its modes, such as (i/3:d, i%3:d, j/3:s, j%3:s), in {dense, compressed}
/// levels of whole modes: its entries stand in their order already, so that positions are cut, coordinates put together and
/// values shared, where convert() lists, maps, compares and assembles (B·B in 3x3 blocks of bcsstk16: 70 to 5 ns an entry).
/// Nothing where it is stored otherwise, another format is wanted, or an entry lies beyond the extents. Errors: memory, cancellation.
Expected<std::optional<Tensor>> in_whole_rows(const Tensor& computed, const std::vector<ModePart>& parts,
                                              const std::vector<std::uint64_t>& extents, const Format& wanted, const Resources& resources,
                                              const std::string& name);

}  // namespace weft
