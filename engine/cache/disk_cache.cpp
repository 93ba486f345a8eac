#include "engine/cache/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/cache/cache_directory.h"

namespace weft {
namespace {

constexpr std::string_view lock_name = "sweep.lock";

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

// Unique among the threads of all processes that share the directory, also over a network file system where process
// numbers of different machines meet.
std::string temporary_name() {
  thread_local std::uint64_t count = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto here = reinterpret_cast<std::uintptr_t>(&count);
  return std::string(temporary_prefix) + std::to_string(getpid()) + "-" + std::to_string(here) + "-" +
         std::to_string(now.tv_sec) + std::to_string(now.tv_nsec) + "-" + std::to_string(count++);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<std::string> read_all(int file, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

// A clock that was wrong, here or on another machine, leaves times in the future, which would stay young for ever.
bool is_distant(double seconds_ago, double limit) { return seconds_ago > limit || seconds_ago < -limit; }

}  // namespace

DiskCache::DiskCache(std::string directory, std::uint64_t cap, Diagnose diagnose)
    : directory_(std::move(directory)), cap_(cap), diagnose_(std::move(diagnose)) {}

std::optional<std::string> DiskCache::default_directory() {
  if (auto given = variable("WEFT_CACHE_DIR")) return given;
  if (auto xdg = variable("XDG_CACHE_HOME"); xdg && xdg->front() == '/') return *xdg + "/weft";
  if (auto home = variable("HOME")) return *home + "/.cache/weft";
  return std::nullopt;
}

std::string DiskCache::file_name(std::string_view key, EntryForm form) { return entry_name(key, form); }

void DiskCache::say(std::string_view what, std::string_view why) const {
  if (diagnose_) diagnose_("cache " + directory_ + ": " + std::string(what) + ": " + std::string(why));
}

// Every use of a directory that cannot be used fails alike.
void DiskCache::say_once(std::string_view what, std::string_view why) const {
  if (!diagnose_) return;
  std::string line = std::string(what) + ": " + std::string(why);
  {
    const std::lock_guard lock(said_mutex_);
    if (said_ == line) return;
    said_ = line;
  }
  say(what, why);
}

std::optional<std::string> DiskCache::load(std::string_view key, EntryForm form) const {
  const auto directory = CacheDirectory::open(directory_);
  if (!directory) {
    // An absent directory is the ordinary state before the first store.
    if (directory.error().code != ENOENT) say_once("not used", directory.error().reason);
    return std::nullopt;
  }
  const std::string name = file_name(key, form);
  // NONBLOCK: a pipe in place of the file must not hang the host.
  const Descriptor file(::openat(directory->descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno != ENOENT) say(name, std::strerror(errno));
    return std::nullopt;
  }
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    say(name, "not a regular file");
    return std::nullopt;
  }
  if (facts.st_uid != ::geteuid()) {
    say(name, "the file belongs to another user");
    return std::nullopt;
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    say(name, "others may write to the file");
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size > std::min(cap_, largest_entry)) {
    say(name, "larger than an entry may be");
    return std::nullopt;
  }
  const auto text = read_all(file.number(), size);
  if (!text) {
    say(name, "could not be read");
    return std::nullopt;
  }
  auto bytes = unpack_entry(*text, key, form);
  if (!bytes) {
    say(name, bytes.error());
    return std::nullopt;
  }
  // The modification time is the time of last use. Failing (read-only directory) only makes the entry look older.
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  [[maybe_unused]] const int touched = ::futimens(file.number(), times);
  return std::move(*bytes);
}

void DiskCache::store(std::string_view key, std::string_view bytes, EntryForm form) const {
  const std::string packed = pack_entry(key, bytes, form);
  const std::uint64_t size = packed.size();
  if (size > std::min(cap_, largest_entry)) return say("not stored", "larger than an entry may be");
  // To write beyond this limit would end the process by a signal.
  rlimit files{};
  if (::getrlimit(RLIMIT_FSIZE, &files) == 0 && size > files.rlim_cur)
    return say_once("not stored", "this process may not write files of that size (RLIMIT_FSIZE)");
  if (const auto made = make_directories(directory_); !made) return say_once("not made", made.error().reason);
  const auto directory = CacheDirectory::open(directory_);
  if (!directory) return say_once("not used", directory.error().reason);

  const std::string temporary = temporary_name();
  const std::string name = file_name(key, form);
  int problem = 0;  // errno
  {
    const Descriptor file(
        ::openat(directory->descriptor(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return say_once("not stored", std::strerror(errno));
    if (!write_all(file.number(), packed)) problem = errno;
  }
  // No fsync: after a crash the checksum turns a half-written entry into a miss.
  if (problem == 0 &&
      ::renameat(directory->descriptor(), temporary.c_str(), directory->descriptor(), name.c_str()) != 0)
    problem = errno;
  if (problem != 0) {
    ::unlinkat(directory->descriptor(), temporary.c_str(), 0);
    say_once("not stored", std::strerror(problem));
    return;
  }

  // Counting the directory at every store would cost more than compiling. So: after an eighth of the cap, or when
  // no process has swept for a minute.
  const std::uint64_t unswept = unswept_bytes_.fetch_add(size) + size;
  if (unswept > cap_ / 8 || is_distant(directory->seconds_since_change(lock_name), 60)) sweep();
}

DiskCacheStatus DiskCache::status() const {
  DiskCacheStatus status{.path = directory_, .cap = cap_};
  const auto directory = CacheDirectory::open(directory_);
  if (!directory) {
    if (directory.error().code != ENOENT) status.refused = directory.error().reason;
    return status;
  }
  for (const CacheFile& file : directory->files()) {
    if (file.temporary) {
      ++status.unfinished;
      continue;
    }
    ++status.entries;
    if (entry_form(file.name) == EntryForm::text) ++status.plans;
    if (entry_form(file.name) == EntryForm::verdict) ++status.proofs;
    status.bytes += file.bytes;
  }
  return status;
}

std::uint64_t DiskCache::clear() const {
  const auto directory = CacheDirectory::open(directory_);
  if (!directory) {
    if (directory.error().code != ENOENT) say("not cleared", directory.error().reason);
    return 0;
  }
  std::uint64_t removed = 0;
  for (const CacheFile& file : directory->files())
    if (directory->remove(file.name) && !file.temporary) ++removed;
  directory->remove(std::string(lock_name));
  return removed;
}

void DiskCache::sweep() const {
  const auto directory = CacheDirectory::open(directory_);
  if (!directory) return;
  const Descriptor lock(::openat(directory->descriptor(), std::string(lock_name).c_str(),
                                 O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return;
  unswept_bytes_.store(0);

  std::vector<CacheFile> entries;
  std::uint64_t total = 0;
  for (CacheFile& file : directory->files()) {
    if (file.temporary) {
      if (is_distant(file.seconds_old, 3600)) directory->remove(file.name);
    } else {
      total += file.bytes;
      if (file.seconds_old < -3600) file.last_used = 0;  // a time in the future says nothing of its use: first to go
      entries.push_back(std::move(file));
    }
  }
  if (total > cap_) {
    std::sort(entries.begin(), entries.end(),
              [](const CacheFile& a, const CacheFile& b) { return a.last_used < b.last_used; });
    const std::uint64_t target = cap_ - cap_ / 10;
    for (const CacheFile& file : entries) {
      if (total <= target) break;
      if (directory->remove(file.name)) total -= file.bytes;
    }
  }
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  [[maybe_unused]] const int touched = ::futimens(lock.number(), times);
}

}  // namespace weft
