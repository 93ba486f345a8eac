#include "unit/durability/recorded_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>

namespace durability {
namespace {

namespace fs = std::filesystem;

struct Recorder {
  fs::path directory;
  std::vector<Call> calls;
  std::map<int, std::size_t> files;          // by descriptor
  std::map<std::string, std::size_t> names;  // numbers of files that the record made
  std::size_t count = 0;
  bool paused = false;  // within a call of the recorder's own
};
thread_local Recorder* recorder = nullptr;

/// Relative to the recorded directory, if the path is below it.
std::optional<std::string> below(int parent, const char* path) {
  fs::path whole = path;
  if (whole.is_relative() && parent != AT_FDCWD) {
    std::error_code problem;
    whole = fs::read_symlink("/proc/self/fd/" + std::to_string(parent), problem) / whole;
  }
  const fs::path relative = whole.lexically_normal().lexically_relative(recorder->directory);
  if (relative.empty() || *relative.begin() == ".." || relative == ".") return std::nullopt;
  return relative.string();
}

/// Whether calls of this thread are recorded now.
bool records() { return recorder != nullptr && !recorder->paused; }

struct Pause {
  Pause() { recorder->paused = true; }
  ~Pause() { recorder->paused = false; }
};

void opened(int descriptor, int parent, const char* path, int flags) {
  if (!records() || descriptor < 0 || (flags & (O_WRONLY | O_RDWR)) == 0) return;
  const Pause pause;
  const auto name = below(parent, path);
  if (!name) return;
  if ((flags & O_CREAT) != 0 && !recorder->names.contains(*name)) {
    recorder->names[*name] = recorder->count;
    recorder->calls.push_back({Call::Kind::create, *name, "", "", recorder->count++});
  }
  if (recorder->names.contains(*name)) recorder->files[descriptor] = recorder->names[*name];
}

void changed(Call::Kind kind, int descriptor, std::string bytes) {
  if (!records() || !recorder->files.contains(descriptor)) return;
  const Pause pause;
  recorder->calls.push_back({kind, "", "", std::move(bytes), recorder->files[descriptor]});
}

void renamed(int old_parent, const char* old_path, int new_parent, const char* new_path) {
  if (!records()) return;
  const Pause pause;
  const auto from = below(old_parent, old_path), to = below(new_parent, new_path);
  if (!from || !to) return;
  const std::size_t file = recorder->names[*from];
  recorder->names.erase(*from);
  recorder->names[*to] = file;
  recorder->calls.push_back({Call::Kind::rename, *from, *to, "", file});
}

void unlinked(int parent, const char* path) {
  if (!records()) return;
  const Pause pause;
  if (const auto name = below(parent, path)) {
    recorder->calls.push_back(
        {Call::Kind::unlink, *name, "", "", recorder->names.contains(*name) ? recorder->names[*name] : SIZE_MAX});
    recorder->names.erase(*name);
  }
}

enum class Bytes { none, half, all, zeros };

void make(const std::vector<Call>& calls, std::size_t end, unsigned kept, Bytes unsynchronised, const fs::path& before,
          const fs::path& directory) {
  fs::remove_all(directory);
  fs::create_directories(directory);
  fs::permissions(directory, fs::perms::owner_all);
  if (fs::exists(before)) fs::copy(before, directory, fs::copy_options::recursive);
  // The bytes of every file as the disk has them.
  std::map<std::size_t, std::string> written;
  std::map<std::size_t, std::size_t> synchronised;
  for (std::size_t n = 0; n < end; ++n) {
    if (calls[n].kind == Call::Kind::write) written[calls[n].file] += calls[n].bytes;
    if (calls[n].kind == Call::Kind::sync) synchronised[calls[n].file] = written[calls[n].file].size();
  }
  for (auto& [file, bytes] : written) {
    const std::size_t certain = synchronised[file], rest = bytes.size() - certain;
    if (unsynchronised == Bytes::none) bytes.resize(certain);
    if (unsynchronised == Bytes::half) bytes.resize(certain + rest / 2);
    if (unsynchronised == Bytes::zeros) bytes.replace(certain, rest, rest, '\0');
  }
  // Names in the order of the calls; `kept` has a bit for each of them.
  unsigned number = 0;
  for (std::size_t n = 0; n < end; ++n) {
    const Call& call = calls[n];
    if (call.kind == Call::Kind::write || call.kind == Call::Kind::sync) continue;
    if ((kept >> number++ & 1u) == 0) continue;
    std::error_code ignored;
    if (call.kind == Call::Kind::create) {
      std::ofstream(directory / call.path, std::ios::binary) << written[call.file];
      fs::permissions(directory / call.path, fs::perms::owner_read | fs::perms::owner_write);
    }
    if (call.kind == Call::Kind::rename && fs::exists(directory / call.path))
      fs::rename(directory / call.path, directory / call.other);
    if (call.kind == Call::Kind::unlink) fs::remove(directory / call.path, ignored);
  }
}

}  // namespace

std::vector<Call> recorded(const fs::path& directory, const std::function<void()>& body) {
  Recorder made;
  made.directory = fs::canonical(directory);
  recorder = &made;
  body();
  recorder = nullptr;
  return made.calls;
}

std::size_t for_each_loss(const std::vector<Call>& calls, const fs::path& before, const fs::path& directory,
                          const std::function<void(std::size_t)>& visit) {
  std::size_t states = 0;
  for (std::size_t end = 0; end <= calls.size(); ++end) {
    unsigned names = 0;
    for (std::size_t n = 0; n < end; ++n)
      names += calls[n].kind == Call::Kind::write || calls[n].kind == Call::Kind::sync ? 0 : 1;
    for (unsigned kept = 0; kept < 1u << names; ++kept)
      for (const Bytes bytes : {Bytes::none, Bytes::half, Bytes::all, Bytes::zeros}) {
        make(calls, end, kept, bytes, before, directory);
        visit(end);
        ++states;
      }
  }
  return states;
}

}  // namespace durability

extern "C" {
int __real_open(const char*, int, ...);
int __real_openat(int, const char*, int, ...);
ssize_t __real_write(int, const void*, size_t);
int __real_close(int);
int __wrap_futimens(int, const struct timespec*);
int __real_fsync(int);
int __real_fdatasync(int);
int __real_rename(const char*, const char*);
int __real_renameat(int, const char*, int, const char*);
int __real_unlink(const char*);
int __real_unlinkat(int, const char*, int);

int __wrap_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const int descriptor = __real_open(path, flags, mode);
  durability::opened(descriptor, AT_FDCWD, path, flags);
  return descriptor;
}
int __wrap_openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const int descriptor = __real_openat(directory, path, flags, mode);
  durability::opened(descriptor, directory, path, flags);
  return descriptor;
}
ssize_t __wrap_write(int file, const void* bytes, size_t count) {
  const ssize_t done = __real_write(file, bytes, count);
  // The time of a change is that of a clock that may jump (jumping_clock.h).
  if (done > 0) (void)__wrap_futimens(file, nullptr);
  if (done > 0)
    durability::changed(durability::Call::Kind::write, file,
                        std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(done)));
  return done;
}
int __wrap_close(int file) {
  if (durability::records()) durability::recorder->files.erase(file);
  return __real_close(file);
}
int __wrap_fsync(int file) {
  const int result = __real_fsync(file);
  if (result == 0) durability::changed(durability::Call::Kind::sync, file, {});
  return result;
}
int __wrap_fdatasync(int file) {
  const int result = __real_fdatasync(file);
  if (result == 0) durability::changed(durability::Call::Kind::sync, file, {});
  return result;
}
int __wrap_rename(const char* from, const char* to) {
  const int result = __real_rename(from, to);
  if (result == 0) durability::renamed(AT_FDCWD, from, AT_FDCWD, to);
  return result;
}
int __wrap_renameat(int from_directory, const char* from, int to_directory, const char* to) {
  const int result = __real_renameat(from_directory, from, to_directory, to);
  if (result == 0) durability::renamed(from_directory, from, to_directory, to);
  return result;
}
int __wrap_unlink(const char* path) {
  const int result = __real_unlink(path);
  if (result == 0) durability::unlinked(AT_FDCWD, path);
  return result;
}
int __wrap_unlinkat(int directory, const char* path, int flags) {
  const int result = __real_unlinkat(directory, path, flags);
  if (result == 0) durability::unlinked(directory, path);
  return result;
}
}
