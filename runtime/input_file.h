// InputFile: an open file descriptor whose errors name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/error.h"

namespace weft {

/// A file opened for reading. Move only; closed on destruction. `read` belongs to one thread at a time, `read_at` to
/// any.
class InputFile {
 public:
  /// Input error if the file is missing, unreadable or a directory.
  static Expected<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }          ///< bytes; 0 for pipes
  std::uint64_t consumed() const { return consumed_; }  ///< bytes that `read` has returned so far
  bool regular() const { return regular_; }
  /// Up to `bytes` bytes; fewer only at the end of the file.
  Expected<std::size_t> read(char* to, std::size_t bytes);
  /// Up to `bytes` bytes from `offset` on; fewer only at the end of the file.
  Expected<std::size_t> read_at(char* to, std::size_t bytes, std::uint64_t offset) const;

 private:
  InputFile() = default;
  std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t consumed_ = 0;
};

}  // namespace weft
