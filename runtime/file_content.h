// What the bytes at the begin of a file say of its format: banners and magic numbers.
#pragma once

#include <string>
#include <string_view>

#include "runtime/file_name.h"

namespace weft {

/// `text`: none of the others, and no byte that no text has.
enum class Content {
  empty,
  text,
  binary,
  matrix_market,
  npy,
  zip,
  gzip,
  zstandard,
  hdf5,
  matlab,
  parquet,
  arrow,
  bzip2,
  xz,
  csv  ///< not read; csv: by name alone
};

/// As many bytes as deciding takes.
constexpr std::size_t content_bytes = 512;
Content content_of(std::string_view begin);

/// "NumPy array", "zip archive": what a file that begins so seems to be.
std::string_view description(Content content);

/// The format that such content is read as; nothing for what weft does not read.
std::optional<FileKind> kind_of(Content content);

/// What the extension says of a file that weft does not read: hdf5 for "x.h5"; `text` for all others.
Content foreign_by_name(std::string_view path);

/// Why a file of that content is not read, and the line of a shell that converts it: "HDF5 is not read; convert a data
/// set with python3 -c ... x.h5 x.npy". Nothing for what weft reads.
std::optional<std::string> conversion(Content content, const std::string& path);

}  // namespace weft
