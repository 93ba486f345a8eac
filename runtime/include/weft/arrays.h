// Tensors copied from arrays of the host, sorted or not, and tensors taken apart into arrays.
//
// Nothing here keeps the host's arrays: they may go when the call returns. `resources` lends threads, memory account
// and cancellation. Any thread. Indices are 32 or 64 bits wide, signed or not.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/host.h"

namespace weft {

/// Entries in any order, one array of coordinates per mode; duplicates are summed, in their order. Stored as `format`
/// says: its mode order, kinds and minimal widths, and its scalar type; without one: all levels compressed, scalar type
/// of the values. Order 0: the sum of all values. Errors: input, of code sizes where arrays have other sizes than there
/// are values or modes, and of code out_of_range naming mode, coordinate and entry; resource.
Expected<Tensor> from_coo(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, HostValues values,
                          const Resources& resources);
Expected<Tensor> from_coo(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, HostValues values,
                          Format format, const Resources& resources);

/// Compressed rows (columns), those of one row in any order, duplicates summed: "ds" ("ds:1,0"). `pos` has rows + 1
/// elements from 0 to the number of entries. Errors as of from_levels().
Expected<Tensor> from_csr(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd,
                          HostValues values, const Resources& resources);
Expected<Tensor> from_csc(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd,
                          HostValues values, const Resources& resources);

/// The arrays of levels as borrow() takes them, fibers in any order and duplicates summed: CSF and all that dense,
/// compressed and singleton levels say. The tensor has that format too. Errors: input, of code sizes naming level and
/// array where one is too short, too long, or does not ascend, out_of_range naming level and position; of hashed and
/// bitmap levels, whose layout is weft's own; resource.
Expected<Tensor> from_levels(Format format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                             HostValues values, const Resources& resources);

/// Dense memory, copied; strides and offset as of borrow_dense(). Row-major. Errors as there, and of memory that is too
/// short.
Expected<Tensor> from_dense(std::vector<std::uint64_t> extents, HostValues values, const Resources& resources,
                            const std::vector<std::int64_t>& strides = {}, std::uint64_t offset = 0);

/// Entries by mode 0, then 1, …; values of f32 tensors are widened. Where the last levels are dense, only nonzeros.
struct CooArrays {
  std::vector<std::vector<std::uint64_t>> crd;  ///< by mode
  std::vector<double> values;
};
Expected<CooArrays> to_coo(const Tensor& tensor, const Resources& resources);

/// A matrix by rows (columns), entries of each sorted. Input error of code order for tensors that are none.
struct CompressedArrays {
  std::vector<std::uint64_t> pos;  ///< rows (columns) + 1
  std::vector<std::uint64_t> crd;
  std::vector<double> values;
};
Expected<CompressedArrays> to_csr(const Tensor& tensor, const Resources& resources);
Expected<CompressedArrays> to_csc(const Tensor& tensor, const Resources& resources);

/// All levels compressed, in the mode order given (none: 0, 1, …): pos and crd by level. Input error of code order for
/// an order that does not list every mode once.
struct CsfArrays {
  std::vector<std::vector<std::uint64_t>> pos, crd;
  std::vector<double> values;
};
Expected<CsfArrays> to_csf(const Tensor& tensor, const Resources& resources,
                           std::vector<std::uint32_t> mode_order = {});

}  // namespace weft
