// InputFile: an open file descriptor whose errors name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

/// A file, a pipe or standard input opened for reading. Move only; closed on destruction. `read` and `peek` belong to
/// one thread at a time, `read_at`, of regular files, to any. Pipes may be opened before they are written to; waiting for
/// bytes ends, with an error of kind cancelled, once that is asked for.
class InputFile {
 public:
  /// "-" is standard input. Input error if the file is missing, unreadable or a directory, or standard input a
  /// terminal.
  static Expected<InputFile> open(const std::string& path, const Cancellation& cancellation);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }     ///< for messages: standard input has a name, too
  std::uint64_t size() const { return size_; }          ///< bytes; 0 for pipes
  std::uint64_t consumed() const { return consumed_; }  ///< bytes that `read` has returned so far
  /// Whether the bytes can be read at any offset: of files, also where they are standard input from their begin on.
  bool regular() const { return regular_; }
  /// The first bytes, which `read` will return all the same: `bytes` of them, fewer only at the end of the file. Before
  /// the first `read`; valid until then.
  Expected<std::string_view> peek(std::size_t bytes);
  /// Up to `bytes` bytes; fewer only at the end of the file.
  Expected<std::size_t> read(char* to, std::size_t bytes);
  /// Up to `bytes` bytes from `offset` on; fewer only at the end of the file.
  Expected<std::size_t> read_at(char* to, std::size_t bytes, std::uint64_t offset) const;

 private:
  InputFile() = default;
  Expected<std::size_t> read_on(char* to, std::size_t bytes);
  Expected<void> wait() const;
  std::string path_;
  std::string ahead_;  ///< read by `peek`, not yet returned by `read`
  int descriptor_ = -1;
  bool regular_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t consumed_ = 0;
  Cancellation cancellation_;
};

}  // namespace weft
