// Matrices that were verified: remembered as long as their arrays live, so that the same one again costs a comparison.
#pragma once

#include <memory>

#include "python/_weft/compressed.h"
#include "python/_weft/handles.h"
#include "python/_weft/matrix_tensor.h"
#include "python/_weft/sorted_copy.h"

namespace weft_python {

/// A matrix as a tensor. Known by its arrays and its shape together: scipy's methods keep one array and replace
/// another, or write into it.
struct KnownMatrix {
  CompressedView view;
  Ref pos, crd, values;  ///< weak references, watched; a dia has no pos
  TensorHandle tensor;   ///< borrows the arrays, or those of the sorted copy
  std::unique_ptr<const SortedCopy> sorted;
  std::shared_ptr<const DiagonalLevel> diagonals;  ///< of a dia; shared by those with its pattern
  Array<std::byte> gathered;                       ///< values that the sorted copy's tensor had first

  KnownMatrix() = default;
  ~KnownMatrix();
  KnownMatrix(const KnownMatrix&) = delete;
  KnownMatrix& operator=(const KnownMatrix&) = delete;
  /// Whether these are the same arrays, alive, and laid out as they were.
  bool is(const weft_engine* engine, const CompressedView& other, const CompressedArrays& arrays) const;
  /// Whether these are the same indices, and only the values are in another array.
  bool has_pattern_of(const CompressedView& other, const CompressedArrays& arrays) const;
};

/// The matrix: known, or checked now. NULL with an error set. `anew`: what is known of its indices does not count.
std::shared_ptr<const KnownMatrix> known_matrix(const weft_engine* engine, const char* name, const CompressedView& view,
                                                const CompressedArrays& arrays, bool anew);
/// In the child of a fork: none is known any more; what is known in the parent is not freed.
void forget_matrices();

}  // namespace weft_python
