// What generated code and the engine agree on. The layout of Worker and the meaning of the return values are part of
// the kernel cache's key (kernel_abi_version).
#pragma once

#include <cstdint>

namespace weft {

constexpr std::uint32_t kernel_abi_version = 2;

/// One per running thread (slot). Written by the engine before the run; failed_* by checked kernels.
struct Worker {
  const std::uint8_t* cancelled = nullptr;  ///< nonzero: stop at the next poll
  unsigned char* scratch = nullptr;         ///< 64-byte aligned; workspaces lie at the offsets given in the frame
  std::uint64_t failed_storage = 0;         ///< status failed_check: storage, level and coordinate or position
  std::uint64_t failed_level = 0;
  std::uint64_t failed_value = 0;
  std::uint64_t* counts = nullptr;  ///< of counting kernels: by loop of the program, iterations are added here
};

enum class KernelStatus : std::int32_t { done = 0, cancelled = 1, out_of_memory = 2, limit = 3, failed_check = 4 };

/// Runs the root loop for coordinates [begin, end) of the root index (a program without a loop: once, begin 0, end 1).
/// Thread safe for disjoint ranges with different Workers, if targets are owned or private.
using KernelFunction = std::int32_t(const std::uint64_t* frame, std::uint64_t begin, std::uint64_t end, Worker* worker);

}  // namespace weft
