#include "runtime/aligned_blocks.h"

#include <algorithm>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_tensor.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/row_groups.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr std::uint64_t most_merged_rows = 16;  // each block looks at every row of its group

/// Where the places of a block stand.
struct BlockShape {
  std::uint64_t height = 1;  ///< rows that a block has, at most all there are
  std::uint64_t width = 1;
  std::uint64_t row_step = 1;
  std::uint64_t column_step = 1;

  std::uint64_t places() const { return height * width; }
};

BlockShape shape_of(const AlignedBlocks& blocks, std::span<const std::uint64_t> extents) {
  BlockShape shape{std::min(blocks.height, extents[blocks.row]), std::min(blocks.width, extents[blocks.column])};
  (blocks.columns_first ? shape.column_step : shape.row_step) = blocks.columns_first ? shape.height : shape.width;
  return shape;
}

/// The entries of the rows of one group, block by block.
template <class C>
class RowMerge {
 public:
  RowMerge(const Indices& pos, std::span<const C> crd, std::uint64_t width) : pos_(pos), crd_(crd), width_(width) {}

  void begin(std::uint64_t first_row, std::uint64_t rows) {
    rows_.resize(rows);
    for (std::uint64_t r = 0; r < rows; ++r) {
      rows_[r] = {pos_[first_row + r], pos_[first_row + r + 1]};
      rows_[r].block = block_at(rows_[r]);
    }
  }
  /// The next block of columns; `saturated` behind the last.
  std::uint64_t next() const {
    std::uint64_t least = saturated;
    for (const Row& row : rows_) least = std::min(least, row.block);
    return least;
  }
  /// Calls f(row, column within the block, entry) for the entries of the block.
  template <class F>
  void take(std::uint64_t block, F&& f) {
    const std::uint64_t first = block * width_;
    for (std::uint64_t r = 0; r < rows_.size(); ++r) {
      Row& row = rows_[r];
      if (row.block != block) continue;
      for (; row.entry < row.end && crd_[row.entry] - first < width_; ++row.entry) f(r, crd_[row.entry] - first, row.entry);
      row.block = block_at(row);
    }
  }

 private:
  struct Row {
    std::uint64_t entry = 0;
    std::uint64_t end = 0;
    std::uint64_t block = saturated;
  };
  std::uint64_t block_at(const Row& row) const { return row.entry < row.end ? crd_[row.entry] / width_ : saturated; }

  const Indices& pos_;
  std::span<const C> crd_;
  std::uint64_t width_;
  std::vector<Row> rows_;
};

/// The places of a tensor in blocks, of values T and coordinates S.
template <class T, class S>
class StoredBlocks {
 public:
  StoredBlocks(const Tensor& tensor, const AlignedBlocks& blocks)
      : blocks_(blocks),
        shape_(shape_of(blocks, tensor.extents())),
        rows_(tensor.extents()[blocks.row]),
        columns_(tensor.extents()[blocks.column]),
        pos_(tensor.levels()[1].pos, tensor.format().levels[1].pos_bits),
        crd_(tensor.levels()[1].crd.as<const S>()),
        values_(tensor.values().as<const T>()) {}

  /// Calls f(row, column, value) for what is not left out, in the order of the blocks and by rows within each.
  template <class F>
  void for_kept(const Threads& threads, Zeros zeros, F&& f) const {
    for_blocks(threads, Blocks(quotients(rows_, blocks_.height), threads, 1 << 10),
               [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
                 for (std::uint64_t group = first; group < end; ++group)
                   for (std::uint64_t position = pos_[group]; position < pos_[group + 1]; ++position) visit(group, position, zeros, f);
               });
  }

 private:
  template <class F>
  void visit(std::uint64_t group, std::uint64_t position, Zeros zeros, F&& f) const {
    const std::uint64_t row = group * blocks_.height;
    const std::uint64_t column = crd_[position] * blocks_.width;
    const std::uint64_t height = std::min(shape_.height, rows_ - row);
    const std::uint64_t width = std::min(shape_.width, columns_ - column);
    const T* const places = values_.data() + position * shape_.places();
    for (std::uint64_t r = 0; r < height; ++r)
      for (std::uint64_t c = 0; c < width; ++c) {
        const T value = places[r * shape_.row_step + c * shape_.column_step];
        if (!is_left_out(value, zeros)) f(row + r, column + c, value);
      }
  }

  AlignedBlocks blocks_;
  BlockShape shape_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  Indices pos_;
  std::span<const S> crd_;
  std::span<const T> values_;
};

template <class F>
void with_stored_blocks(const Tensor& tensor, const AlignedBlocks& blocks, F&& f) {
  with_element(tensor.format().scalar, [&]<class T>(T) {
    with_width(tensor.format().levels[1].crd_bits, [&]<class S>(S) { f(StoredBlocks<T, S>(tensor, blocks)); });
  });
}

}  // namespace

std::optional<AlignedBlocks> aligned_blocks(const Layout& layout) {
  const std::size_t order = layout.levels.size();
  if (layout.modes.size() != 2 || !layout.free.empty() || order < 3 || order > 4) return std::nullopt;
  std::vector<AffineTerm> parts;
  for (std::size_t l = 0; l < order; ++l) {
    const AffineTerm* const part = part_of_mode(layout.levels[l]);
    if (part == nullptr || layout.levels[l].kind != (l == 1 ? LevelKind::compressed : LevelKind::dense)) return std::nullopt;
    parts.push_back(*part);
  }
  if (parts[0].modulus != 0 || parts[1].modulus != 0 || parts[0].variable == parts[1].variable) return std::nullopt;
  const AlignedBlocks blocks{parts[0].variable, parts[1].variable, static_cast<std::uint64_t>(parts[0].divisor),
                             static_cast<std::uint64_t>(parts[1].divisor), parts[2].variable == parts[1].variable};
  std::size_t remainders = 0;
  for (const bool of_rows : {true, false}) {
    const std::uint64_t size = of_rows ? blocks.height : blocks.width;
    if (size == 1) continue;
    ++remainders;
    const auto is_remainder = [&](const AffineTerm& part) {
      return part.variable == (of_rows ? blocks.row : blocks.column) && part.divisor == 1 &&
             static_cast<std::uint64_t>(part.modulus) == size;
    };
    if (std::none_of(parts.begin() + 2, parts.end(), is_remainder)) return std::nullopt;
  }
  if (remainders + 2 != order || blocks.height > most_merged_rows) return std::nullopt;
  return blocks;
}

Expected<Tensor> blocks_of_rows(const Tensor& rows, const AlignedBlocks& blocks, const Format& format, const Resources& resources,
                                std::string_view name) {
  const auto placement = Placement::of(*format.layout, rows.extents(), name);
  if (!placement) return std::unexpected(placement.error());
  const BlockShape shape = shape_of(blocks, rows.extents());
  const std::uint64_t row_count = rows.extents()[blocks.row];
  const std::uint64_t groups = quotients(row_count, blocks.height);
  const Indices pos(rows.levels()[1].pos, rows.format().levels[1].pos_bits);
  const Blocks chunks(groups, resources.threads, 1 << 10);
  auto begins = Buffer::allocate(saturating_product(groups + 1, sizeof(std::uint64_t)), resources.memory, name);
  if (!begins) return std::unexpected(begins.error());
  const auto begin_of = begins->as<std::uint64_t>();
  // Calls f(group, merge) for all groups.
  const auto merged = [&](auto&& f) {
    with_width(rows.format().levels[1].crd_bits, [&]<class C>(C) {
      const auto crd = rows.levels()[1].crd.as<const C>();
      for_blocks(resources.threads, chunks, [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
        RowMerge<C> merge(pos, crd, blocks.width);
        for (std::uint64_t group = first; group < end; ++group) {
          merge.begin(group * blocks.height, std::min(blocks.height, row_count - group * blocks.height));
          f(group, merge);
        }
      });
    });
  };
  merged([&](std::uint64_t group, auto& merge) {
    std::uint64_t& count = begin_of[group];
    for (std::uint64_t block = merge.next(); block != saturated; block = merge.next(), ++count)
      merge.take(block, [](std::uint64_t, std::uint64_t, std::uint64_t) {});
  });
  const std::uint64_t total = to_begins(begin_of);

  TensorArrays made_levels;
  made_levels.format = level_format(format);
  made_levels.levels.resize(format.order());
  made_levels.extents = placement->level_extents();
  Level& column = made_levels.format.levels[1];
  widen(column.pos_bits, position_bits(total));
  widen(column.crd_bits, coordinate_bits(made_levels.extents[1]));
  const std::uint64_t places = saturating_product(total, shape.places());
  auto crd = Buffer::allocate(saturating_product(total, column.crd_bits / 8), resources.memory, name);
  if (!crd) return std::unexpected(crd.error());
  auto values = Buffer::allocate(saturating_product(places, scalar_bytes(format.scalar)), resources.memory, name);
  if (!values) return std::unexpected(values.error());
  with_width(column.crd_bits, [&]<class C>(C) {
    with_element(rows.format().scalar, [&]<class From>(From) {
      with_element(format.scalar, [&]<class To>(To) {
        const auto blocks_crd = crd->as<C>();
        const auto from = rows.values().as<const From>();
        const auto to = values->as<To>();
        merged([&](std::uint64_t group, auto& merge) {
          std::uint64_t position = begin_of[group];
          for (std::uint64_t block = merge.next(); block != saturated; block = merge.next(), ++position) {
            blocks_crd[position] = static_cast<C>(block);
            To* const places_of = to.data() + position * shape.places();
            merge.take(block, [&](std::uint64_t r, std::uint64_t c, std::uint64_t entry) {
              places_of[r * shape.row_step + c * shape.column_step] = static_cast<To>(from[entry]);
            });
          }
        });
      });
    });
  });
  auto narrow = as_positions(*begins, column.pos_bits, resources, name);
  if (!narrow) return std::unexpected(narrow.error());
  made_levels.levels[1].pos = std::move(*narrow);
  made_levels.levels[1].crd = std::move(*crd);
  made_levels.values = std::move(*values);
  return with_layout(made(std::move(made_levels)), format, rows.extents(), places != rows.nnz(), resources, name);
}

Expected<Tensor> rows_of_blocks(const Tensor& tensor, const AlignedBlocks& blocks, Zeros zeros, const Resources& resources,
                                std::string_view name) {
  return rows_of_places(tensor, rows_format(blocks.row, blocks.column, tensor.format().scalar), resources, name, [&](const auto& take) {
    with_stored_blocks(tensor, blocks, [&](const auto& stored) { stored.for_kept(resources.threads, zeros, take); });
  });
}

}  // namespace weft
