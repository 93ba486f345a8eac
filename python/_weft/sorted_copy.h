// Matrices of the host whose indices are not sorted, or are there twice, as matrices whose indices are; a coo as a csr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "python/_weft/compressed.h"
#include "python/_weft/parts.h"

namespace weft_python {

/// The indices sorted, each once, and where the value or block of each is in the source. Holds no values: they are read
/// where they lie if they lie in order already, else gathered anew before each run, so that changes are seen. Immutable.
class SortedCopy {
 public:
  /// Of a matrix that was checked. Fibers are sorted, and values gathered, on the threads of the engine.
  SortedCopy(const weft_engine* engine, const CompressedView& source);
  /// Whether the indices are still those that were sorted.
  bool still_of(const weft_engine* engine, const CompressedView& source) const;
  /// Values or blocks of the source by entry, duplicates summed: those of the source, or gathered into `room`.
  const void* values(const weft_engine* engine, const CompressedView& source, Array<std::byte>& room) const;
  /// Whether values() has no need of room.
  bool in_order() const { return narrow_.from.empty() && wide_.from.empty(); }
  /// With these values.
  CompressedView view(const void* values) const;

 private:
  template <class Place>
  struct Places {
    Array<Place> from;         ///< places in the source, entry after entry; empty where each is its own
    std::vector<Place> first;  ///< of `from`, by entry, and their end; empty where no entry is there twice
  };
  template <class Index, class Place>
  void sort(const weft_engine* engine, const CompressedView& source, Places<Place>& places);
  template <class Index, class Place>
  void join_equal(Index* coordinates, std::vector<Index>& starts, Places<Place>& places);
  template <class Value, class Place>
  void gather_as(const weft_engine* engine, const CompressedView& source, const Places<Place>& places, std::byte* to) const;

  CompressedView shape_;
  Array<std::byte> source_pos_, source_crd_;  ///< as they were
  Array<std::byte> pos_, crd_;                ///< sorted, of the same width; crd_ empty where they stand in order
  std::uint64_t entries_ = 0;
  Places<std::uint32_t> narrow_;  ///< of up to 2^32 entries
  Places<std::uint64_t> wide_;    ///< of more
};

}  // namespace weft_python
