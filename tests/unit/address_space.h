// Children with little address space, as `ulimit -v` leaves them.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <new>
#include <string>

#include "unit/sanitized.h"

extern "C" void __tsan_init() __attribute__((weak));

namespace address_space {

/// Sanitizers have their own terabytes.
inline bool can_be_limited() { return !weft::test::is_sanitized() && &__tsan_init == nullptr; }

/// What the process has mapped.
inline std::uint64_t bytes() {
  unsigned long long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%llu", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// What `work` returns in a child that can have so many bytes more than it has; 128 + the signal that ended it.
inline int with(std::uint64_t more, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::malloc_trim(0);
    const rlimit limit{bytes() + more, RLIM_INFINITY};
    ::_exit(::setrlimit(RLIMIT_AS, &limit) != 0 ? 99 : work());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 98;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// How often each of two outcomes came, with 0 bytes more, then `step`, up to `most`; and the first other outcome.
struct Outcomes {
  int done = 0;
  int refused = 0;
  std::string other;
};

inline Outcomes sweep(std::uint64_t step, std::uint64_t most, const std::function<bool()>& work) {
  Outcomes outcomes;
  for (std::uint64_t more = 0; more <= most; more += step) {
    const int outcome = with(more, [&] {
      try {
        return work() ? 0 : 5;
      } catch (const std::bad_alloc&) {
        return 5;  // of weft's own, which those who call it answer
      }
    });
    if (outcome == 0) {
      ++outcomes.done;
    } else if (outcome == 5) {
      ++outcomes.refused;
    } else if (outcomes.other.empty()) {
      outcomes.other = "status " + std::to_string(outcome) + " with " + std::to_string(more) + " bytes more";
    }
  }
  return outcomes;
}

}  // namespace address_space
