// Chunks: cutting the root loop of a nest into coordinate ranges of about equal numbers of stored entries, and slices with too many
// of them into parts (slice_parts.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/loop/program.h"
#include "weft/tensor.h"

namespace weft {

/// Coordinates [begin, end) of the root index. `last` > 0: of these only the entries at the positions [first, last) of the level at
/// which the tensor that is walked may be cut.
struct Chunk {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool is_part() const { return last > 0; }
  bool operator==(const Chunk&) const = default;
};

/// The loop a kernel's range cuts: the only top-level statement, if that is a For; else null (the program runs once).
const loop::For* root_loop(const loop::Program& program);

/// Whether the root loop asks for its entries to be counted before they are appended.
bool counts_entries(const loop::Program& program);

/// At most `count` non-empty chunks that cover [0, extent) in order. `tensor`, if given, is bound by its first level at
/// the root: the cut follows its stored entries, so that a slice with many of them is alone in its chunk.
std::vector<Chunk> cut_root(std::uint64_t extent, std::size_t count, const Tensor* tensor);

/// Chunks of a nest whose targets have a copy of these bytes for each, and which takes so long on one thread: as many as threads, or
/// usual_slots (cost/memory_demand.h) if the copies are small against the operand that is walked, so that an uneven chunk can be made up
/// for. One where clearing the copies and adding them up takes longer than the threads save: y = B x, B of 3 diagonals of 360,000, takes
/// 0.36 ms on one thread, and on two with a copy 0.73.
std::size_t private_chunks(std::uint64_t copy_bytes, std::uint64_t walked_bytes, unsigned threads, bool deterministic, double serial_ns);

/// The same chunks, but each slice with more than `most` entries cut into parts of about equal numbers of entries, as few as have at most
/// `most` each unless more stand below one position of `level`. Parts have chunks of their own, in order. Slices are those of coordinates
/// of the first level, whose positions are in the order of their coordinates.
std::vector<Chunk> with_cut_slices(const std::vector<Chunk>& chunks, const Tensor& tensor, std::uint32_t level, std::uint64_t most);

/// At most `count` chunks with about equal numbers of entries, wherever slices begin: all are parts, and a coordinate may be in several.
/// Coordinates without an entry may be in none.
std::vector<Chunk> cut_entries(std::size_t count, const Tensor& tensor, std::uint32_t level);

/// Entries below the coordinates of a chunk, or of its part of them at positions of `level`; of slots and bits all.
std::uint64_t entries_of_chunk(const Chunk& chunk, const Tensor& tensor, std::uint32_t level);

/// Positions of the levels down to `level` that have an entry of [first, last) of `level` below them: by level, first and behind the last.
struct PositionRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
std::vector<PositionRange> ranges_above(const Tensor& tensor, std::uint32_t level, std::uint64_t first, std::uint64_t last);

}  // namespace weft
