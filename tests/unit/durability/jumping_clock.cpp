#include "unit/durability/jumping_clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

namespace durability {
namespace {

thread_local std::int64_t ahead = 0;

}  // namespace

void jump(std::int64_t seconds) { ahead = seconds; }

}  // namespace durability

extern "C" {
int __real_clock_gettime(clockid_t, struct timespec*);
int __real_futimens(int, const struct timespec*);

int __wrap_clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = __real_clock_gettime(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += durability::ahead;
  return result;
}
int __wrap_futimens(int file, const struct timespec* times) {
  if (durability::ahead == 0) return __real_futimens(file, times);
  struct timespec now {};
  (void)__wrap_clock_gettime(CLOCK_REALTIME, &now);
  struct timespec set[2] = {now, now};
  for (int n = 0; n < 2; ++n)
    if (times != nullptr && times[n].tv_nsec != UTIME_NOW) set[n] = times[n];
  return __real_futimens(file, set);
}
}
