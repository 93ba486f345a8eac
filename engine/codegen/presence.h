// What is certainly accumulated: where a result's entry needs no flag at run time.
#pragma once

#include "engine/codegen/structure.h"
#include "engine/loop/program.h"

namespace weft {

/// Every run of the block accumulates into the storage at least once.
bool certainly_accumulates(const loop::Program& program, const loop::Block& block, loop::StorageId storage);

/// Whether a run of the block writes every element below the first `bound` levels of the storage, which are dense, once: one
/// accumulate, inside loops over their whole extents and nothing else. What the elements held before need not be read.
bool writes_whole_block(const loop::Program& program, const loop::Block& block, loop::StorageId storage, std::uint32_t bound);

/// Whether the nest under `root` writes every element of the dense storage once, wherever the root's index stands among its modes, as
/// `for j: for n, i: R[n,j,i] += ...`: one accumulate of what is never absent, inside one loop over the whole extent for each of its
/// indices and no other. Threads that run parts of the root loop write elements of their own.
bool writes_each_once(const loop::Program& program, const loop::For& root, loop::StorageId storage);

/// The storages of the factors that may be absent (loop::may_be_absent), each once: the kernel keeps a flag of each, and
/// without all of them there is nothing to add.
std::vector<loop::StorageId> flagged_factors(const loop::Program& program, const loop::Accumulate& sum);

}  // namespace weft
