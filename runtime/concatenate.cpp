// Chunks of an appended output to one tensor.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/appended.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {

class AppendedTensor {
 public:
  AppendedTensor(const AppendedShape& shape, std::vector<AppendedChunk>& chunks, const Resources& resources,
                 std::optional<Tensor> placed)
      : shape_(shape), chunks_(chunks), resources_(resources), placed_(std::move(placed)) {
    tensor_.format = shape.format;
    tensor_.extents = shape.extents;
    tensor_.levels.resize(shape.format.order());
  }

  Expected<Tensor> run() {
    in_place_ = placed_ && fits();
    if (in_place_) tensor_.format = placed_->format();  // widths that its arrays have
    alone_ = chunks_.size() == 1 && !placed_;
    for (AppendedChunk& chunk : chunks_) {
      for (AppendedChunk::Arrays& arrays : chunk.arrays_) {
        charge_.join(arrays.pos.take_charge());
        if (!alone_) charge_.join(arrays.crd.take_charge());
      }
      if (!alone_) charge_.join(chunk.values_.take_charge());
    }
    std::uint64_t parents = 1;
    for (std::size_t level = 0; level < shape_.format.order(); ++level) {
      if (is_dense(shape_.format.levels[level].kind)) {
        parents = saturating_product(parents, shape_.extent_of_level(level));
        continue;
      }
      auto entries = add_level(level, parents);
      if (!entries) return std::unexpected(entries.error());
      parents = *entries;
    }
    if (auto added = add_values(); !added) return std::unexpected(added.error());
    const std::vector<std::size_t> tasks = grouped();
    resources_.threads.for_each(tasks.size() - 1, [&](std::size_t number, unsigned) {
      for (std::size_t piece = tasks[number]; piece < tasks[number + 1]; ++piece)
        if (!resources_.cancellation.cancelled()) move(pieces_[piece]);
    });
    if (resources_.cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    chunks_.clear();
    return made(std::move(tensor_));
  }

 private:
  /// A part of one array of a chunk, small enough that the share that exists twice while it is moved is small.
  struct Piece {
    enum class Array : std::uint8_t { pos, crd, values };
    Array array = Array::pos;
    std::size_t level = 0;
    std::size_t chunk = 0;
    std::uint64_t begin = 0;  ///< bytes of the chunk's array; parents for pos
    std::uint64_t end = 0;
    std::uint64_t to = 0;     ///< where the chunk's array begins in the tensor's, in the same unit
    std::uint64_t entries_before = 0;
  };
  static constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20;

  Expected<Buffer> allocate(std::uint64_t bytes) {
    Charge charge = charge_.split(bytes);
    if (charge.bytes() < bytes) {
      auto rest = resources_.memory.charge(bytes - charge.bytes(), shape_.name);
      if (!rest) return std::unexpected(rest.error());
      charge.join(std::move(*rest));
    }
    return Buffer::allocate(bytes, std::move(charge), shape_.name);
  }

  void cut(Piece whole, std::uint64_t size, std::uint64_t unit) {
    for (std::uint64_t begin = 0; begin < size; begin += unit) {
      whole.begin = begin;
      whole.end = std::min(size, begin + unit);
      pieces_.push_back(whole);
    }
  }

  /// Where the pieces of each task begin, and their end: hundreds of chunks of some rows each are no work to share.
  std::vector<std::size_t> grouped() const {
    constexpr std::uint64_t least_bytes = 128 * 1024;
    std::vector<std::size_t> begins{0};
    std::uint64_t bytes = 0;
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
      const Piece& piece = pieces_[number];
      if (bytes >= least_bytes) begins.push_back(number), bytes = 0;
      bytes += (piece.end - piece.begin) * (piece.array == Piece::Array::pos ? sizeof(std::uint64_t) : 1);
    }
    begins.push_back(pieces_.size());
    return begins;
  }

  bool moves(const AppendedChunk::Place& place) const { return !alone_ && !(in_place_ && place.data != nullptr); }

  /// Whether every chunk has as many entries as in the tensor made before.
  bool fits() const {
    for (std::size_t level = 0; level < shape_.format.order(); ++level) {
      if (is_dense(shape_.format.levels[level].kind)) continue;
      for (const AppendedChunk& chunk : chunks_)
        if (chunk.entries(level) != chunk.placed_[level]) return false;
    }
    return true;
  }

  /// The arrays of a compressed level with so many parents; how many entries it has.
  Expected<std::uint64_t> add_level(std::size_t level, std::uint64_t parents) {
    std::uint64_t entries = 0;
    for (const AppendedChunk& chunk : chunks_) entries += chunk.entries(level);
    Level& stored = tensor_.format.levels[level];
    widen(stored.pos_bits, position_bits(entries));
    const std::uint64_t crd_bytes = stored.crd_bits / 8;
    LevelArrays& arrays = tensor_.levels[level];
    if (in_place_) {
      arrays = placed_->levels()[level];
    } else {
      auto pos = allocate(parents == saturated ? saturated : saturating_product(parents + 1, stored.pos_bits / 8));
      if (!pos) return std::unexpected(pos.error());
      arrays.pos = std::move(*pos);
    }
    if (alone_) {
      arrays.crd = chunks_.front().arrays_[level].crd.finish(entries * crd_bytes);
    } else if (!in_place_) {
      auto crd = allocate(entries * crd_bytes);
      if (!crd) return std::unexpected(crd.error());
      arrays.crd = std::move(*crd);
    }
    Piece of_pos{.array = Piece::Array::pos, .level = level};
    Piece of_crd{.array = Piece::Array::crd, .level = level};
    for (std::size_t number = 0; number < chunks_.size(); ++number) {
      const AppendedChunk& chunk = chunks_[number];
      of_pos.chunk = of_crd.chunk = number;
      // The one parent of a compressed level 0 is every chunk's: its end is written once.
      if (level > 0) cut(of_pos, chunk.parents(level), piece_bytes / sizeof(std::uint64_t));
      if (moves(chunk.arrays_[level].place)) cut(of_crd, chunk.entries(level) * crd_bytes, piece_bytes);
      of_pos.to += chunk.parents(level);
      of_pos.entries_before += chunk.entries(level);
      of_crd.to += chunk.entries(level) * crd_bytes;
    }
    if (level == 0) {
      with_width(stored.pos_bits, [&]<class T>(T) { arrays.pos.as<T>()[1] = static_cast<T>(entries); });
    } else if (!chunks_.empty() && of_pos.to != parents) {
      return internal_error(fmt::format("the chunks of {} hold {} parents of level {}, not {}", shape_.name, of_pos.to,
                                        level, parents));
    }
    return entries;
  }

  Expected<void> add_values() {
    const std::size_t last = shape_.last_compressed();
    const std::uint64_t block = shape_.block_bytes();
    std::uint64_t entries = 0;
    for (const AppendedChunk& chunk : chunks_) entries += chunk.entries(last);
    const std::uint64_t bytes = saturating_product(entries, block);
    if (alone_) {
      tensor_.values = chunks_.front().values_.finish(bytes);
      return {};
    }
    if (in_place_) {
      tensor_.values = placed_->values();
    } else {
      auto values = allocate(bytes);
      if (!values) return std::unexpected(values.error());
      tensor_.values = std::move(*values);
    }
    Piece piece{.array = Piece::Array::values};
    for (std::size_t number = 0; number < chunks_.size(); ++number) {
      piece.chunk = number;
      const std::uint64_t size = chunks_[number].entries(last) * block;
      if (moves(chunks_[number].values_place_)) cut(piece, size, piece_bytes);
      piece.to += size;
    }
    return {};
  }

  void move(const Piece& piece) {
    AppendedChunk& chunk = chunks_[piece.chunk];
    if (piece.array == Piece::Array::pos) return move_ends(piece, chunk);
    const bool values = piece.array == Piece::Array::values;
    GrowingBuffer& from = values ? chunk.values_ : chunk.arrays_[piece.level].crd;
    const AppendedChunk::Place& place = values ? chunk.values_place_ : chunk.arrays_[piece.level].place;
    const auto* entries = place.data != nullptr ? place.data : static_cast<const std::byte*>(from.data());
    Buffer& to = values ? tensor_.values : tensor_.levels[piece.level].crd;
    std::memcpy(to.as<std::byte>().data() + piece.to + piece.begin,
                entries + piece.begin, piece.end - piece.begin);
    from.discard(piece.begin, piece.end);
  }

  void move_ends(const Piece& piece, AppendedChunk& chunk) {
    GrowingBuffer& from = chunk.arrays_[piece.level].pos;
    const auto* ends = static_cast<const std::uint64_t*>(from.data()) + 1;
    const AppendedLevel& filled = chunk.levels_[piece.level];
    const std::uint64_t closed = std::clamp(filled.closed, piece.begin, piece.end);
    with_width(tensor_.format.levels[piece.level].pos_bits, [&]<class T>(T) {
      T* to = tensor_.levels[piece.level].pos.as<T>().data() + piece.to + 1;
      for (std::uint64_t parent = piece.begin; parent < closed; ++parent)
        to[parent] = static_cast<T>(ends[parent] + piece.entries_before);
      std::fill(to + closed, to + piece.end, static_cast<T>(filled.size + piece.entries_before));
    });
    from.discard((piece.begin + 1) * sizeof(std::uint64_t), (piece.end + 1) * sizeof(std::uint64_t));
  }

  const AppendedShape& shape_;
  std::vector<AppendedChunk>& chunks_;
  const Resources& resources_;
  std::optional<Tensor> placed_;
  bool in_place_ = false;  ///< it is the tensor of these chunks too
  bool alone_ = false;     ///< one chunk, whose arrays become the tensor's
  Charge charge_;  ///< of the chunks' arrays: the tensor's arrays take theirs from it
  std::vector<Piece> pieces_;
  TensorArrays tensor_;
};

Expected<Tensor> concatenated(const AppendedShape& shape, std::vector<AppendedChunk>& chunks, const Resources& resources,
                              std::optional<Tensor> placed) {
  return AppendedTensor(shape, chunks, resources, std::move(placed)).run();
}

}  // namespace weft
