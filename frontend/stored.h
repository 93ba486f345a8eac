// The stored entries of a tensor, one by one, where they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frontend/slice.h"
#include "weft/entries.h"

namespace weft {

/// Those of a tensor in a layout as text files have them: by coordinates of modes, without zeros. Errors: resource naming `name`,
/// cancelled.
Expected<Tensor> plain_entries(const Tensor& tensor, const Resources& resources, std::string_view name);

/// Visits the stored entries that are selected, until `visit` returns false, in the order of the storage, and skips what
/// lies outside by binary search; of one in a layout the plain entries, which are made for it.
/// `tensor` is not strided. Error: cancelled; resource, of the copy.
Expected<void> visit_entries(const Tensor& tensor, const std::vector<Selected>& selected, const Cancellation& cancellation,
                             const VisitEntry& visit);

/// The entry at a position of the last level, counted as the storage does. Not with hashed or bitmap levels, nor in a layout.
struct StoredEntry {
  std::vector<std::uint64_t> coordinates;
  double value = 0;
  bool operator==(const StoredEntry&) const = default;
};
StoredEntry entry_at(const Tensor& tensor, std::uint64_t position);

/// The selected entries as a tensor of their own, all levels compressed, in the order in which they are stored (that of the modes
/// where one is selected backwards), without the modes that the selection drops. Errors: input, of a tensor that is none; resource
/// naming `name`; cancelled.
Expected<Tensor> sliced(const Tensor& tensor, const std::vector<Selected>& selected, const Resources& resources,
                        std::string_view name);

}  // namespace weft
