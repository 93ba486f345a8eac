#include "unit/cache/faults.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace faults {
namespace {

struct State {
  bool armed = false;
  int at = 0;
  int seen = 0;
  Fault fault = Fault::fails;
  int error = 0;
};
thread_local State state;

enum class Now { nothing, fail, half, die };

// What becomes of the call that is about to be made.
Now next() {
  if (!state.armed) return Now::nothing;
  const int number = state.seen++;
  if (state.fault == Fault::half_fails && number == state.at + 1) return Now::fail;
  if (number != state.at) return Now::nothing;
  switch (state.fault) {
    case Fault::fails:
      return Now::fail;
    case Fault::half:
    case Fault::half_fails:
    case Fault::dies_halfway:
      return Now::half;
    case Fault::dies_before:
    case Fault::dies_after:
      break;
  }
  return Now::die;
}

[[noreturn]] void die() {
  raise(SIGKILL);
  _exit(1);
}

template <class Result, class Call>
Result made(Result failure, Call call) {
  switch (next()) {
    case Now::fail:
      errno = state.error;
      return failure;
    case Now::die:
      if (state.fault == Fault::dies_after) (void)call();
      die();
    case Now::half:
      if (state.fault == Fault::dies_halfway) die();
      break;
    case Now::nothing:
      break;
  }
  return call();
}

template <class Call>
ssize_t moved(std::size_t bytes, Call call) {
  const bool armed = state.armed;
  const int number = state.seen;
  const bool half = armed && number == state.at &&
                    (state.fault == Fault::half || state.fault == Fault::half_fails || state.fault == Fault::dies_halfway);
  if (!half) return made<ssize_t>(-1, [&] { return call(bytes); });
  ++state.seen;
  const ssize_t done = call(bytes / 2 > 0 ? bytes / 2 : bytes);
  if (state.fault == Fault::dies_halfway) die();
  return done;
}

}  // namespace

void inject(int call, Fault fault, int error) { state = {true, call, 0, fault, error}; }

int stop() {
  state.armed = false;
  return state.seen;
}

}  // namespace faults

using faults::made;
using faults::moved;

extern "C" {
int __real_open(const char*, int, ...);
int __real_openat(int, const char*, int, ...);
ssize_t __real_write(int, const void*, size_t);
ssize_t __real_read(int, void*, size_t);
int __real_fstat(int, struct stat*);
int __real_fstatat(int, const char*, struct stat*, int);
int __real_renameat(int, const char*, int, const char*);
int __real_unlinkat(int, const char*, int);
int __real_mkdir(const char*, mode_t);
int __real_flock(int, int);
int __real_futimens(int, const struct timespec*);
DIR* __real_fdopendir(int);

int __wrap_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return made(-1, [&] { return __real_open(path, flags, mode); });
}
int __wrap_openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return made(-1, [&] { return __real_openat(directory, path, flags, mode); });
}
ssize_t __wrap_write(int file, const void* bytes, size_t count) {
  return moved(count, [&](size_t some) { return __real_write(file, bytes, some); });
}
ssize_t __wrap_read(int file, void* bytes, size_t count) {
  return moved(count, [&](size_t some) { return __real_read(file, bytes, some); });
}
int __wrap_fstat(int file, struct stat* facts) {
  return made(-1, [&] { return __real_fstat(file, facts); });
}
int __wrap_fstatat(int directory, const char* path, struct stat* facts, int flags) {
  return made(-1, [&] { return __real_fstatat(directory, path, facts, flags); });
}
int __wrap_renameat(int from, const char* old_path, int to, const char* new_path) {
  return made(-1, [&] { return __real_renameat(from, old_path, to, new_path); });
}
int __wrap_unlinkat(int directory, const char* path, int flags) {
  return made(-1, [&] { return __real_unlinkat(directory, path, flags); });
}
int __wrap_mkdir(const char* path, mode_t mode) {
  return made(-1, [&] { return __real_mkdir(path, mode); });
}
int __wrap_flock(int file, int operation) {
  return made(-1, [&] { return __real_flock(file, operation); });
}
int __wrap_futimens(int file, const struct timespec* times) {
  return made(-1, [&] { return __real_futimens(file, times); });
}
DIR* __wrap_fdopendir(int file) {
  return made<DIR*>(nullptr, [&] { return __real_fdopendir(file); });
}
}
