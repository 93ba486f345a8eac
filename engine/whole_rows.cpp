#include "engine/whole_rows.h"

#include <algorithm>
#include <atomic>

#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr std::uint64_t rows_at_once = 4096;

/// Whether levels [begin, end) hold a mode from its largest parts down to single coordinates: i/6, i/3%2, i%3.
bool holds_mode(const std::vector<ModePart>& parts, std::size_t begin, std::size_t end) {
  for (std::size_t level = begin; level < end; ++level) {
    const ModePart& part = parts[level];
    const std::uint64_t finer = level + 1 == end ? 1 : parts[level + 1].divisor * parts[level + 1].modulus;
    if (part.own || part.counts || part.mode != parts[begin].mode || part.divisor != finer) return false;
    if ((part.modulus == 0) != (level == begin)) return false;
  }
  return begin < end;
}

bool is_rows(const Format& format) {
  return !format.layout && format.order() == 2 && is_dense(format.levels[0].kind) && format.levels[1].kind == LevelKind::compressed;
}

}  // namespace

Expected<std::optional<Tensor>> in_whole_rows(const Tensor& computed, const std::vector<ModePart>& parts,
                                              const std::vector<std::uint64_t>& extents, const Format& wanted, const Resources& resources,
                                              const std::string& name) {
  const std::vector<Level>& levels = computed.format().levels;
  const auto is_listed_level = [](const Level& level) { return is_sparse(level.kind); };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(levels, is_listed_level) - levels.begin());
  const std::size_t listed = levels.size() - first;
  const bool fits = is_rows(wanted) && wanted.scalar == computed.format().scalar && listed >= 1 && listed <= 2 &&
                    std::all_of(levels.begin() + static_cast<std::ptrdiff_t>(first), levels.end(),
                                [](const Level& level) { return level.kind == LevelKind::compressed; }) &&
                    holds_mode(parts, 0, first) && holds_mode(parts, first, levels.size()) && parts[0].mode == wanted.mode_order[0];
  if (!fits) return std::optional<Tensor>();
  const std::uint64_t rows = extents[wanted.mode_order[0]], columns = extents[wanted.mode_order[1]];
  const std::uint64_t width = parts[first].divisor;  // of what the first listed level holds
  // i = 3 * i_0 + i_1 is the position of its row; those from `rows` on are rows of blocks beyond the extent.
  const Indices pos(computed.levels()[first].pos, levels[first].pos_bits), crd(computed.levels()[first].crd, levels[first].crd_bits);
  const Level& last = levels.back();
  const Indices inner(computed.levels().back().pos, last.pos_bits), single(computed.levels().back().crd, last.crd_bits);
  const auto begin_of = [&](std::uint64_t row) { return listed == 1 ? pos[row] : inner[pos[row]]; };
  const std::uint64_t entries = computed.positions(levels.size() - 1);
  if (pos.size() <= rows || begin_of(rows) != entries) return std::optional<Tensor>();
  TensorArrays made_rows;
  made_rows.format = wanted;
  made_rows.extents = extents;
  made_rows.levels.resize(2);
  widen(made_rows.format.levels[1].pos_bits, position_bits(entries));
  widen(made_rows.format.levels[1].crd_bits, coordinate_bits(columns));
  const unsigned pos_bits = made_rows.format.levels[1].pos_bits, crd_bits = made_rows.format.levels[1].crd_bits;
  auto ends = Buffer::allocate((rows + 1) * (pos_bits / 8), resources.memory, name);
  if (!ends) return std::unexpected(ends.error());
  auto coordinates = Buffer::allocate(entries * (crd_bits / 8), resources.memory, name);
  if (!coordinates) return std::unexpected(coordinates.error());
  std::atomic<bool> inside{true};
  const auto join = [&]<class Position, class Coordinate>(Position, Coordinate) {
    const auto to_ends = ends->as<Position>();
    const auto to = coordinates->as<Coordinate>();
    resources.threads.for_each((rows + rows_at_once - 1) / rows_at_once, [&](std::size_t block, unsigned) {
      if (resources.cancellation.cancelled()) return;
      bool all_inside = true;
      for (std::uint64_t row = block * rows_at_once; row < std::min(rows, (block + 1) * rows_at_once); ++row) {
        to_ends[row + 1] = static_cast<Position>(begin_of(row + 1));
        for (std::uint64_t outer = pos[row]; outer < pos[row + 1]; ++outer) {
          const std::uint64_t before = crd[outer] * width;
          const std::uint64_t begin = listed == 1 ? outer : inner[outer], end = listed == 1 ? outer + 1 : inner[outer + 1];
          for (std::uint64_t place = begin; place < end; ++place) {
            const std::uint64_t column = listed == 1 ? before : before + single[place];
            all_inside = all_inside && column < columns;
            to[place] = static_cast<Coordinate>(column);
          }
        }
      }
      if (!all_inside) inside = false;
    });
  };
  with_width(pos_bits, [&](auto position) { with_width(crd_bits, [&](auto coordinate) { join(position, coordinate); }); });
  if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
  if (!inside) return std::optional<Tensor>();
  made_rows.levels[1].pos = std::move(*ends);
  made_rows.levels[1].crd = std::move(*coordinates);
  made_rows.values = computed.values();
  return std::optional(made(std::move(made_rows)));
}

}  // namespace weft
