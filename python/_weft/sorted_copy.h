// Matrices of the host whose indices are not sorted, or are there twice, as matrices whose indices are; a coo as a csr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "python/_weft/compressed.h"

namespace weft_python {

/// The indices sorted, each once, and where the value or block of each is in the source. Holds no values: they are read
/// where they lie if they lie in order already, else gathered anew before each run, so that changes are seen. Immutable.
class SortedCopy {
 public:
  /// Of a matrix that was checked.
  explicit SortedCopy(const CompressedView& source);
  /// Whether the indices are still those that were sorted.
  bool still_of(const CompressedView& source) const;
  /// Values or blocks of the source by entry, duplicates summed: those of the source, or gathered into `room`.
  const void* values(const CompressedView& source, std::vector<std::byte>& room) const;
  /// Whether values() has no need of room.
  bool in_order() const { return from_.empty(); }
  /// With these values.
  CompressedView view(const void* values) const;

 private:
  template <class Index>
  void sort(const CompressedView& source);
  template <class Value>
  void gather_as(const CompressedView& source, std::byte* to) const;

  CompressedView shape_;
  std::vector<std::byte> source_pos_, source_crd_;  ///< as they were
  std::vector<std::byte> pos_, crd_;                ///< sorted, of the same width; crd_ empty where from_ is
  std::uint64_t entries_ = 0;
  std::vector<std::uint64_t> from_;   ///< places in the source, entry after entry; empty where each is its own
  std::vector<std::uint64_t> first_;  ///< of from_, by entry, and their end
};

}  // namespace weft_python
