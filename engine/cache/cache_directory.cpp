#include "engine/cache/cache_directory.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/cache/entry.h"

namespace weft {
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return seconds(time);
}

std::unexpected<SystemError> last_error() { return std::unexpected(SystemError{errno, std::strerror(errno)}); }

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::expected<CacheDirectory, SystemError> CacheDirectory::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return last_error();
  struct stat facts {};
  if (::fstat(descriptor.number(), &facts) != 0) return last_error();
  if (facts.st_uid != ::geteuid()) return std::unexpected(SystemError{0, "the directory belongs to another user"});
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return std::unexpected(SystemError{0, "others may write to the directory; chmod 700 it"});
  // The superuser may, whatever the mode is.
  constexpr mode_t looked_into = S_IRUSR | S_IXUSR;
  if (::geteuid() != 0 && (facts.st_mode & looked_into) != looked_into)
    return std::unexpected(SystemError{0, "its owner may not look into the directory; chmod 700 it"});
  return CacheDirectory(std::move(descriptor));
}

std::vector<CacheFile> CacheDirectory::files() const {
  std::vector<CacheFile> found;
  // A second description of the directory: reading moves its offset, and several threads may read at once.
  const int again = ::openat(descriptor_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(again), ::closedir);
  if (stream == nullptr) {
    ::close(again);
    return found;
  }
  const double present = now();
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    const bool temporary = name.starts_with(temporary_prefix);
    if (!temporary && !is_entry_name(name)) continue;
    struct stat facts {};
    if (::fstatat(descriptor_.number(), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(facts.st_mode)) continue;
    const double used = seconds(facts.st_mtim);
    found.push_back({std::string(name), static_cast<std::uint64_t>(facts.st_size), used, present - used, temporary});
  }
  return found;
}

bool CacheDirectory::remove(const std::string& name) const {
  return ::unlinkat(descriptor_.number(), name.c_str(), 0) == 0;
}

double CacheDirectory::seconds_since_change(std::string_view name) const {
  struct stat facts {};
  if (::fstatat(descriptor_.number(), std::string(name).c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return std::numeric_limits<double>::infinity();
  return now() - seconds(facts.st_mtim);
}

std::expected<void, SystemError> make_directories(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return last_error();
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? std::string::npos : path.rfind('/', end);
  if (slash == std::string::npos || slash == 0) return last_error();
  if (const auto parent = make_directories(path.substr(0, slash)); !parent) return parent;
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return last_error();
}

}  // namespace weft
