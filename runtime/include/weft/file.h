// Tensor files: FROSTT .tns, Matrix Market .mtx, NumPy .npy and .npz; .gz and .zst around all of them.
//
// A name is a path, "-" (standard input, or output), or either behind the word of a format: "mtx:PATH", "npy:-". The
// member of an archive stands behind it: "x.npz:weights". Where the extension says no format, the content does.
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

/// What a file says of its tensor that the tensor does not keep.
struct FileFacts {
  bool extents_inferred = false;  ///< of a .tns without a shape: the largest coordinates, which others may exceed
  std::string symmetry;           ///< "symmetric" or "skew-symmetric": of a Matrix Market file; the tensor is whole
};

/// Reads a tensor, from pipes as from files. Extension, word in front, or else content say the format (a text that is
/// none of the others is .tns). Errors: input, with file, line and reason, also for content that contradicts the
/// format, and for formats that are not read, with the line that converts them; unsupported for complex and hermitian
/// data. An integer of an integer source that the scalar cannot hold is an input error. `name` is the operand's name in
/// messages. Parallel; memory is charged while reading.
///
/// .npz: of scipy.sparse.save_npz in csr, csc, bsr or coo, n-dimensional too (sparse; duplicates are summed), or of
/// numpy.savez (dense): the member named, or the only one. What cannot be read at any offset (a pipe, compressed data)
/// is held in memory while it is read.
Expected<Tensor> read_tensor(const std::string& path, const ReadOptions& options, const Resources& resources,
                             std::string_view name, ReadTimes* times = nullptr, FileFacts* facts = nullptr);

/// Writes to a temporary name in the same directory and renames; on error or cancellation nothing is left under the
/// final name and the temporary is removed. `.tns` and `.mtx`: stored entries sorted by coordinate in mode order (zeros
/// left out when the last level is dense), 17 significant digits (9 for f32); order-0 `.tns`: one line. Extents that
/// the entries of a `.tns` do not show stand in a first line "# shape: 3 4 5", which read_tensor understands and others
/// skip.
/// `.mtx`: a vector becomes a matrix of one column. `.npy`: dense, C order, made dense in memory if it is not.
/// `.npz`: of a matrix that is not all dense what scipy.sparse.load_npz reads as csr_array, or csc_array where mode 1
/// is stored first; of other orders as coo_array of that many dimensions, coordinates in C order of the modes. Of a
/// dense tensor what numpy.load reads, one member named `name` (arr_0 where that is no name).
/// "-": to standard output, .tns unless a word in front says otherwise; nothing is renamed.
/// Errors: input for paths that cannot be written, resource for a full disk.
Expected<void> write_tensor(const Tensor& tensor, const std::string& path, const Resources& resources,
                            std::string_view name);

/// Input error listing the known extensions if write_tensor would not know that of `path`, or if it would write bytes
/// that are no text to a terminal.
Expected<void> writable_format(const std::string& path);

/// Whether write_tensor writes to standard output: "-", "mtx:-" and their like.
bool writes_standard_output(const std::string& path);

/// A generated operand: "uniform(2000x32,seed=1)", "ones(3x4)", "sparse(20x30,nnz=100,seed=1)". `is_generator` tells
/// whether the text has that form at all.
bool is_generator(std::string_view text);
Expected<Tensor> generate_tensor(std::string_view text, const std::optional<Format>& format, const Resources& resources,
                                 std::string_view name);

}  // namespace weft
