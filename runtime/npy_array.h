// Arrays in NumPy's format, read from any bytes that come in order: files, pipes, members of archives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/file_formats.h"
#include "runtime/npy_header.h"

namespace weft {

/// Writes the next bytes to `to` and says how many: `bytes`, fewer only at the end. Errors name file and reason.
using NextBytes = std::function<Expected<std::size_t>(char* to, std::size_t bytes)>;

/// An array whose header has been read; its elements are the next bytes.
struct NpyArray {
  NpyHeader header;
  std::uint64_t count = 0;     ///< of elements
  std::uint64_t preamble = 0;  ///< bytes before them
};

/// Errors as of parse_npy_header, with the file's name.
Expected<NpyArray> read_npy_preamble(const NextBytes& next, NpyText text, const FileRequest& request);

/// The array as a dense tensor of the requested scalar, laid out as it is stored, checked against the requested shape
/// and format. `plain`, if not null: the file whose bytes these are, which is read by several threads at once.
Expected<Tensor> read_dense(const NpyArray& array, const NextBytes& next, const InputFile* plain,
                            const FileRequest& request);

/// The next values.size() elements as numbers of T (double, float). Input errors: an element that overflows T, an
/// integer that T cannot hold, too few elements.
template <class T>
Expected<void> read_elements(const NpyArray& array, const NextBytes& next, std::span<T> values,
                             const FileRequest& request);

/// Hands the next `count` elements, integers, to `take` in pieces, in order; the last argument is the number of the
/// piece's first element. Input errors: another type, a negative number, too few elements; what `take` returns.
using TakeIntegers = std::function<Expected<void>(std::span<const std::uint64_t> piece, std::uint64_t first)>;
Expected<void> read_integers(const NpyArray& array, const NextBytes& next, std::uint64_t count,
                             const TakeIntegers& take, const FileRequest& request);

}  // namespace weft
