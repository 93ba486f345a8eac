#include "runtime/input_file.h"

#include <fcntl.h>
#include <poll.h>
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

// A pipe of the usual 64 KiB makes its two ends wait for each other; where no more is allowed it stays as it is.
constexpr int pipe_bytes = 1 << 20;
// One system call moves at most 2 GiB on Linux; smaller steps keep cancellation of the caller responsive.
constexpr std::size_t largest_read = std::size_t{1} << 26;
// How long a reader that waits does not look whether it is to end.
constexpr int milliseconds_asleep = 50;

}  // namespace

Expected<InputFile> InputFile::open(const std::string& path, const Cancellation& cancellation) {
  InputFile file;
  file.cancellation_ = cancellation;
  const bool standard = path == "-";
  file.path_ = standard ? "standard input" : path;
  file.descriptor_ = standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) return system_failure(file.path_, errno);
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) return system_failure(file.path_, errno);
  if (S_ISDIR(status.st_mode)) return system_failure(file.path_, EISDIR);
  if (standard && ::isatty(file.descriptor_) != 0) {
    return input_error("standard input is a terminal: give the name of a file for -, or send a tensor through a pipe, "
                       "such as zstdcat x.tns.zst | weft info -");
  }
  if (S_ISFIFO(status.st_mode)) (void)::fcntl(file.descriptor_, F_SETPIPE_SZ, pipe_bytes);
  // What another program has read of standard input is not there any more.
  file.regular_ = S_ISREG(status.st_mode) && (!standard || ::lseek(file.descriptor_, 0, SEEK_CUR) == 0);
  file.size_ = file.regular_ ? static_cast<std::uint64_t>(status.st_size) : 0;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      ahead_(std::move(other.ahead_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      regular_(other.regular_),
      size_(other.size_),
      consumed_(other.consumed_),
      cancellation_(other.cancellation_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(ahead_, other.ahead_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(regular_, other.regular_);
  std::swap(size_, other.size_);
  std::swap(consumed_, other.consumed_);
  std::swap(cancellation_, other.cancellation_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<std::string_view> InputFile::peek(std::size_t bytes) {
  std::string begin(bytes, '\0');
  Expected<std::size_t> got = read_on(begin.data(), bytes);
  if (!got) return std::unexpected(got.error());
  begin.resize(*got);
  ahead_ = std::move(begin);
  return std::string_view(ahead_);
}

Expected<std::size_t> InputFile::read(char* to, std::size_t bytes) {
  const std::size_t known = ahead_.copy(to, bytes);
  ahead_.erase(0, known);
  Expected<std::size_t> got = known < bytes ? read_on(to + known, bytes - known) : Expected<std::size_t>(0);
  if (!got) return got;
  consumed_ += known + *got;
  return known + *got;
}

// Of a pipe without a writer nothing is told before the first one has come, so that its end is no end of the file yet.
Expected<void> InputFile::wait() const {
  if (regular_) return {};
  for (;;) {
    if (cancellation_.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    pollfd source{descriptor_, POLLIN, 0};
    const int ready = ::poll(&source, 1, milliseconds_asleep);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_failure(path_, errno);
  }
}

Expected<std::size_t> InputFile::read_on(char* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    if (auto ready = wait(); !ready) return std::unexpected(ready.error());
    const ssize_t got = ::read(descriptor_, to + done, std::min(bytes - done, largest_read));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return system_failure(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
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
