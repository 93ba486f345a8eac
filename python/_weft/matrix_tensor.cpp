#include "python/_weft/matrix_tensor.h"

#include <array>
#include <string>

namespace weft_python {
namespace {

const char* scalar_text(const CompressedView& matrix) { return matrix.scalar == WEFT_F64 ? ":f64" : ":f32"; }

/// bcsr(3,3) is (i/3:d, j/3:s, i%3:d, j%3:d): indices and indptr at the second level, blocks as values.
std::int32_t blocks(const weft_engine* engine, const CompressedView& matrix, std::uint32_t flags, weft_tensor** made,
                    weft_error** error) {
  const std::string layout = "bcsr(" + std::to_string(matrix.block_rows) + "," + std::to_string(matrix.block_columns) +
                             ")" + scalar_text(matrix);
  const std::array<std::uint64_t, 2> extents{matrix.rows, matrix.columns};
  const std::array<const void*, 4> pos{nullptr, matrix.pos}, crd{nullptr, matrix.crd};
  const std::array<std::uint64_t, 4> pos_counts{0, matrix.fibers() + 1}, crd_counts{0, matrix.nnz};
  return weft_tensor_levels(engine, layout.c_str(), extents.data(), matrix.index_bits, pos.data(), pos_counts.data(),
                            crd.data(), crd_counts.data(), matrix.values, matrix.stored(), flags, made, error);
}

/// Data of 7 columns of 9 has none for the others: j:d(..7). Values outside of the matrix are not read.
std::int32_t diagonal_rows(const weft_engine* engine, const CompressedView& matrix, const DiagonalLevel& diagonals,
                           std::uint32_t flags, weft_tensor** made, weft_error** error) {
  const bool narrow = matrix.block_columns < matrix.columns;
  const std::string range = narrow ? "(.." + std::to_string(matrix.block_columns) + ")" : "";
  const std::string layout = "(i,j) -> (j-i:s unordered, j:d" + range + ")" + scalar_text(matrix);
  const std::array<std::uint64_t, 2> extents{matrix.rows, matrix.columns};
  const std::array<const void*, 2> pos{diagonals.pos()}, crd{diagonals.crd()};
  const std::array<std::uint64_t, 2> pos_counts{2}, crd_counts{matrix.nnz};
  return weft_tensor_levels(engine, layout.c_str(), extents.data(), 64, pos.data(), pos_counts.data(), crd.data(),
                            crd_counts.data(), matrix.values, matrix.stored(), flags, made, error);
}

}  // namespace

DiagonalLevel::DiagonalLevel(const CompressedView& matrix) : pos_{0, matrix.nnz} {
  for (std::uint64_t number = 0; number < matrix.nnz; ++number) crd_.push_back(diagonal_at(matrix, number));
}

bool DiagonalLevel::still_of(const CompressedView& matrix) const {
  if (matrix.nnz != crd_.size()) return false;
  for (std::uint64_t number = 0; number < matrix.nnz; ++number) {
    if (diagonal_at(matrix, number) != crd_[number]) return false;
  }
  return true;
}

std::int32_t matrix_tensor(const weft_engine* engine, const CompressedView& matrix, const DiagonalLevel* diagonals,
                           std::uint32_t flags, weft_tensor** made, weft_error** error) {
  if (diagonals) return diagonal_rows(engine, matrix, *diagonals, flags, made, error);
  if (matrix.block_size() > 1) return blocks(engine, matrix, flags, made, error);
  const auto make = matrix.arrangement == Arrangement::columns ? weft_tensor_csc : weft_tensor_csr;
  return make(engine, matrix.scalar, matrix.rows, matrix.columns, matrix.nnz, matrix.index_bits, matrix.pos, matrix.crd,
              matrix.values, flags, made, error);
}

}  // namespace weft_python
