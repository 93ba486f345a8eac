// OutputFile: a file that gets its name only when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/byte_source.h"
#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

/// The path that a file written to `path` has in the end: behind symbolic links, the last of which may lead to no file yet.
std::string written_path(std::string path);

/// Bytes written to a temporary name in the directory of written_path(path). Unless finish() succeeds, destruction removes
/// the temporary and leaves what `path` held before untouched. A file that is replaced leaves its mode, owner and group to
/// the new one. A pipe, a device and standard output are written in place. A full disk is a resource error, but behind standard
/// output an input error, as of all that is printed there. Belongs to one thread at a time.
class OutputFile {
 public:
  /// "-" is standard output. What is written stands there as it is.
  static Expected<OutputFile> create(const std::string& path);
  /// zstandard: what is written is compressed, as one frame; what that takes is charged. gzip: the caller writes finished
  /// gzip members (gzip_member), which several threads can make at the same time.
  static Expected<OutputFile> create(const std::string& path, Compression compression, const Memory& memory);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  const std::string& path() const;  ///< for messages: standard output has a name, too
  Expected<void> write(std::string_view bytes);
  /// Renames the temporary to `path`, which is replaced if it exists.
  Expected<void> finish();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What deflate holds: (1 << 17) + (1 << 17) for windowBits = 15 and memLevel = 8, in zlib's own words, and small change.
constexpr std::uint64_t deflate_bytes = 270 * 1024;

/// What zstd's encoder holds at its usual level, with a window of 2 MB, and a block of its output.
constexpr std::uint64_t zstandard_bytes = 3800 * 1024;

/// Writes the bytes, as one gzip member where the file is of such.
Expected<void> write_member(OutputFile& file, Compression compression, std::string_view bytes);

/// The text as one gzip member. Resource error if there is no memory.
Expected<std::string> gzip_member(std::string_view text);

}  // namespace weft
