// What weft info says of a tensor.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/plan/explain/quantities.h"
#include "frontend/command.h"
#include "frontend/number_text.h"
#include "frontend/report_json.h"
#include "runtime/block_fill.h"
#include "runtime/convert.h"
#include "runtime/entries.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "weft/statistics.h"

namespace weft {
namespace {

/// The entries of a mode by coordinate: of a matrix's mode 0 its rows.
struct ModeUse {
  std::uint64_t used = 0;     ///< coordinates with entries
  std::uint64_t longest = 0;  ///< entries of one coordinate
};

struct SliceCount {
  std::uint64_t coordinate = 0;
  std::uint64_t entries = 0;
};

/// Calls visit(coordinate, entries) for every position of a level without gaps.
template <class Visit>
void visit_positions(const Tensor& tensor, const Leaves& leaves, std::size_t level, Visit&& visit) {
  const bool dense = is_dense(tensor.format().levels[level].kind);
  const std::uint64_t extent = tensor.extent_of_level(level);
  const Indices crd(tensor.levels()[level].crd, tensor.format().levels[level].crd_bits);
  std::uint64_t begin = 0;
  for (std::uint64_t position = 0; position != tensor.positions(level); ++position) {
    const std::uint64_t end = leaves.begin(level, position + 1);
    if (end != begin) visit(dense ? position % extent : crd[position], end - begin);
    begin = end;
  }
}

Expected<ModeUse> use_of_level(const Tensor& tensor, const Leaves& leaves, std::size_t level, const Memory& memory) {
  ModeUse use;
  const std::uint64_t extent = tensor.extent_of_level(level);
  const std::uint64_t positions = tensor.positions(level);
  if (extent / 4 <= positions) {
    auto counts = Buffer::allocate(extent * 8, memory, "counting entries");
    if (!counts) return std::unexpected(counts.error());
    const std::span<std::uint64_t> count = counts->as<std::uint64_t>();
    visit_positions(tensor, leaves, level,
                    [&](std::uint64_t coordinate, std::uint64_t entries) { count[coordinate] += entries; });
    use.used = extent - static_cast<std::uint64_t>(std::ranges::count(count, std::uint64_t{0}));
    if (!count.empty()) use.longest = std::ranges::max(count);
    return use;
  }
  // Of long extents only what occurs.
  auto counts = Buffer::allocate(positions * sizeof(SliceCount), memory, "counting entries");
  if (!counts) return std::unexpected(counts.error());
  const std::span<SliceCount> all = counts->as<SliceCount>();
  std::size_t there = 0;
  visit_positions(tensor, leaves, level, [&](std::uint64_t coordinate, std::uint64_t entries) {
    all[there++] = {coordinate, entries};
  });
  const std::span<SliceCount> count = all.first(there);
  std::ranges::sort(count, {}, &SliceCount::coordinate);
  for (std::size_t n = 0; n != count.size();) {
    std::uint64_t entries = 0;
    const std::size_t first = n;
    for (; n != count.size() && count[n].coordinate == count[first].coordinate; ++n) entries += count[n].entries;
    ++use.used;
    use.longest = std::max(use.longest, entries);
  }
  return use;
}

std::string mode_label(std::size_t order, std::size_t mode) {
  if (order != 2) return fmt::format("mode {}", mode);
  return mode == 0 ? "rows" : "columns";
}

/// "22.3 entries each": a mean with three digits that tell something.
std::string each_text(double mean) {
  const std::string number = mean >= 1000 ? fmt::format("{:.0f}", mean) : fmt::format("{:.3g}", mean);
  return number + (number == "1" ? " entry each" : " entries each");
}

/// A whole number without the point that shows that it is a real one.
std::string value_text(double value, Scalar scalar) {
  constexpr double most = 1e15;
  const bool whole = value == std::trunc(value) && std::abs(value) < most;
  return whole ? fmt::format("{:.0f}", value) : number_text(value, scalar);
}

template <class T>
std::string range_text(std::span<const T> values, Scalar scalar) {
  T least = std::numeric_limits<T>::infinity();
  T most = -least;
  bool finite = true;
  for (const T value : values) {
    finite = finite && std::isfinite(value);
    if (!(value >= least)) least = std::isnan(value) ? least : value;
    if (!(value <= most)) most = std::isnan(value) ? most : value;
  }
  const std::string more = finite ? "" : ", NaN or infinite ones among them";
  if (least > most) return values.empty() ? "no values" : "all values NaN";
  if (least == most) return fmt::format("all values {}{}", value_text(least, scalar), more);
  return fmt::format("values from {} to {}{}", value_text(least, scalar), value_text(most, scalar), more);
}

/// "  bcsr(3,3): 93 % full, 3.62 MB" for the blocks and strips of a matrix that take least memory.
std::string blocks_text(const Tensor& tensor, const std::vector<BlockFill>& blocks) {
  std::string text;
  for (const BlockFill& each : blocks)
    text += fmt::format("  {}: {:.0f} % full, {}\n", each.layout(), 100 * each.fill, bytes_text(each.bytes(tensor)));
  return text;
}

/// What is counted: levels in order, without gaps.
Expected<Tensor> in_order(const Tensor& given, const std::string& name, const Resources& resources) {
  auto plain = in_plain_format(given, resources, name);
  if (!plain || !has_gaps(plain->format())) return plain;
  return convert(*plain, without_gaps(plain->format()), resources, name);
}

/// None for a tensor that has a layout, or is dense.
Expected<std::vector<BlockFill>> listed(const Tensor& given, const Tensor& in_order, const Resources& resources) {
  if (given.format().layout || in_order.format().all_dense()) return std::vector<BlockFill>();
  return smallest_blocks(in_order, resources);
}

Expected<std::string> described(const Tensor& given, const std::string& name, const Resources& resources) {
  const auto plain = in_order(given, name, resources);
  if (!plain) return std::unexpected(plain.error());
  const Tensor& tensor = *plain;
  std::string text = fmt::format("{}\n  {}\n", name, given.summary());
  const std::uint64_t stored = tensor.nnz();
  if (given.padded())
    text += fmt::format("  the layout stores {} places for {} entries: fill {:.3g}\n", given.nnz(), stored,
                        static_cast<double>(stored) / static_cast<double>(given.nnz()));
  if (tensor.format().all_dense()) {
    if (tensor.order() > 0) text += "  dense: every entry is stored\n";
  } else {
    text += fmt::format("  density {:.3g}\n", density(tensor));
    const Leaves leaves(tensor);
    std::vector<std::string> lines(tensor.order());
    for (std::size_t level = 0; level != tensor.order(); ++level) {
      const std::uint32_t mode = tensor.format().mode_order[level];
      const auto use = use_of_level(tensor, leaves, level, resources.memory);
      if (!use) return std::unexpected(use.error());
      const std::uint64_t extent = tensor.extents()[mode];
      lines[mode] =
          fmt::format("  {}: {} used", mode_label(tensor.order(), mode),
                      use->used == extent ? fmt::format("all {}", extent) : fmt::format("{} of {}", use->used, extent));
      if (use->used > 0) {
        lines[mode] +=
            fmt::format(", {} on average, longest {}",
                        each_text(static_cast<double>(stored) / static_cast<double>(use->used)), use->longest);
      }
      lines[mode] += '\n';
    }
    for (const std::string& line : lines) text += line;
    const auto blocks = listed(given, tensor, resources);
    if (!blocks) return std::unexpected(blocks.error());
    text += blocks_text(tensor, *blocks);
  }
  const bool strided = std::ranges::any_of(tensor.format().levels, &Level::strided);  // beside elements of others
  if (strided) return text;
  const Buffer& values = std::as_const(tensor.values());
  return text + "  " +
         with_element(tensor.format().scalar,
                      [&]<class T>(T) { return range_text(values.as<T>().first(stored), tensor.format().scalar); }) +
         "\n";
}

}  // namespace

Expected<std::vector<BlockFill>> listed_layouts(const Tensor& tensor, const std::string& name, const Resources& resources) {
  return guarded({"counting the blocks of ", name}, [&]() -> Expected<std::vector<BlockFill>> {
    const auto plain = in_order(tensor, name, resources);
    return plain ? listed(tensor, *plain, resources) : std::unexpected(plain.error());
  });
}

Expected<std::string> info_text(const Tensor& tensor, const std::string& name, const Resources& resources) {
  return guarded({"describing ", name}, [&] { return described(tensor, name, resources); });
}

}  // namespace weft
