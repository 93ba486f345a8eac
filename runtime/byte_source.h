// ByteSource: the bytes of a file, decompressed on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/input_file.h"
#include "weft/memory.h"

namespace weft {

enum class Compression { none, gzip, zstandard };

/// What inflate holds: a window of 32 KiB and its tables (zlib's own figure for windowBits = 15).
constexpr std::uint64_t inflate_bytes = 48 * 1024;

/// The decompressed bytes of a file, in order. Files of several gzip members or zstd frames are read to the last.
/// Belongs to one thread at a time (which may change between calls).
class ByteSource {
 public:
  static Expected<ByteSource> open(InputFile file, Compression compression, const Memory& memory);
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Writes up to `bytes` bytes to `to` and their number to `filled`, fewer only at the end or before an error. The
  /// count is valid in both cases, so that the position of a damaged spot can be told. The reason of damage comes
  /// without the path.
  struct Piece {
    std::size_t filled = 0;
    bool at_end = false;
    std::string damage;  ///< not empty: the compressed data are unusable from here on
  };
  Expected<Piece> read(char* to, std::size_t bytes);
  /// The first bytes, which `read` will return all the same: `bytes` of them, fewer at the end or before damage, which
  /// `read` tells. Before the first `read`; valid until then.
  Expected<std::string_view> peek(std::size_t bytes);

  const std::string& path() const { return file_.path(); }
  /// The file, if its bytes are these, and can be read at any offset; else null.
  const InputFile* plain_file() const;
  /// Share of the file's bytes consumed, 0 … 1; 0 for pipes.
  double fraction() const;

 private:
  struct Gzip;
  struct Zstandard;
  ByteSource(InputFile file, const Memory& memory);
  Expected<Piece> decode(char* to, std::size_t bytes);
  Expected<Piece> read_plain(char* to, std::size_t bytes);
  Expected<Piece> read_gzip(char* to, std::size_t bytes);
  Expected<Piece> read_zstandard(char* to, std::size_t bytes);
  Expected<bool> refill();  ///< false at the end of the file

  InputFile file_;
  Memory memory_;
  Buffer input_;  ///< compressed bytes not yet decoded are [input_begin_, input_end_)
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  std::string ahead_;      ///< decoded by `peek`, not yet returned by `read`
  Piece behind_ahead_;     ///< how that piece ended
  std::variant<std::monostate, std::unique_ptr<Gzip>, std::unique_ptr<Zstandard>> decoder_;
};

}  // namespace weft
