// The CPUs this process may run on.
#pragma once

#include <sched.h>

#include <vector>

namespace weft {

/// CPU numbers in the affinity mask of the calling thread, ascending. Empty where the mask cannot be read.
inline std::vector<int> allowed_cpus() {
  // Masks of more than CPU_SETSIZE CPUs need a larger set; the kernel says EINVAL until it is large enough.
  for (int size = CPU_SETSIZE; size <= (1 << 18); size *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(size));
    if (!set) return {};
    std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    std::vector<int> cpus;
    bool read = ::sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; read && cpu < size; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    CPU_FREE(set);
    if (read) return cpus;
  }
  return {};
}

/// Restricts the calling thread to the given CPUs. A refusal is not an error: the thread then runs where it can.
inline void restrict_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  int size = cpus.back() + 1;
  for (int cpu : cpus) size = cpu >= size ? cpu + 1 : size;
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(size));
  if (!set) return;
  std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
  CPU_ZERO_S(bytes, set);
  for (int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  (void)::sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

}  // namespace weft
