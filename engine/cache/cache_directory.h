// CacheDirectory: an open directory that is ours alone, and the cache's files in it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

constexpr std::string_view temporary_prefix = "writing-";

/// A file descriptor, closed on destruction. Move only.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// What the operating system said.
struct SystemError {
  int code = 0;        ///< errno; 0 where weft itself refuses
  std::string reason;
};

struct CacheFile {
  std::string name;
  std::uint64_t bytes = 0;
  double last_used = 0;    ///< seconds since 1970
  double seconds_old = 0;  ///< since last use
  bool temporary = false;
};

/// Files are reached through the descriptor, so replacing the directory's path afterwards changes nothing.
class CacheDirectory {
 public:
  /// Error if absent, not a directory, owned by another user, or writable by group or others.
  static std::expected<CacheDirectory, SystemError> open(const std::string& path);
  int descriptor() const { return descriptor_.number(); }
  /// Entries and temporaries of the cache, in no order; foreign files are not listed.
  std::vector<CacheFile> files() const;
  bool remove(const std::string& name) const;
  /// Infinity if there is no such file.
  double seconds_since_change(std::string_view name) const;

 private:
  explicit CacheDirectory(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

/// Makes the directory and its missing parents, mode 0700. Done already: fine.
std::expected<void, SystemError> make_directories(const std::string& path);

}  // namespace weft
