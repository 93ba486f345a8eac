// Matrices of the host as tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "python/_weft/compressed.h"

namespace weft_python {

/// The level j-i of a dia, (j-i:s unordered, j:d): offsets counted from that of the last row's first element, which is
/// 1 - rows. Immutable.
class DiagonalLevel {
 public:
  explicit DiagonalLevel(const CompressedView& matrix);
  /// Whether the offsets are still those that were read.
  bool still_of(const CompressedView& matrix) const;
  const std::uint64_t* pos() const { return pos_.data(); }
  const std::uint64_t* crd() const { return crd_.data(); }

 private:
  std::vector<std::uint64_t> pos_, crd_;
};

/// Of a matrix that was checked; `diagonals` of a dia alone. Where flags ask for borrowing, all arrays are borrowed.
std::int32_t matrix_tensor(const weft_engine* engine, const CompressedView& matrix, const DiagonalLevel* diagonals,
                           std::uint32_t flags, weft_tensor** made, weft_error** error);

}  // namespace weft_python
