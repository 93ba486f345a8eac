// What Kernel and Binding hold, shared by the files that make, bind and run them.
#pragma once

#include <vector>

#include "engine/chunks.h"
#include "engine/kernel.h"

namespace weft {

struct Kernel::State {
  Network given;
  Network network;  ///< what the schedule speaks of
  Plan plan;
  std::vector<CompiledNest> nests;
  CompilePhases phases;
  Target target;
  CodeOptions code;
};

/// A result or intermediate of one nest that every reduction slot but the first adds into a copy of its own.
struct PrivateCopies {
  std::uint32_t tensor = 0;      ///< position in Schedule::tensors
  std::vector<Buffer> buffers;   ///< one per slot after the first
};

/// One nest with everything its kernel reads and writes.
struct BoundNest {
  std::vector<Chunk> chunks;
  bool ranged = true;            ///< the kernel takes a range of the root loop; else it runs once
  bool private_copies = false;   ///< chunk c belongs to slot c, with frame c; else all chunks share frame 0
  std::vector<std::vector<std::uint64_t>> frames;
  std::vector<PrivateCopies> copies;
  std::vector<std::uint32_t> targets;  ///< schedule tensors the nest writes
  std::uint64_t scratch_bytes = 0;     ///< per worker
};

struct Binding::State {
  std::shared_ptr<const Kernel::State> kernel;
  Resources resources;
  std::vector<Tensor> tensors;  ///< by position in Schedule::tensors
  std::vector<BoundNest> nests;
  std::vector<Buffer> scratch;  ///< one per worker
  std::vector<std::vector<std::uint64_t>> counts;  ///< by nest and loop
  double convert_ms = 0;

  /// Zeroes the dense tensors a nest writes, and its private copies, in parallel.
  void clear(const BoundNest& nest);
  Expected<void> run_nest(std::size_t number);
};

}  // namespace weft
