#include "runtime/entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/blocks.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/layout_entries.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {

Tensor cut_below(const Tensor& tensor, std::size_t last) {
  TensorArrays cut = tensor.arrays();
  cut.values = {};
  cut.format.levels.resize(last + 1);
  cut.format.mode_order.resize(last + 1);
  cut.levels.resize(last + 1);
  return made(std::move(cut));
}

Leaves::Leaves(const Tensor& tensor) : steps_(tensor.format().order()) {
  for (std::size_t l = 0; l < steps_.size(); ++l) {
    const Level& level = tensor.format().levels[l];
    steps_[l] = {level.kind, tensor.extent_of_level(l), Indices(tensor.levels()[l].pos, level.pos_bits)};
  }
}

std::uint64_t Leaves::position_of(std::size_t level, std::uint64_t positions, std::uint64_t leaf) const {
  // Invariant: the leaves of `low` begin at or before `leaf`, those of `high` after it.
  std::uint64_t low = 0;
  for (std::uint64_t high = positions; high - low > 1;) {
    std::uint64_t middle = low + (high - low) / 2;
    (begin(level, middle) <= leaf ? low : high) = middle;
  }
  return low;
}

namespace {

/// The coordinate of one level for every leaf.
template <class T, class Coordinate>
void expand(const Leaves& leaves, std::size_t level, std::uint64_t positions, std::span<T> out,
            const Resources& resources, Coordinate&& coordinate) {
  for_parts(resources, Blocks(out.size(), resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::uint64_t position = leaves.position_of(level, positions, begin);
    for (std::uint64_t leaf = begin; leaf < end; ++position) {
      const std::uint64_t stop = std::min(end, leaves.begin(level, position + 1));
      const auto each = static_cast<T>(coordinate(position));
      // As many as most short fibers have, without asking how many: what is too much is written over.
      constexpr std::uint64_t few = 4;
      if (end - leaf >= few) {
        std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(leaf), few, each);
        leaf = std::min(leaf + few, stop);
      }
      for (; leaf < stop; ++leaf) out[leaf] = each;
    }
  });
}

Expected<Buffer> level_coordinates(const Tensor& tensor, const Leaves& leaves, std::size_t l, std::uint64_t count,
                                   const Resources& resources) {
  const Level& level = tensor.format().levels[l];
  const std::uint64_t extent = tensor.extent_of_level(l);
  const unsigned bits = coordinate_bits(extent);
  const bool stored = is_sparse(level.kind);
  // Nothing but singletons below means one leaf per position.
  bool one_leaf_each = stored;
  for (std::size_t below = l + 1; below < tensor.order(); ++below)
    one_leaf_each = one_leaf_each && is_per_parent(tensor.format().levels[below].kind);
  if (one_leaf_each && bits == level.crd_bits && has_coordinates(level.kind)) return tensor.levels()[l].crd;

  auto buffer = Buffer::allocate(saturating_product(count, bits / 8), resources.memory, "the coordinates of entries");
  if (!buffer) return buffer;
  const std::uint64_t positions = tensor.positions(l);
  with_width(bits, [&]<class T>(T) {
    auto out = buffer->as<T>();
    if (has_lengths(level.kind)) {
      const Indices pos(tensor.levels()[l].pos, level.pos_bits);
      for_parts(resources, Blocks(pos.size() - 1, resources.threads, 1 << 10), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        for (std::uint64_t parent = begin; parent < end; ++parent)
          for (std::uint64_t position = pos[parent]; position < pos[parent + 1]; ++position) {
            const auto first = static_cast<std::ptrdiff_t>(leaves.begin(l, position));
            const auto behind = static_cast<std::ptrdiff_t>(leaves.begin(l, position + 1));
            std::fill(out.begin() + first, out.begin() + behind, static_cast<T>(position - pos[parent]));
          }
      });
    } else if (stored)
      with_width(level.crd_bits, [&]<class S>(S) {
        auto crd = tensor.levels()[l].crd.as<S>();
        expand(leaves, l, positions, out, resources, [&](std::uint64_t position) { return crd[position]; });
      });
    else
      expand(leaves, l, positions, out, resources, [&](std::uint64_t position) { return position % extent; });
  });
  return buffer;
}

/// Values of a strided tensor in the order of its levels.
Expected<Buffer> gathered_values(const Tensor& tensor, std::uint64_t count, const Resources& resources) {
  const unsigned bytes = scalar_bytes(tensor.format().scalar);
  auto buffer = Buffer::allocate(saturating_product(count, bytes), resources.memory, "the values of entries");
  if (!buffer) return buffer;
  with_width(bytes * 8, [&]<class T>(T) {  // moved as bits, whatever the scalar is
    auto given = tensor.values().as<T>();
    auto out = buffer->as<T>();
    for_parts(resources, Blocks(count, resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t n = begin; n < end; ++n) {
        std::uint64_t element = tensor.offset();
        std::uint64_t rest = n;
        for (std::size_t l = tensor.order(); l-- > 0;) {
          std::uint64_t extent = tensor.extent_of_level(l);
          element += rest % extent * tensor.levels()[l].stride;  // wraps for negative strides, as it must
          rest /= extent;
        }
        out[n] = given[element];
      }
    });
  });
  return buffer;
}

/// The entries whose value is not an exact zero, in the same order.
Expected<Coordinates> nonzeros(Coordinates all, const Resources& resources) {
  const Blocks blocks(all.count, resources.threads);
  std::vector<std::uint64_t> kept(blocks.number + 1, 0);
  auto scan = [&](auto values, auto&& f) {
    for_parts(resources, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      for (std::uint64_t n = begin; n < end; ++n)
        if (values[n] != 0) f(n, block);
    });
  };
  auto scan_any = [&](auto&& f) {
    with_element(all.scalar, [&]<class T>(T) { scan(std::as_const(all.values).template as<T>(), f); });
  };
  scan_any([&](std::uint64_t, std::uint64_t block) { ++kept[block]; });
  if (auto goes_on = check_not_cancelled(resources, "listing entries"); !goes_on) return std::unexpected(goes_on.error());
  std::uint64_t total = 0;
  for (std::uint64_t& count : kept) total += std::exchange(count, total);
  if (total == all.count) return all;

  auto compact = [&](Buffer& buffer, unsigned bits) -> Expected<void> {
    auto result = Buffer::allocate(total * (bits / 8), resources.memory, "the coordinates of entries");
    if (!result) return std::unexpected(result.error());
    with_width(bits, [&]<class T>(T) {
      auto from = std::as_const(buffer).as<T>();
      auto to = result->as<T>();
      std::vector<std::uint64_t> next = kept;
      scan_any([&](std::uint64_t n, std::uint64_t block) { to[next[block]++] = from[n]; });
    });
    buffer = std::move(*result);
    return check_not_cancelled(resources, "listing entries");
  };
  for (std::size_t m = 0; m < all.crd.size(); ++m)
    if (auto done = compact(all.crd[m], coordinate_bits(all.extents[m])); !done) return std::unexpected(done.error());
  // Last, because the values are what every scan above looks at.
  Buffer values = all.values;
  if (auto done = compact(values, scalar_bytes(all.scalar) * 8); !done) return std::unexpected(done.error());
  all.values = std::move(values);
  all.count = total;
  return all;
}

}  // namespace

static Expected<Coordinates> listed_entries(const Tensor& tensor, bool drop_zeros, const Resources& resources) {
  if (auto valid = verify_once(tensor, resources, "the tensor"); !valid) return std::unexpected(valid.error());
  if (tensor.format().layout) return entries_with_layout(tensor, drop_zeros ? Zeros::left_out : Zeros::kept, resources);
  if (has_gaps(tensor.format())) {
    auto listed = relaid(tensor, without_gaps(tensor.format()), resources, "entries");
    if (!listed) return std::unexpected(listed.error());
    return entries(*listed, drop_zeros, resources);
  }
  Coordinates result;
  result.extents = tensor.extents();
  result.scalar = tensor.format().scalar;
  result.count = tensor.nnz();
  result.crd.resize(tensor.order());
  const Leaves leaves(tensor);
  for (std::size_t l = 0; l < tensor.order(); ++l) {
    if (auto goes_on = check_not_cancelled(resources, "listing entries"); !goes_on) return std::unexpected(goes_on.error());
    auto crd = level_coordinates(tensor, leaves, l, result.count, resources);
    if (!crd) return std::unexpected(crd.error());
    result.crd[tensor.format().mode_order[l]] = std::move(*crd);
  }
  const bool strided = std::any_of(tensor.format().levels.begin(), tensor.format().levels.end(),
                                   [](const Level& level) { return level.strided; });
  if (strided) {
    auto values = gathered_values(tensor, result.count, resources);
    if (!values) return std::unexpected(values.error());
    result.values = std::move(*values);
  } else {
    result.values = tensor.values();
  }
  if (auto goes_on = check_not_cancelled(resources, "listing entries"); !goes_on) return std::unexpected(goes_on.error());
  return drop_zeros ? nonzeros(std::move(result), resources) : std::move(result);
}

Expected<Coordinates> entries(const Tensor& tensor, bool drop_zeros, const Resources& resources) {
  return guarded({"listing the entries of a tensor"}, [&] { return listed_entries(tensor, drop_zeros, resources); });
}

}  // namespace weft
