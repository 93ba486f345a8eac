#include "runtime/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace weft {

namespace {

std::unexpected<Error> system_failure(const std::string& path, int code) {
  return input_error("cannot read " + path + ": " + std::generic_category().message(code));
}

// One system call moves at most 2 GiB on Linux; smaller steps keep cancellation of the caller responsive.
constexpr std::size_t largest_read = std::size_t{1} << 26;

}  // namespace

Expected<InputFile> InputFile::open(const std::string& path) {
  InputFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor_ < 0) return system_failure(path, errno);
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) return system_failure(path, errno);
  if (S_ISDIR(status.st_mode)) return system_failure(path, EISDIR);
  file.regular_ = S_ISREG(status.st_mode);
  file.size_ = file.regular_ ? static_cast<std::uint64_t>(status.st_size) : 0;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      regular_(other.regular_),
      size_(other.size_),
      consumed_(other.consumed_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(regular_, other.regular_);
  std::swap(size_, other.size_);
  std::swap(consumed_, other.consumed_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<std::size_t> InputFile::read(char* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(descriptor_, to + done, std::min(bytes - done, largest_read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  consumed_ += done;
  return done;
}

Expected<std::size_t> InputFile::read_at(char* to, std::size_t bytes, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor_, to + done, std::min(bytes - done, largest_read), static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace weft
