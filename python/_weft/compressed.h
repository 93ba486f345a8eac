// Sparse matrices of the host: scipy's csr, csc and bsr, of 32 or 64 bit indices, its dia, a compressed list of diagonals,
// and its coo, rows and columns of entries in any order.
#pragma once

#include <cstdint>

#include "python/_weft/python.h"
#include "weft.h"

namespace weft_python {

/// Fibers: rows of a csr, columns of a csc, rows of blocks of a bsr; of a dia one, of diagonals; of a coo rows, once sorted.
enum class Arrangement : std::uint8_t { rows, columns, blocks, diagonals, entries };

/// Arrays and a shape where they lie. Each coordinate has one value, a block of them, or a row of the data of a dia.
struct CompressedView {
  const void* pos = nullptr;  ///< none of a dia; of a coo the row of each entry
  const void* crd = nullptr;  ///< of a dia offsets, -2 for that of the elements (i, i-2)
  const void* values = nullptr;
  std::uint64_t rows = 0, columns = 0;  ///< of the matrix
  std::uint64_t nnz = 0;                ///< coordinates: the last of pos; diagonals; entries
  std::uint64_t crd_count = 0, value_count = 0;
  std::uint32_t index_bits = 0;
  std::int32_t scalar = 0;
  Arrangement arrangement = Arrangement::rows;
  std::uint64_t block_rows = 1, block_columns = 1;  ///< of a coordinate's values; of a dia 1 and the width of its data

  std::uint64_t fibers() const;
  /// Elements of pos.
  std::uint64_t pos_count() const { return arrangement == Arrangement::entries ? nnz : fibers() + 1; }
  /// Coordinates are below; those of diagonals are counted from the offset 1 - rows.
  std::uint64_t width() const;
  std::uint64_t value_bytes() const { return scalar == WEFT_F64 ? 8 : 4; }
  std::uint64_t block_size() const { return block_rows * block_columns; }
  std::uint64_t stored() const { return nnz * block_size(); }
  bool operator==(const CompressedView&) const = default;
};

/// The number-th diagonal of a dia, counted from the lowest: 0 is that of the last row's first element.
std::uint64_t diagonal_at(const CompressedView& view, std::uint64_t number);

/// The arrays of a matrix, held while it is read and run over; those of a dia are two.
struct CompressedArrays {
  Ref pos, crd, values;
};

enum class CompressedRead {
  done,
  other,   ///< to be converted first: another type of values or of indices, strided arrays, diagonals outside
  failed,  ///< with Python's error set
};

/// Reads the attributes data, indices, indptr and shape; of a dia data, offsets and shape, of a coo data, row, col and
/// shape. `name` is that of the operand.
CompressedRead read_compressed(PyObject* matrix, Arrangement arrangement, const char* name, CompressedView& view,
                               CompressedArrays& arrays);

enum class Order { canonical, unsorted, failed };

/// Looks at every index: whether each fiber's are sorted and none twice, which a coo's never count as; an exception names
/// the defect where they cannot be indices of this matrix. Without the GIL where there are many.
Order check_compressed(const CompressedView& view, const char* name);

}  // namespace weft_python
