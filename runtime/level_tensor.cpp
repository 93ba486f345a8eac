#include "runtime/level_tensor.h"

#include <algorithm>
#include <numeric>

#include "runtime/affine.h"
#include "runtime/blocks.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"
#include "weft/layout.h"

namespace weft {
namespace {

template <class F>
void with_any_width(unsigned bits, F&& f) {
  if (bits == 8) return f(std::uint8_t{});
  if (bits == 16) return f(std::uint16_t{});
  with_width(bits, f);
}

Expected<Buffer> in_width(const Buffer& crd, unsigned from_bits, unsigned to_bits, const Resources& resources, std::string_view name) {
  if (from_bits == to_bits) return crd;
  const std::uint64_t count = crd.size_bytes() / (from_bits / 8);
  auto result = Buffer::allocate(count * (to_bits / 8), resources.memory, name);
  if (!result) return result;
  with_any_width(from_bits, [&]<class From>(From) {
    with_any_width(to_bits, [&]<class To>(To) {
      const auto from = crd.as<From>();
      const auto to = result->as<To>();
      for_blocks(resources.threads, Blocks(count, resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        for (std::uint64_t n = begin; n < end; ++n) to[n] = static_cast<To>(from[n]);
      });
    });
  });
  return result;
}

}  // namespace

namespace {

/// Whether fibers of the level are as long as bounds say, which may leave none.
bool varies(const LayoutLevel& level) {
  return (level.low && !level.low->is_number()) || (level.high && !level.high->is_number());
}

}  // namespace

LevelRules level_rules(const Layout& layout) {
  LevelRules rules;
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    const LayoutLevel& level = layout.levels[l];
    rules.order.push_back(level.order);
    const auto variable = level.value ? level.value->as_variable() : std::nullopt;
    const bool starts = variable && *variable >= layout.modes.size() && is_per_parent(level.kind);
    const bool bounded = std::ranges::any_of(layout.levels.begin() + static_cast<std::ptrdiff_t>(l), layout.levels.end(), varies);
    rules.childless.push_back(starts || (is_per_parent(level.kind) && bounded));
  }
  return rules;
}

Expected<Tensor> level_tensor(const Tensor& tensor, const Resources& resources, std::string_view name) {
  const Layout& layout = *tensor.format().layout;
  TensorArrays arrays;
  arrays.format.scalar = tensor.format().scalar;
  arrays.format.levels = tensor.format().levels;
  arrays.format.mode_order.resize(layout.levels.size());
  std::iota(arrays.format.mode_order.begin(), arrays.format.mode_order.end(), 0U);
  arrays.extents = tensor.level_extents();
  arrays.levels = tensor.levels();
  arrays.values = tensor.values();
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    Level& level = arrays.format.levels[l];
    const unsigned stored = level.crd_bits;
    if (stored < 32) level.crd_bits = static_cast<std::uint8_t>(coordinate_bits(arrays.extents[l]));
    if (!has_coordinates(level.kind)) continue;
    auto crd = in_width(arrays.levels[l].crd, stored, level.crd_bits, resources, name);
    if (!crd) return std::unexpected(crd.error());
    arrays.levels[l].crd = std::move(*crd);
  }
  return made(std::move(arrays));
}

Expected<Tensor> with_layout(const Tensor& levels, Format format, std::vector<std::uint64_t> extents, bool padded,
                             const Resources& resources, std::string_view name) {
  const Layout& layout = *format.layout;
  TensorArrays arrays;
  arrays.extents = std::move(extents);
  arrays.level_extents = levels.extents();
  arrays.levels = levels.levels();
  arrays.values = levels.values();
  arrays.padded = padded;
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    const Level& stored = levels.format().levels[l];
    Level& level = format.levels[l];
    level.pos_bits = stored.pos_bits;
    if (!has_coordinates(level.kind)) continue;
    const bool narrow = layout.levels[l].bits == 8 || layout.levels[l].bits == 16;
    level.crd_bits = narrow ? layout.levels[l].bits : stored.crd_bits;
    auto crd = in_width(arrays.levels[l].crd, stored.crd_bits, level.crd_bits, resources, name);
    if (!crd) return std::unexpected(crd.error());
    arrays.levels[l].crd = std::move(*crd);
  }
  arrays.format = std::move(format);
  return made(std::move(arrays));
}

}  // namespace weft
