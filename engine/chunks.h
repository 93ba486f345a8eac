// Chunks: cutting the root loop of a nest into coordinate ranges of about equal numbers of stored entries.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/loop/program.h"
#include "weft/tensor.h"

namespace weft {

/// Coordinates [begin, end) of the root index.
struct Chunk {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const Chunk&) const = default;
};

/// The loop a kernel's range cuts: the only top-level statement, if that is a For; else null (the program runs once).
const loop::For* root_loop(const loop::Program& program);

/// Whether the root loop asks for its entries to be counted before they are appended.
bool counts_entries(const loop::Program& program);

/// At most `count` non-empty chunks that cover [0, extent) in order. `tensor`, if given, is bound by its first level at
/// the root: the cut follows its stored entries, so that a slice with many of them is alone in its chunk.
std::vector<Chunk> cut_root(std::uint64_t extent, std::size_t count, const Tensor* tensor);

}  // namespace weft
