// Compressed matrices of the host: scipy's csr and csc, of 32 or 64 bit indices.
#pragma once

#include <cstdint>

#include "python/_weft/python.h"
#include "weft.h"

namespace weft_python {

/// Three arrays and a shape where they lie. Rows are those of a csr; of a csc its columns.
struct CompressedView {
  const void* pos = nullptr;
  const void* crd = nullptr;
  const void* values = nullptr;
  std::uint64_t rows = 0, columns = 0;  ///< of the matrix
  std::uint64_t nnz = 0;                ///< the last of pos
  std::uint64_t crd_count = 0, value_count = 0;
  std::uint32_t index_bits = 0;
  std::int32_t scalar = 0;
  bool by_columns = false;

  std::uint64_t fibers() const { return by_columns ? columns : rows; }
  std::uint64_t width() const { return by_columns ? rows : columns; }
  bool operator==(const CompressedView&) const = default;
};

/// The arrays of a matrix, held while it is read and run over.
struct CompressedArrays {
  Ref pos, crd, values;
};

enum class CompressedRead {
  done,
  other,   ///< to be converted first: another type of values or of indices, strided arrays
  failed,  ///< with Python's error set
};

/// Reads the attributes data, indices, indptr and shape. `name` is that of the operand.
CompressedRead read_compressed(PyObject* matrix, bool by_columns, const char* name, CompressedView& view,
                               CompressedArrays& arrays);

enum class Order { canonical, unsorted, failed };

/// Looks at every index: whether each fiber's are sorted and none twice; an exception names the defect where they
/// cannot be indices of this matrix. Without the GIL where there are many.
Order check_compressed(const CompressedView& view, const char* name);

}  // namespace weft_python
