// What generated code and the engine agree on. The layout of Worker and the meaning of the return values are part of
// the kernel cache's key (kernel_abi_version).
#pragma once

#include <cstdint>

namespace weft {

constexpr std::uint32_t kernel_abi_version = 3;

/// One compressed level of an appended output, as far as one chunk fills it. The parents of the level are numbered from
/// the chunk's first coordinate on where level 0 is dense and bound by the root loop.
struct AppendedLevel {
  std::uint64_t* pos = nullptr;    ///< pos[0] = 0, then an end per parent closed so far: always 64 bits
  void* crd = nullptr;             ///< in the width of the storage
  std::uint64_t closed = 0;        ///< parents whose end is written; the engine closes those after the last
  std::uint64_t size = 0;          ///< entries
  std::uint64_t pos_capacity = 0;  ///< parents that pos has room for
  std::uint64_t crd_capacity = 0;  ///< entries that crd has room for
};

/// An output with compressed levels, one per chunk and storage. The kernel keeps sizes in registers and writes them back
/// before it returns or grows.
struct AppendedOutput {
  AppendedLevel* levels = nullptr;     ///< by level of the storage; unused for dense ones
  unsigned char* values = nullptr;     ///< below every entry of the last compressed level, a block of the dense levels
  std::uint64_t values_capacity = 0;   ///< entries of the last compressed level that values has room for
  void* owner = nullptr;               ///< the engine's
};

/// Room for at least one more parent and entry at `level` (and its values, if it is the last compressed one).
/// KernelStatus::done, or limit or out_of_memory: the kernel returns it.
using GrowFunction = std::int32_t(AppendedOutput* output, std::uint64_t level, std::uint64_t parents,
                                  std::uint64_t entries);

/// One per running thread (slot). Written by the engine before the run; failed_* by checked kernels.
struct Worker {
  const std::uint8_t* cancelled = nullptr;  ///< nonzero: stop at the next poll
  unsigned char* scratch = nullptr;         ///< 64-byte aligned; workspaces lie at the offsets given in the frame
  std::uint64_t failed_storage = 0;         ///< status failed_check: storage, level and coordinate or position
  std::uint64_t failed_level = 0;
  std::uint64_t failed_value = 0;
  std::uint64_t* counts = nullptr;  ///< of counting kernels: by loop of the program, iterations are added here
  AppendedOutput* appended = nullptr;  ///< of this chunk, in the order of Signature::appended
  GrowFunction* grow = nullptr;
};

enum class KernelStatus : std::int32_t { done = 0, cancelled = 1, out_of_memory = 2, limit = 3, failed_check = 4 };

/// Runs the root loop for coordinates [begin, end) of the root index (a program without a loop: once, begin 0, end 1).
/// Thread safe for disjoint ranges with different Workers, if targets are owned or private.
using KernelFunction = std::int32_t(const std::uint64_t* frame, std::uint64_t begin, std::uint64_t end, Worker* worker);

/// What kernels call, by these names: the touched coordinates of an accumulator in increasing order. `marks` are 1 for
/// those and 0 for all others below `extent`; `touched` has room for `extent` of them. Thread safe for different lists.
extern "C" {
void weft_sort_touched_32(std::uint32_t* touched, std::uint64_t count, const std::uint8_t* marks, std::uint64_t extent);
void weft_sort_touched_64(std::uint64_t* touched, std::uint64_t count, const std::uint8_t* marks, std::uint64_t extent);
}

}  // namespace weft
