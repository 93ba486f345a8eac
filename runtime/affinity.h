// The CPUs this process may run on.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <memory>
#include <vector>

namespace weft {

struct FreeCpus {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
/// Room for so many CPUs; null: no memory.
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpus>;
inline CpuSet cpu_set(int cpus) { return CpuSet(CPU_ALLOC(static_cast<std::size_t>(cpus))); }

/// CPU numbers in the affinity mask of the calling thread, ascending. Empty where the mask cannot be read.
inline std::vector<int> allowed_cpus() {
  // Masks of more than CPU_SETSIZE CPUs need a larger set; the kernel says EINVAL until it is large enough.
  for (int size = CPU_SETSIZE; size <= (1 << 18); size *= 2) {
    const CpuSet set = cpu_set(size);
    if (!set) return {};
    std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    std::vector<int> cpus;
    bool read = ::sched_getaffinity(0, bytes, set.get()) == 0;
    for (int cpu = 0; read && cpu < size; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.get())) cpus.push_back(cpu);
    if (read) return cpus;
  }
  return {};
}

/// Restricts a thread to one CPU. A refusal is not an error: the thread then runs where it can.
inline void restrict_to(pthread_t thread, int cpu) {
  const CpuSet set = cpu_set(cpu + 1);
  if (!set) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  (void)::pthread_setaffinity_np(thread, bytes, set.get());
}

}  // namespace weft
