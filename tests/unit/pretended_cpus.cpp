#include "unit/pretended_cpus.h"

#include <sched.h>

#include <atomic>

namespace pretended_cpus {
namespace {

std::atomic<int> pretended{0};  // 0: those that there are

}  // namespace

Pretending::Pretending(int cpus) { pretended = cpus; }
Pretending::~Pretending() { pretended = 0; }

}  // namespace pretended_cpus

extern "C" {

// NOLINTBEGIN: names that the linker gives
int __real_sched_getaffinity(pid_t, size_t, cpu_set_t*);

int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t* set) {
  const int cpus = pretended_cpus::pretended;
  if (cpus == 0) return __real_sched_getaffinity(process, bytes, set);
  CPU_ZERO_S(bytes, set);
  for (int cpu = 0; cpu < cpus; ++cpu) CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  return 0;
}
// NOLINTEND
}
