// Tensor files: FROSTT .tns, Matrix Market .mtx, NumPy .npy; .gz and .zst around the text formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft {

struct ReadOptions {
  std::optional<std::vector<std::uint64_t>> shape;  ///< explicit extents; required for a text tensor with no entries
  std::optional<Format> format;  ///< requested layout; default: .npy dense as stored, .mtx array dense, others sparse
  Scalar scalar = Scalar::f64;   ///< used when no format is given
};

/// Where reading spent its time, milliseconds of wall clock.
struct ReadTimes {
  double decompress = 0;  ///< fetching and decompressing bytes; with several threads others parse at that time
  double parse = 0;       ///< from opening the file to all coordinates in memory, `decompress` included
  double build = 0;
  std::uint64_t text_bytes = 0;  ///< after decompression
};

/// Reads a tensor; the extension says the format. Errors: input, with file, line and reason; unsupported for complex
/// and hermitian data. `name` is the operand's name in messages. Parallel; memory is charged while reading.
Expected<Tensor> read_tensor(const std::string& path, const ReadOptions& options, const Resources& resources,
                             std::string_view name, ReadTimes* times = nullptr);

/// Writes to a temporary name in the same directory and renames; on error or cancellation nothing is left under the
/// final name and the temporary is removed. `.tns` and `.mtx`: stored entries sorted by coordinate in mode order (zeros
/// left out when the last level is dense), 17 significant digits (9 for f32); order-0 `.tns`: one line. Extents that
/// the entries of a `.tns` do not show stand in a first line "# shape: 3 4 5", which read_tensor understands and others
/// skip.
/// `.mtx`: a vector becomes a matrix of one column. `.npy`: dense, C order, made dense in memory if it is not.
/// Errors: input for paths that cannot be written, resource for a full disk.
Expected<void> write_tensor(const Tensor& tensor, const std::string& path, const Resources& resources,
                            std::string_view name);

/// Input error listing the known extensions if write_tensor would not know that of `path`.
Expected<void> writable_format(const std::string& path);

/// A generated operand: "uniform(2000x32,seed=1)", "ones(3x4)", "sparse(20x30,nnz=100,seed=1)". `is_generator` tells
/// whether the text has that form at all.
bool is_generator(std::string_view text);
Expected<Tensor> generate_tensor(std::string_view text, const std::optional<Format>& format, const Resources& resources,
                                 std::string_view name);

}  // namespace weft
