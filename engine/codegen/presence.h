// What is certainly accumulated: where a result's entry or a workspace's presence needs no flag at run time.
#pragma once

#include "engine/codegen/structure.h"
#include "engine/loop/program.h"

namespace weft {

/// Every run of the block accumulates into the storage at least once.
bool certainly_accumulates(const loop::Program& program, const loop::Block& block, loop::StorageId storage);

/// The workspace is a scalar that may be absent where it is read, and absent is not as good as zero there: the kernel
/// keeps a flag that tells.
bool needs_flag(const loop::Program& program, loop::StorageId workspace);

/// The storages of the factors with a flag, each once: without all of them there is nothing to add.
std::vector<loop::StorageId> flagged_factors(const loop::Program& program, const loop::Accumulate& sum);

}  // namespace weft
