// Tensors over memory of the host.
#include "weft/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/host_arrays.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// A compressed first level has one fiber: its pos may be left out.
Expected<Buffer> root_pos(std::uint64_t entries, Level& level) {
  level.pos_bits = 64;
  auto pos = Buffer::allocate(2 * sizeof(std::uint64_t), Memory(), "pos");
  if (pos) pos->as<std::uint64_t>()[1] = entries;
  return pos;
}

std::unexpected<Error> borrowed_defect(std::size_t level, std::string_view array, std::string_view what) {
  return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("a borrowed tensor: level {}: {} {}", level, array, what));
}

}  // namespace

std::string_view wrong_address(const void* data, std::uint64_t bytes, unsigned element_bytes) {
  if (bytes > 0 && data == nullptr) return "is a null pointer";
  return reinterpret_cast<std::uintptr_t>(data) % element_bytes == 0 ? "" : "is not aligned to its elements";
}

Expected<void> check_indices(const HostIndices& indices, std::uint64_t extent, std::size_t level, std::string_view array,
                             unsigned narrow) {
  if (narrow != 0 && indices.bits != narrow)
    return borrowed_defect(level, array, fmt::format("of {} bits: the layout says {}", indices.bits, narrow));
  if (narrow == 0 && indices.bits != 32 && indices.bits != 64)
    return borrowed_defect(level, array, fmt::format("of {} bits: indices have 32 or 64", indices.bits));
  // Else a negative one would be a coordinate: -1 is 4294967295 to what reads 32 bits.
  if (indices.is_signed && indices.bits != 64 && extent > std::uint64_t{1} << (indices.bits - 1))
    return borrowed_defect(level, array, fmt::format("of signed {}-bit integers, but the extent is {}", indices.bits, extent));
  const std::string_view wrong = wrong_address(indices.data, indices.bytes, indices.bits / 8);
  return wrong.empty() ? Expected<void>{} : borrowed_defect(level, array, wrong);
}

namespace {

/// The most coordinates of a fiber, of lengths that nothing has verified yet.
std::uint64_t longest_fiber(const HostIndices& pos) {
  const Indices ends(Buffer::borrow(pos.data, pos.bytes), pos.bits);
  std::uint64_t longest = 0;
  for (std::uint64_t n = 1; n < ends.size(); ++n) longest = std::max(longest, ends[n] > ends[n - 1] ? ends[n] - ends[n - 1] : 0);
  return longest;
}

/// Bits of coordinates that are narrower than those of plain formats; else 0.
unsigned narrow_bits(const LayoutLevel& level) { return level.bits == 8 || level.bits == 16 ? level.bits : 0; }

/// Ends of fibers as bounds say them, of lower over 3 rows {0, 1, 3, 6}. Input error where levels above are stored, whose
/// positions the bounds do not tell, and where there are more places than values.
class EndsByBounds {
 public:
  EndsByBounds(const Placement& placement, std::size_t level, std::uint64_t values)
      : placement_(placement), level_(level), values_(values), above_(placement.levels().size()) {}

  Expected<Buffer> made() {
    for (std::size_t l = 0; l < level_; ++l) {
      const LayoutLevel& above = placement_.layout().levels[l];
      if (!is_dense(above.kind) && !(has_lengths(above.kind) && placement_.levels()[l].varies()))
        return borrowed_defect(level_, "pos", fmt::format("is left out, but follows from level {}, which is stored", l));
    }
    if (!append(0))
      return borrowed_defect(level_, "pos", fmt::format("is left out, and its bounds have more places than the {} values", values_));
    auto pos = Buffer::allocate(ends_.size() * sizeof(std::uint64_t), Memory(), "pos");
    if (pos) std::ranges::copy(ends_, pos->as<std::uint64_t>().begin());
    return pos;
  }

 private:
  /// Fibers below the values of the levels above; false where there are too many places.
  bool append(std::size_t l) {
    const ValueRange here = placement_.levels()[l].at(above_);
    const bool empty = placement_.levels()[l].extent == 0 || here.most < here.least;
    const std::uint64_t count = empty ? 0 : static_cast<std::uint64_t>(here.most - here.least) + 1;
    if (l == level_) {
      if (count > values_ - ends_.back()) return false;
      ends_.push_back(ends_.back() + count);
      return true;
    }
    for (std::uint64_t n = 0; n < count; ++n) {
      above_[l] = here.least + static_cast<std::int64_t>(n);
      if (!append(l + 1)) return false;
    }
    return true;
  }

  const Placement& placement_;
  std::size_t level_;
  std::uint64_t values_;
  std::vector<std::int64_t> above_;
  std::vector<std::uint64_t> ends_{0};
};

/// Slots at each position above, by the coordinates that stand in them: 3 of ell over 2 rows and 6 columns. Nothing where other levels are
/// stored, or these do not come out even. `extents`: of the levels above.
std::optional<std::uint64_t> slots_by_coordinates(const Placement& placement, const PlacedSlots& slots,
                                                  const std::vector<std::uint64_t>& extents, const std::vector<HostLevel>& levels) {
  std::uint64_t others = 1;
  for (std::size_t l = 0; l < slots.first; ++l) {
    const LevelKind kind = placement.layout().levels[l].kind;
    if (l == slots.level || is_per_parent(kind)) continue;
    if (!is_dense(kind) || placement.levels()[l].varies()) return std::nullopt;
    others = saturating_product(others, extents[l]);
  }
  const HostIndices& crd = levels[slots.first].crd;
  const std::uint64_t count = crd.bits == 0 ? 0 : crd.bytes / (crd.bits / 8);
  if (others == 0) return count == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
  return count % others == 0 ? std::optional(count / others) : std::nullopt;
}

/// Extents of the levels of a layout over arrays of the host: slots without a number have as many as the longest fiber, or as coordinates
/// stand in them.
Expected<std::vector<std::uint64_t>> borrowed_extents(const Placement& placement, const std::vector<HostLevel>& levels) {
  std::vector<std::uint64_t> of_levels = placement.level_extents();
  for (std::size_t l = 0; l < of_levels.size(); ++l) {
    const LayoutLevel& level = placement.layout().levels[l];
    if (level.value || level.high) continue;
    if (!has_lengths(level.kind)) {
      const auto placed = std::ranges::find(placement.slots(), l, &PlacedSlots::level);
      const auto slots = slots_by_coordinates(placement, *placed, of_levels, levels);
      if (!slots) return borrowed_defect(l, "slots", "have no number that the coordinates in them tell: *:d(7) says it");
      of_levels[l] = *slots;
      continue;
    }
    if (auto checked = check_indices(levels[l].pos, 0, l, "pos"); !checked) return std::unexpected(checked.error());
    of_levels[l] = longest_fiber(levels[l].pos);
  }
  return of_levels;
}

/// A layout over the arrays of its levels, as a format over levels is: verified when it is first read.
Expected<Tensor> borrowed_layout(Format format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                                 HostValues values) {
  const Layout& layout = *format.layout;
  if (levels.size() != format.order() || extents.size() != format.modes())
    return input_error(fmt::format("{} extents and arrays of {} levels for the layout {}", extents.size(), levels.size(), format.text()));
  TensorArrays tensor;
  tensor.levels.resize(levels.size());
  const auto placement = Placement::of(layout, extents, "a borrowed tensor");
  if (!placement) return std::unexpected(placement.error());
  auto of_levels = borrowed_extents(*placement, levels);
  if (!of_levels) return std::unexpected(of_levels.error());
  for (std::size_t l = 0; l < levels.size(); ++l) {
    Level& level = format.levels[l];
    const auto& [pos, crd] = levels[l];
    if (is_dense(level.kind)) continue;
    if (has_gaps(level.kind)) return borrowed_defect(l, "arrays", "of hashed and bitmap levels are laid out by weft alone");
    if (has_coordinates(level.kind)) {
      const unsigned narrow = narrow_bits(layout.levels[l]);
      if (auto checked = check_indices(crd, (*of_levels)[l], l, "crd", narrow); !checked) return std::unexpected(checked.error());
      level.crd_bits = crd.bits;
      tensor.levels[l].crd = Buffer::borrow(crd.data, crd.bytes);
    }
    if (is_per_parent(level.kind)) continue;
    if (pos.bytes == 0 && has_lengths(level.kind) && placement->levels()[l].varies()) {
      auto ends = EndsByBounds(*placement, l, values.bytes / scalar_bytes(values.scalar)).made();
      if (!ends) return std::unexpected(ends.error());
      level.pos_bits = 64;
      tensor.levels[l].pos = std::move(*ends);
      continue;
    }
    if (auto checked = check_indices(pos, 0, l, "pos"); !checked) return std::unexpected(checked.error());
    level.pos_bits = pos.bits;
    tensor.levels[l].pos = Buffer::borrow(pos.data, pos.bytes);
  }
  const std::string_view wrong = wrong_address(values.data, values.bytes, scalar_bytes(values.scalar));
  if (!wrong.empty()) return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("a borrowed tensor: the array of values {}", wrong));
  format.scalar = values.scalar;
  tensor.format = std::move(format);
  tensor.extents = std::move(extents);
  tensor.level_extents = std::move(*of_levels);
  tensor.values = Buffer::borrow(values.data, values.bytes);
  return Tensor(std::move(tensor));
}

}  // namespace

static Expected<Tensor> borrowed(Format format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                        HostValues values) {
  if (format.layout) return borrowed_layout(std::move(format), std::move(extents), levels, values);
  if (levels.size() != format.order() || extents.size() != format.order()) {
    return input_error(fmt::format("{} extents and arrays of {} levels for a format of {}", extents.size(), levels.size(),
                                   format.order()));
  }
  TensorArrays tensor;
  tensor.levels.resize(levels.size());
  for (std::size_t l = 0; l < levels.size(); ++l) {
    Level& level = format.levels[l];
    const auto& [pos, crd] = levels[l];
    if (is_dense(level.kind)) continue;
    const std::uint64_t extent = format.mode_order.size() > l && format.mode_order[l] < extents.size() ? extents[format.mode_order[l]] : 0;
    if (auto checked = check_indices(crd, has_bits(level.kind) ? 0 : extent, l, "crd"); !checked)
      return std::unexpected(checked.error());
    if (auto checked = check_indices(pos, 0, l, "pos"); !checked) return std::unexpected(checked.error());
    if (has_bits(level.kind)) {
      const std::string_view wrong = wrong_address(crd.data, crd.bytes, sizeof(std::uint64_t));
      if (!wrong.empty()) return borrowed_defect(l, "the bitmap", wrong);
    }
    if (has_coordinates(level.kind)) level.crd_bits = crd.bits;
    tensor.levels[l].crd = Buffer::borrow(crd.data, crd.bytes);
    if (is_per_parent(level.kind)) continue;
    level.pos_bits = pos.bits;
    tensor.levels[l].pos = Buffer::borrow(pos.data, pos.bytes);
    if (l > 0 || pos.bytes > 0 || !has_pos(level.kind)) continue;
    auto made = root_pos(crd.bytes / (crd.bits / 8), level);
    if (!made) return std::unexpected(made.error());
    tensor.levels[l].pos = std::move(*made);
  }
  format.scalar = values.scalar;
  if (auto checked = check_buildable(format, extents, "a borrowed tensor"); !checked)
    return std::unexpected(checked.error());
  const std::string_view wrong = wrong_address(values.data, values.bytes, scalar_bytes(values.scalar));
  if (!wrong.empty()) return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("a borrowed tensor: the array of values {}", wrong));
  tensor.format = std::move(format);
  tensor.extents = std::move(extents);
  tensor.values = Buffer::borrow(values.data, values.bytes);
  return Tensor(std::move(tensor));
}

// The modes, outermost first, of elements that follow each other without gaps: {1, 0} of a matrix by columns. Nothing of others.
static std::optional<std::vector<std::uint32_t>> packed_order(const std::vector<std::uint64_t>& extents,
                                                              const std::vector<std::int64_t>& strides) {
  std::vector<std::uint32_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  // Of a mode with one coordinate the stride says nothing.
  const auto distance = [&](std::uint32_t mode) { return extents[mode] > 1 ? strides[mode] : std::numeric_limits<std::int64_t>::max(); };
  std::ranges::stable_sort(order, std::ranges::greater{}, distance);
  std::uint64_t packed = 1;
  for (std::size_t level = order.size(); level-- > 0;) {
    if (extents[order[level]] == 0) return std::nullopt;
    if (extents[order[level]] == 1) continue;
    if (static_cast<std::uint64_t>(strides[order[level]]) != packed) return std::nullopt;
    packed *= extents[order[level]];
  }
  return order;
}

static Expected<Tensor> borrowed_strided(std::vector<std::uint64_t> extents, HostValues values, const std::vector<std::int64_t>& strides,
                              std::uint64_t offset) {
  const std::size_t order = extents.size();
  if (!strides.empty() && strides.size() != order)
    return input_error(fmt::format("{} strides for {} extents", strides.size(), order));
  auto tensor = borrow(dense_format(order), std::move(extents), std::vector<HostLevel>(order), values);
  if (!tensor) return tensor;
  if (order == 0 && offset > 0) {  // no level has it
    const std::uint64_t bytes = scalar_bytes(values.scalar), given = values.bytes / bytes;
    if (offset >= given)
      return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("the element {} of {} values", offset, given));
    TensorArrays one = tensor->arrays();
    one.values = Buffer::borrow(static_cast<const char*>(values.data) + offset * bytes, bytes);
    return Tensor(std::move(one));
  }
  // Elements without gaps, in any order of the modes, have no strided layout: kernels then know the distances.
  bool strided = offset != 0;
  std::uint64_t packed = 1;
  for (std::size_t mode = order; mode-- > 0 && !strides.empty();) {
    strided = strided || (tensor->extents()[mode] > 1 && static_cast<std::uint64_t>(strides[mode]) != packed);
    packed *= tensor->extents()[mode];
  }
  std::uint64_t bytes = scalar_bytes(values.scalar);  // there may be more behind the last
  for (const std::uint64_t extent : tensor->extents()) bytes = saturating_product(bytes, extent);
  if (strides.empty() && order > 0 && offset == 0 && bytes < values.bytes)
    return fail(ErrorKind::input, ErrorCode::sizes, {},
                fmt::format("{} bytes of values, but {} elements of {} bytes", values.bytes, bytes / scalar_bytes(values.scalar),
                            scalar_bytes(values.scalar)));
  if (!strided && bytes >= values.bytes) return tensor;
  TensorArrays arrays = tensor->arrays();
  auto modes = std::optional(arrays.format.mode_order);
  if (strided) modes = offset == 0 ? packed_order(arrays.extents, strides) : std::nullopt;
  if (modes) {
    arrays.format.mode_order = std::move(*modes);
    if (bytes <= values.bytes) arrays.values = Buffer::borrow(values.data, bytes);
    return Tensor(std::move(arrays));
  }
  packed = 1;
  for (std::size_t mode = order; mode-- > 0;) {
    arrays.format.levels[mode].strided = true;
    arrays.levels[mode].stride = strides.empty() ? packed : static_cast<std::uint64_t>(strides[mode]);
    packed *= tensor->extents()[mode];
  }
  arrays.offset = offset;
  return Tensor(std::move(arrays));
}

Expected<Tensor> borrow_csr(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd, HostValues values) {
  return guarded({"borrowing a tensor"}, [&]() -> Expected<Tensor> {
    Format format = sparse_format(2);
    format.levels[0].kind = LevelKind::dense;
    return borrow(std::move(format), {rows, columns}, {{}, {pos, crd}}, values);
  });
}

Expected<Tensor> borrow_csc(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd, HostValues values) {
  return guarded({"borrowing a tensor"}, [&]() -> Expected<Tensor> {
    Format format = sparse_format(2);
    format.levels[0].kind = LevelKind::dense;
    format.mode_order = {1, 0};
    return borrow(std::move(format), {rows, columns}, {{}, {pos, crd}}, values);
  });
}

Expected<Tensor> borrow_coo(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, HostValues values) {
  return guarded({"borrowing a tensor"}, [&]() -> Expected<Tensor> {
    Format format = sparse_format(extents.size());
    std::vector<HostLevel> levels;
    for (std::size_t mode = 0; mode < crd.size(); ++mode) {
      if (mode < format.order() && format.order() > 1)
        format.levels[mode].kind = mode == 0 ? LevelKind::compressed_nonunique : LevelKind::singleton;
      levels.push_back({{}, crd[mode]});
    }
    return borrow(std::move(format), std::move(extents), levels, values);
  });
}

Expected<Tensor> borrow(Format format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                        HostValues values) {
  return guarded({"borrowing a tensor"}, [&] { return borrowed(std::move(format), std::move(extents), levels, values); });
}

Expected<Tensor> borrow_dense(std::vector<std::uint64_t> extents, HostValues values, const std::vector<std::int64_t>& strides,
                              std::uint64_t offset) {
  return guarded({"borrowing a tensor"}, [&] { return borrowed_strided(std::move(extents), values, strides, offset); });
}

Expected<Tensor> same_pattern(const Tensor& tensor, HostValues values) {
  return guarded({"giving a pattern other values"}, [&]() -> Expected<Tensor> {
    const std::string_view wrong = wrong_address(values.data, values.bytes, scalar_bytes(values.scalar));
    if (!wrong.empty()) return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("other values of a pattern: the array {}", wrong));
    return same_pattern(tensor, Buffer::borrow(values.data, values.bytes), values.scalar);
  });
}

/// Writes one array of a level into one of the host, whose width may be another.
static Expected<void> copy_indices(const Buffer& from, std::uint8_t bits, const HostIndices& to, std::size_t level,
                                   std::string_view array) {
  if (auto right = check_indices(to, 0, level, array); !right) return right;
  const Indices given(from, bits);
  if (to.bytes / (to.bits / 8) != given.size())
    return borrowed_defect(level, array, fmt::format("of {} elements for a pattern that has {}", to.bytes / (to.bits / 8), given.size()));
  const std::uint64_t most = to.bits == 64 ? ~std::uint64_t{0} : to.is_signed ? 0x7fffffff : 0xffffffff;
  for (std::uint64_t n = 0; n < given.size(); ++n) {
    if (given[n] > most) return borrowed_defect(level, array, fmt::format("of 32 bits, but {} is to be stored", given[n]));
  }
  with_width(to.bits, [&]<class T>(T) {
    T* place = static_cast<T*>(const_cast<void*>(to.data));
    for (std::uint64_t n = 0; n < given.size(); ++n) place[n] = static_cast<T>(given[n]);
  });
  return {};
}

static Expected<Tensor> in_arrays(const Tensor& tensor, const std::vector<HostLevel>& levels, HostValues values) {
  if (tensor.format().layout)
    return unsupported(fmt::format("a pattern in the layout {} has no arrays of the host", tensor.format().text()));
  if (levels.size() != tensor.order())
    return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("arrays of {} levels for a pattern that has {}", levels.size(),
                                                                     tensor.order()));
  auto lent = same_pattern(tensor, values);
  if (!lent) return lent;
  Format format = lent->format();
  std::vector<LevelArrays> arrays(levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const LevelKind kind = format.levels[level].kind;
    if (is_dense(kind)) continue;
    if (has_gaps(kind)) return borrowed_defect(level, "arrays", "of hashed and bitmap levels are laid out by weft alone");
    const auto& [pos, crd] = levels[level];
    if (auto copied = copy_indices(tensor.levels()[level].crd, format.levels[level].crd_bits, crd, level, "crd"); !copied)
      return std::unexpected(copied.error());
    format.levels[level].crd_bits = crd.bits;
    arrays[level].crd = Buffer::borrow(crd.data, crd.bytes);
    if (is_per_parent(kind)) continue;
    if (auto copied = copy_indices(tensor.levels()[level].pos, format.levels[level].pos_bits, pos, level, "pos"); !copied)
      return std::unexpected(copied.error());
    format.levels[level].pos_bits = pos.bits;
    arrays[level].pos = Buffer::borrow(pos.data, pos.bytes);
  }
  return TensorParts::with_levels(tensor, std::move(format), std::move(arrays), lent->values());
}

Expected<Tensor> same_pattern(const Tensor& tensor, const std::vector<HostLevel>& levels, HostValues values) {
  return guarded({"giving a pattern arrays of the host"}, [&]() -> Expected<Tensor> {
    if (auto valid = verify_once(tensor, Resources{Memory(), Threads(1), Cancellation(), {}}, "the pattern"); !valid)
      return std::unexpected(valid.error());
    return in_arrays(tensor, levels, values);
  });
}

Tensor trusted(Tensor tensor) {
  const bool has_pattern = TensorParts::pattern_facts(tensor) != nullptr;
  return !has_pattern || is_verified(tensor) ? tensor : TensorParts::vouched(tensor);
}

}  // namespace weft
