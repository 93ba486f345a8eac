// Tensors copied from arrays of the host, and taken apart into arrays.
#include "weft/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/guarded.h"
#include "runtime/host_arrays.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr std::string_view copied_name = "a copied tensor";

/// An array of the host as it is read here. A negative index becomes one beyond every extent.
class HostReader {
 public:
  HostReader() = default;
  explicit HostReader(const HostIndices& indices) : indices_(indices) {}
  std::uint64_t size() const { return indices_.bytes / (indices_.bits / 8); }
  std::uint64_t operator[](std::uint64_t n) const {
    if (indices_.bits == 64) return static_cast<const std::uint64_t*>(indices_.data)[n];
    const std::uint32_t index = static_cast<const std::uint32_t*>(indices_.data)[n];
    return indices_.is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(index)}) : index;
  }
  /// As the host wrote it.
  std::string text(std::uint64_t n) const {
    const std::uint64_t index = (*this)[n];
    return indices_.is_signed ? fmt::format("{}", static_cast<std::int64_t>(index)) : fmt::format("{}", index);
  }

 private:
  HostIndices indices_;
};

std::unexpected<Error> copied_defect(ErrorCode code, std::size_t level, std::string_view what) {
  return fail(ErrorKind::input, code, {}, fmt::format("{}: level {}: {}", copied_name, level, what));
}

/// The arrays of a level, with the positions that they make of those above.
struct LevelReader {
  LevelKind kind = LevelKind::dense;
  std::uint64_t extent = 0;
  HostReader pos, crd;
  bool one_fiber = false;  ///< a first level without pos
  std::uint64_t positions = 1;

  std::uint64_t begin(std::uint64_t parent) const { return one_fiber ? 0 : pos[parent]; }
  std::uint64_t end(std::uint64_t parent) const { return one_fiber ? crd.size() : pos[parent + 1]; }
};

Expected<void> check_sizes(LevelReader& reader, std::size_t level, std::uint64_t parents) {
  if (is_dense(reader.kind)) {
    reader.positions = saturating_product(parents, reader.extent);
    return {};
  }
  if (is_per_parent(reader.kind)) {
    reader.positions = parents;
  } else if (reader.one_fiber) {
    reader.positions = reader.crd.size();
  } else {
    if (reader.pos.size() != saturating_sum(parents, 1)) {
      return copied_defect(ErrorCode::sizes, level,
                           fmt::format("pos has {} elements, {} are needed", reader.pos.size(), saturating_sum(parents, 1)));
    }
    if (reader.pos[0] != 0)
      return copied_defect(ErrorCode::sizes, level, fmt::format("pos begins with {}, not with 0", reader.pos.text(0)));
    for (std::uint64_t parent = 0; parent < parents; ++parent) {
      if (reader.pos[parent] <= reader.pos[parent + 1]) continue;
      return copied_defect(ErrorCode::sizes, level,
                           fmt::format("pos does not ascend: {} follows {} at {}", reader.pos.text(parent + 1),
                                       reader.pos.text(parent), parent + 1));
    }
    reader.positions = reader.pos[parents];
  }
  if (reader.crd.size() == reader.positions) return {};
  return copied_defect(ErrorCode::sizes, level, fmt::format("crd has {} elements for {} positions", reader.crd.size(), reader.positions));
}

Expected<std::vector<LevelReader>> readers(const Format& format, const std::vector<std::uint64_t>& extents,
                                           const std::vector<HostLevel>& levels, const HostValues& values) {
  if (format.layout) return unsupported(fmt::format("arrays of the host are not read in the layout {}: build the tensor", format.text()));
  if (levels.size() != format.order() || extents.size() != format.order()) {
    return fail(ErrorKind::input, ErrorCode::order, {},
                fmt::format("{} extents and arrays of {} levels for a format of {}", extents.size(), levels.size(), format.order()));
  }
  if (auto right = check_buildable(format, extents, copied_name); !right) return std::unexpected(right.error());
  std::vector<LevelReader> made(levels.size());
  std::uint64_t parents = 1;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const HostLevel& arrays = levels[level];
    LevelReader& reader = made[level];
    reader.kind = format.levels[level].kind;
    reader.extent = extents[format.mode_order[level]];
    if (has_gaps(reader.kind))
      return copied_defect(ErrorCode::other, level, "hashed and bitmap levels are made by weft alone: give a compressed one");
    if (is_sparse(reader.kind)) {
      // Negative coordinates are told as such, so no extent is too large for the sign.
      if (auto right = check_indices(arrays.crd, 0, level, "crd"); !right) return std::unexpected(right.error());
      if (auto right = check_indices(arrays.pos, 0, level, "pos"); !right) return std::unexpected(right.error());
      reader.crd = HostReader(arrays.crd);
      reader.pos = HostReader(arrays.pos);
      reader.one_fiber = level == 0 && arrays.pos.bytes == 0 && !is_per_parent(reader.kind);
    }
    if (auto right = check_sizes(reader, level, parents); !right) return std::unexpected(right.error());
    parents = reader.positions;
  }
  const std::string_view wrong = wrong_address(values.data, values.bytes, scalar_bytes(values.scalar));
  if (!wrong.empty()) return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("{}: the array of values {}", copied_name, wrong));
  const std::uint64_t given = values.bytes / scalar_bytes(values.scalar);
  // A list of order 0 has as many entries as there are values.
  if (given != parents && !levels.empty())
    return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("{}: {} values for {} positions", copied_name, given, parents));
  return made;
}

/// The coordinates of one level, one per position of it, and those of the levels above brought along.
Expected<Buffer> expanded_once(const Buffer& above, std::uint64_t parents, const LevelReader& reader, const Resources& resources) {
  auto below = Buffer::allocate(saturating_product(reader.positions, sizeof(std::uint64_t)), resources.memory, copied_name);
  if (!below) return below;
  const auto from = above.as<const std::uint64_t>();
  const auto to = below->as<std::uint64_t>();
  std::uint64_t next = 0;
  for (std::uint64_t parent = 0; parent < parents; ++parent) {
    const std::uint64_t children = is_dense(reader.kind)       ? reader.extent
                                   : is_per_parent(reader.kind) ? 1
                                                                         : reader.end(parent) - reader.begin(parent);
    for (std::uint64_t child = 0; child < children; ++child) to[next++] = from[parent];
  }
  return below;
}

Expected<Buffer> coordinates_of(const LevelReader& reader, std::size_t level, const Resources& resources) {
  auto own = Buffer::allocate(saturating_product(reader.positions, sizeof(std::uint64_t)), resources.memory, copied_name);
  if (!own) return own;
  const auto to = own->as<std::uint64_t>();
  for (std::uint64_t position = 0; position < reader.positions; ++position) {
    if (is_dense(reader.kind)) {
      to[position] = position % reader.extent;
      continue;
    }
    to[position] = reader.crd[position];
    if (to[position] < reader.extent) continue;
    return copied_defect(ErrorCode::out_of_range, level,
                         fmt::format("coordinate {} at position {} is not below the extent {}", reader.crd.text(position), position,
                                     reader.extent));
  }
  return own;
}

/// 64-bit coordinates in the width of a list.
Expected<Buffer> in_list_width(Buffer wide, std::uint64_t extent, const Resources& resources) {
  if (coordinate_bits(extent) == 64) return wide;
  const auto from = std::as_const(wide).as<const std::uint64_t>();
  auto narrow = Buffer::allocate(from.size() * sizeof(std::uint32_t), resources.memory, copied_name);
  if (!narrow) return narrow;
  std::ranges::transform(from, narrow->as<std::uint32_t>().begin(), [](std::uint64_t crd) { return static_cast<std::uint32_t>(crd); });
  return narrow;
}

Expected<Buffer> copy_of(const HostValues& values, const Resources& resources) {
  auto copied = Buffer::allocate(values.bytes, resources.memory, copied_name);
  if (copied && values.bytes > 0) std::memcpy(copied->data(), values.data, values.bytes);
  return copied;
}

/// Every entry that the levels say, in their order.
Expected<Coordinates> listed(const Format& format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                             const HostValues& values, const Resources& resources) {
  const auto read = readers(format, extents, levels, values);
  if (!read) return std::unexpected(read.error());
  Coordinates list;
  list.scalar = values.scalar;
  list.count = values.bytes / scalar_bytes(values.scalar);
  std::vector<Buffer> crd;  // by level
  std::uint64_t parents = 1;
  for (std::size_t level = 0; level < read->size(); ++level) {
    if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    const LevelReader& reader = (*read)[level];
    auto own = coordinates_of(reader, level, resources);
    if (!own) return std::unexpected(own.error());
    for (Buffer& above : crd) {
      if (is_per_parent(reader.kind)) break;  // one entry per position: as they are
      auto below = expanded_once(above, parents, reader, resources);
      if (!below) return std::unexpected(below.error());
      above = std::move(*below);
    }
    crd.push_back(std::move(*own));
    parents = reader.positions;
  }
  list.crd.resize(crd.size());
  for (std::size_t level = 0; level < crd.size(); ++level) {
    const std::uint32_t mode = format.mode_order[level];
    auto narrow = in_list_width(std::move(crd[level]), extents[mode], resources);
    if (!narrow) return std::unexpected(narrow.error());
    list.crd[mode] = std::move(*narrow);
  }
  auto copied = copy_of(values, resources);
  if (!copied) return std::unexpected(copied.error());
  list.values = std::move(*copied);
  list.extents = std::move(extents);
  return list;
}

Expected<Tensor> copied_levels(const Format& described, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                               const HostValues& values, Format format, const Resources& resources) {
  auto list = listed(described, std::move(extents), levels, values, resources);
  if (!list) return std::unexpected(list.error());
  return build_from(std::move(*list), std::move(format), {}, resources, copied_name);
}

Expected<Tensor> copied_matrix(const std::vector<std::uint32_t>& mode_order, std::uint64_t rows, std::uint64_t columns,
                               const HostIndices& pos, const HostIndices& crd, const HostValues& values, const Resources& resources) {
  Format format = sparse_format(2, values.scalar);
  format.levels[0].kind = LevelKind::dense;
  format.mode_order = mode_order;
  return copied_levels(format, {rows, columns}, {{}, {pos, crd}}, values, format, resources);
}

Expected<Tensor> copied_entries(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, const HostValues& values,
                                Format format, const Resources& resources) {
  const std::size_t order = extents.size();
  if (crd.size() != order) {
    return fail(ErrorKind::input, ErrorCode::order, {}, fmt::format("{} arrays of coordinates for {} extents", crd.size(), order));
  }
  Format described = sparse_format(order, values.scalar);
  std::vector<HostLevel> levels;
  for (std::size_t mode = 0; mode < order; ++mode) {
    if (order > 1) described.levels[mode].kind = mode == 0 ? LevelKind::compressed_nonunique : LevelKind::singleton;
    levels.push_back({{}, crd[mode]});
  }
  return copied_levels(described, std::move(extents), levels, values, std::move(format), resources);
}

Expected<Tensor> copied_dense(std::vector<std::uint64_t> extents, const HostValues& values, const std::vector<std::int64_t>& strides,
                              std::uint64_t offset, const Resources& resources) {
  const auto lent = borrow_dense(std::move(extents), values, strides, offset);
  if (!lent) return std::unexpected(lent.error());
  if (auto valid = verify_once(*lent, resources, copied_name); !valid) return std::unexpected(valid.error());
  const Format format = dense_format(lent->order(), values.scalar);
  if (lent->format() != format) return convert(*lent, format, resources, copied_name);
  TensorArrays arrays = lent->arrays();
  auto copied = copy_of(values, resources);
  if (!copied) return std::unexpected(copied.error());
  arrays.values = std::move(*copied);
  return made(std::move(arrays));
}

std::vector<std::uint64_t> indices_of(const Buffer& buffer, unsigned bits) {
  const Indices array(buffer, bits);
  std::vector<std::uint64_t> all(array.size());
  for (std::uint64_t n = 0; n < array.size(); ++n) all[n] = array[n];
  return all;
}

std::vector<double> values_of(const Buffer& buffer, Scalar scalar) {
  return with_element(scalar, [&]<class T>(T) {
    const auto values = buffer.as<const T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

Expected<CompressedArrays> compressed(const Tensor& tensor, std::vector<std::uint32_t> mode_order, const Resources& resources) {
  if (tensor.order() != 2)
    return fail(ErrorKind::input, ErrorCode::order, {}, fmt::format("a matrix has 2 modes, the tensor has {}", tensor.order()));
  Format format = sparse_format(2, tensor.format().scalar);
  format.levels[0].kind = LevelKind::dense;
  format.mode_order = std::move(mode_order);
  const auto matrix = convert(tensor, format, resources, "the tensor");
  if (!matrix) return std::unexpected(matrix.error());
  const Level& level = matrix->format().levels[1];
  return CompressedArrays{indices_of(matrix->levels()[1].pos, level.pos_bits), indices_of(matrix->levels()[1].crd, level.crd_bits),
                          values_of(matrix->values(), format.scalar)};
}

}  // namespace

Expected<Tensor> from_coo(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, HostValues values, Format format,
                          const Resources& resources) {
  return guarded({"copying a tensor"}, [&] { return copied_entries(std::move(extents), crd, values, std::move(format), resources); });
}

Expected<Tensor> from_coo(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, HostValues values,
                          const Resources& resources) {
  return guarded({"copying a tensor"}, [&] {
    Format format = sparse_format(extents.size(), values.scalar);
    return copied_entries(std::move(extents), crd, values, std::move(format), resources);
  });
}

Expected<Tensor> from_csr(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd, HostValues values,
                          const Resources& resources) {
  return guarded({"copying a tensor"}, [&] { return copied_matrix({0, 1}, rows, columns, pos, crd, values, resources); });
}

Expected<Tensor> from_csc(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd, HostValues values,
                          const Resources& resources) {
  return guarded({"copying a tensor"}, [&] { return copied_matrix({1, 0}, rows, columns, pos, crd, values, resources); });
}

Expected<Tensor> from_levels(Format format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels, HostValues values,
                             const Resources& resources) {
  return guarded({"copying a tensor"}, [&] {
    format.scalar = values.scalar;
    return copied_levels(format, std::move(extents), levels, values, format, resources);
  });
}

Expected<Tensor> from_dense(std::vector<std::uint64_t> extents, HostValues values, const Resources& resources,
                            const std::vector<std::int64_t>& strides, std::uint64_t offset) {
  return guarded({"copying a tensor"}, [&] { return copied_dense(std::move(extents), values, strides, offset, resources); });
}

Expected<CooArrays> to_coo(const Tensor& tensor, const Resources& resources) {
  return guarded({"listing the entries of a tensor"}, [&]() -> Expected<CooArrays> {
    const auto sorted = convert(tensor, sparse_format(tensor.order(), tensor.format().scalar), resources, "the tensor");
    if (!sorted) return std::unexpected(sorted.error());
    const auto list = entries(*sorted, false, resources);
    if (!list) return std::unexpected(list.error());
    CooArrays arrays;
    for (std::size_t mode = 0; mode < list->crd.size(); ++mode)
      arrays.crd.push_back(indices_of(list->crd[mode], coordinate_bits(list->extents[mode])));
    arrays.values = values_of(list->values, list->scalar);
    return arrays;
  });
}

Expected<CompressedArrays> to_csr(const Tensor& tensor, const Resources& resources) {
  return guarded({"taking a matrix apart"}, [&] { return compressed(tensor, {0, 1}, resources); });
}

Expected<CompressedArrays> to_csc(const Tensor& tensor, const Resources& resources) {
  return guarded({"taking a matrix apart"}, [&] { return compressed(tensor, {1, 0}, resources); });
}

Expected<CsfArrays> to_csf(const Tensor& tensor, const Resources& resources, std::vector<std::uint32_t> mode_order) {
  return guarded({"taking a tensor apart"}, [&]() -> Expected<CsfArrays> {
    Format format = sparse_format(tensor.order(), tensor.format().scalar);
    if (!mode_order.empty()) format.mode_order = std::move(mode_order);
    if (auto right = check_buildable(format, tensor.extents(), "the tensor"); !right)
      return fail(right.error().kind, ErrorCode::order, {}, right.error().message);
    const auto stored = convert(tensor, format, resources, "the tensor");
    if (!stored) return std::unexpected(stored.error());
    CsfArrays arrays;
    for (std::size_t level = 0; level < stored->order(); ++level) {
      const Level& kind = stored->format().levels[level];
      arrays.pos.push_back(indices_of(stored->levels()[level].pos, kind.pos_bits));
      arrays.crd.push_back(indices_of(stored->levels()[level].crd, kind.crd_bits));
    }
    arrays.values = values_of(stored->values(), format.scalar);
    return arrays;
  });
}

}  // namespace weft
