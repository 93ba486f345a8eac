#include "runtime/row_groups.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/scalar_traits.h"

namespace weft {

const AffineTerm* part_of_mode(const LayoutLevel& level) {
  const bool is_narrow = level.bits == 8 || level.bits == 16;
  if (!level.value || level.low || level.high || level.order != LevelOrder::ascending || is_narrow) return nullptr;
  if (level.value->terms().size() != 1 || level.value->constant() != 0) return nullptr;
  const AffineTerm& term = level.value->terms().front();
  return term.sum || term.factor != 1 ? nullptr : &term;
}

Format rows_format(std::uint32_t row, std::uint32_t column, Scalar scalar) {
  Format format;
  format.levels = {{.kind = LevelKind::dense}, {.kind = LevelKind::compressed}};
  format.mode_order = {row, column};
  format.scalar = scalar;
  return format;
}

bool are_worth_grouping(std::uint64_t rows, std::uint64_t columns, std::uint64_t entries) {
  return columns > 0 && rows > 0 && rows / 16 <= entries + 256;
}

std::uint64_t to_begins(std::span<std::uint64_t> counts) {
  std::uint64_t total = 0;
  for (std::uint64_t& each : counts) total += std::exchange(each, total);
  return total;
}

Expected<Buffer> as_positions(const Buffer& begins, unsigned bits, const Resources& resources, std::string_view name) {
  if (bits == 64) {  // a copy, since begins move on
    auto pos = Buffer::allocate(begins.size_bytes(), resources.memory, name);
    if (pos) std::ranges::copy(begins.as<const std::uint64_t>(), pos->as<std::uint64_t>().begin());
    return pos;
  }
  const auto from = begins.as<const std::uint64_t>();
  auto pos = Buffer::allocate(from.size() * sizeof(std::uint32_t), resources.memory, name);
  if (!pos) return pos;
  std::ranges::transform(from, pos->as<std::uint32_t>().begin(), [](std::uint64_t each) { return static_cast<std::uint32_t>(each); });
  return pos;
}

Format level_format(const Format& format) {
  Format made;
  made.scalar = format.scalar;
  made.mode_order.resize(format.order());
  std::iota(made.mode_order.begin(), made.mode_order.end(), 0U);
  for (const Level& level : format.levels)
    made.levels.push_back({.kind = level.kind, .pos_bits = level.pos_bits, .crd_bits = std::max<std::uint8_t>(level.crd_bits, 32)});
  return made;
}

}  // namespace weft
