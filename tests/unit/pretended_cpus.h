// More or fewer CPUs than there are: the binary is linked with --wrap=sched_getaffinity.
#pragma once

namespace pretended_cpus {

/// While this lives the process may use CPUs 0 to `cpus` - 1, as far as weft is told.
class Pretending {
 public:
  explicit Pretending(int cpus);
  ~Pretending();
  Pretending(const Pretending&) = delete;
  Pretending& operator=(const Pretending&) = delete;
};

}  // namespace pretended_cpus
