// Outputs with compressed levels: what every chunk of a run appends to buffers of its own becomes one tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/abi.h"
#include "runtime/growing_buffer.h"
#include "weft/tensor.h"

namespace weft {

/// What all chunks of an output have in common.
struct AppendedShape {
  Format format;  ///< dense and compressed levels; widths of crd as the kernel writes them, of pos at least those of the tensor
  std::vector<std::uint64_t> extents;  ///< by mode
  std::string name;                    ///< in errors

  std::uint64_t extent_of_level(std::size_t level) const { return extents[format.mode_order[level]]; }
  std::size_t last_compressed() const;
  /// Bytes of the dense levels below an entry of the last compressed one, which are a block of values.
  std::uint64_t block_bytes() const;
};

/// What one chunk appends to one output. For one thread at a time; not copied and, once opened, not moved, because the
/// kernel's AppendedOutput refers to it.
class AppendedChunk {
 public:
  /// `rows`: coordinates of level 0 that the chunk covers, where that is dense; else ignored. Both references outlive
  /// the chunk.
  AppendedChunk(const AppendedShape& shape, std::uint64_t rows, const Memory& memory);

  /// Before open(): entries [before[l], before[l] + count[l]) of every compressed level l, and their values, are written
  /// straight into the arrays of `tensor`, which has room for them; a chunk that has more leaves that place.
  void place_in(const Tensor& tensor, const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& count);
  /// An empty output with room to begin with. Resource error naming the output.
  Expected<AppendedOutput> open();
  /// The kernel is done: gives back the room that it did not need.
  void close();
  /// AppendedOutput::owner is the chunk. What the kernel returns, and why not, if that is not done.
  KernelStatus grow(AppendedOutput& output, std::uint64_t level, std::uint64_t parents, std::uint64_t entries);
  const std::optional<Error>& refused() const { return refused_; }

  std::uint64_t entries(std::size_t level) const { return levels_[level].size; }
  /// Parents of a compressed level, those after the last that something was appended to included.
  std::uint64_t parents(std::size_t level) const;

 private:
  friend class AppendedTensor;
  /// Where entries lie in a tensor made before, as long as they fit.
  struct Place {
    std::byte* data = nullptr;  ///< null: there is none, or it was left
    std::uint64_t entries = 0;
  };
  struct Arrays {
    GrowingBuffer pos;
    GrowingBuffer crd;
    Place place;  ///< instead of crd
  };
  bool reserve(GrowingBuffer& buffer, std::uint64_t bytes);
  /// Room for so many entries of `bytes`, in their place or in the buffer; null if there is none.
  bool reserve_entries(GrowingBuffer& buffer, Place& place, std::uint64_t used, std::uint64_t entries,
                       std::uint64_t bytes, void*& data, std::uint64_t& capacity);

  const AppendedShape* shape_;
  std::uint64_t rows_;
  Memory memory_;
  std::vector<AppendedLevel> levels_;
  std::vector<Arrays> arrays_;
  GrowingBuffer values_;
  Place values_place_;
  std::vector<std::uint64_t> placed_;  ///< entries by level that there was place for
  std::optional<Error> refused_;
};

/// Worker::grow.
GrowFunction grow_appended;

/// A tensor with room for exactly the entries of all chunks (by chunk, then level; zero for dense levels), to place the
/// chunks in. Resource error naming the output.
Expected<Tensor> sized(const AppendedShape& shape, const std::vector<std::vector<std::uint64_t>>& entries,
                       const Memory& memory);

/// The chunks, in the order of their rows, as one tensor: positions counted on, parents after the last closed, pos narrowed
/// to 32 bits where the shape's format asks for that and they fit. In parallel; memory moves from the chunks to the tensor
/// as it is copied, so that nothing is held twice; a single chunk is not copied. Empties the chunks. Without chunks: no
/// entry. Resource error naming the output, or cancelled.
/// `placed`: the tensor whose arrays the chunks were placed in, consumed: if they hold as many entries as then, it is
/// their tensor, and only what left its place is copied.
Expected<Tensor> concatenated(const AppendedShape& shape, std::vector<AppendedChunk>& chunks, const Resources& resources,
                              std::optional<Tensor> placed = {});

}  // namespace weft
