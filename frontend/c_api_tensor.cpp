// weft.h: tensors made from arrays of the host.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "frontend/c_api.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/scalar_traits.h"
#include "weft/host.h"

namespace weft::c_api {

weft_tensor* tensor_handle(Tensor tensor) {
  std::string format = tensor.format().text();
  std::string summary = tensor.summary();
  std::vector<weft_tensor::LevelText> levels;
  if (const Layout* const layout = tensor.format().layout.get()) {
    const auto placement = Placement::of(*layout, tensor.extents(), tensor_name);
    for (std::size_t level = 0; level < layout->levels.size(); ++level)
      levels.push_back({layout->level_text(level), placement ? placement->levels()[level].range.least : 0});
  }
  return new weft_tensor{std::move(tensor), std::move(format), std::move(summary), std::move(levels)};
}

HostValues values_of(Scalar scalar, const void* data, std::uint64_t count) {
  return with_element(scalar, [&]<class T>(T) {
    HostValues values = std::span(static_cast<const T*>(data), 0);
    values.bytes = saturating_product(count, sizeof(T));  // more than there can be stays too much
    return values;
  });
}

Expected<Scalar> scalar_of(std::int32_t scalar) {
  if (scalar == WEFT_F64) return Scalar::f64;
  if (scalar == WEFT_F32) return Scalar::f32;
  return input_error(fmt::format("scalar type {}: those known are WEFT_F64 ({}) and WEFT_F32 ({})", scalar, +WEFT_F64, +WEFT_F32));
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

namespace {

Expected<void> known_flags(std::uint32_t flags) {
  if (flags <= (WEFT_BORROW | WEFT_TRUSTED)) return {};
  return input_error(fmt::format("flags {}: those known are WEFT_BORROW ({}) and WEFT_TRUSTED ({})", flags, +WEFT_BORROW, +WEFT_TRUSTED));
}

Expected<void> known_width(std::uint32_t bits) {
  if (bits == 32 || bits == 64) return {};
  return input_error(fmt::format("indices of {} bits: they have 32 or 64", bits));
}

/// An array that may be left out where it has no elements.
Expected<void> given_unless_empty(const void* pointer, std::uint64_t count, std::string_view argument) {
  return count == 0 ? Expected<void>{} : given(pointer, argument);
}

Expected<HostIndices> indices(const void* data, std::uint64_t count, std::uint32_t bits, std::string_view argument) {
  if (auto there = given_unless_empty(data, count, argument); !there) return std::unexpected(there.error());
  HostIndices array;
  array.data = data;
  array.bytes = saturating_product(count, bits / 8);
  array.bits = static_cast<std::uint8_t>(bits);
  return array;
}

/// Bits of the elements of crd: words of bitmaps and the narrow coordinates of layouts have their own.
std::uint32_t bits_of_crd(const Format& format, std::size_t level, std::uint32_t index_bits) {
  if (has_bits(format.levels[level].kind)) return 64;
  const unsigned narrow = format.layout ? format.layout->levels[level].bits : 0;
  return narrow == 8 || narrow == 16 ? narrow : index_bits;
}

Expected<void> copy(Buffer& buffer, const Resources& resources) {
  if (buffer.size_bytes() == 0) return {};
  auto copied = Buffer::allocate(buffer.size_bytes(), resources.memory, tensor_name);
  if (!copied) return std::unexpected(std::move(copied.error()));
  std::memcpy(copied->data(), std::as_const(buffer).data(), buffer.size_bytes());
  buffer = std::move(*copied);
  return {};
}

/// What the flags ask for, of a tensor over the host's arrays.
Expected<weft_tensor*> taken(Expected<Tensor> tensor, std::uint32_t flags, const Resources& resources) {
  if (!tensor) return std::unexpected(std::move(tensor.error()));
  TensorArrays arrays = tensor->arrays();
  if ((flags & WEFT_BORROW) == 0) {
    for (LevelArrays& level : arrays.levels) {
      if (auto done = all(copy(level.pos, resources), copy(level.crd, resources)); !done) return std::unexpected(done.error());
    }
    if (auto done = copy(arrays.values, resources); !done) return std::unexpected(done.error());
  }
  if ((flags & WEFT_TRUSTED) == 0) {
    if (auto valid = verify(*tensor, resources, tensor_name); !valid) return std::unexpected(std::move(valid.error()));
  }
  return tensor_handle(Tensor(std::move(arrays), Validity::known));
}

enum class Compressed { rows, columns };

int32_t compressed_matrix(Compressed compressed, const weft_engine* engine, int32_t scalar, uint64_t rows, uint64_t columns, uint64_t nnz,
                          uint32_t index_bits, const void* pos, const void* crd, const void* values, uint32_t flags,
                          weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    const auto type = scalar_of(scalar);
    if (!type) return std::unexpected(type.error());
    auto sound = all(given(engine, "engine"), known_width(index_bits), known_flags(flags), given(pos, "pos"),
                     given_unless_empty(values, nnz, "values"));
    if (!sound) return std::unexpected(sound.error());
    const std::uint64_t fibers = compressed == Compressed::rows ? rows : columns;
    const auto starts = indices(pos, fibers == saturated ? saturated : fibers + 1, index_bits, "pos");
    const auto coordinates = indices(crd, nnz, index_bits, "crd");
    if (!coordinates) return std::unexpected(coordinates.error());
    const HostValues stored = values_of(*type, values, nnz);
    return taken(compressed == Compressed::rows ? borrow_csr(rows, columns, *starts, *coordinates, stored)
                                                : borrow_csc(rows, columns, *starts, *coordinates, stored),
                 flags, engine->resources());
  });
}

/// Entries in any order, in arrays that build() may consume.
Expected<Coordinates> copied_entries(Scalar scalar, std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd,
                                     std::uint64_t count, const void* values, const Resources& resources) {
  Coordinates entries;
  entries.scalar = scalar;
  entries.count = count;
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    const bool wide = coordinate_bits(extents[mode]) == 64;
    auto array = Buffer::allocate(saturating_product(count, wide ? 8 : 4), resources.memory, tensor_name);
    if (!array) return std::unexpected(std::move(array.error()));
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::uint64_t coordinate = crd[mode].bits == 64 ? static_cast<const std::uint64_t*>(crd[mode].data)[n]
                                                            : static_cast<const std::uint32_t*>(crd[mode].data)[n];
      if (coordinate >= extents[mode]) {
        const auto with_sign = crd[mode].bits == 64 ? static_cast<std::int64_t>(coordinate) : static_cast<std::int32_t>(coordinate);
        return fail(ErrorKind::input, ErrorCode::out_of_range, {},
                    fmt::format("{}: coordinate {}{} of entry {} is not below the extent {} of mode {}", tensor_name, coordinate,
                                with_sign < 0 ? fmt::format(" ({} with a sign)", with_sign) : "", n, extents[mode], mode));
      }
      if (wide) {
        array->as<std::uint64_t>()[n] = coordinate;
      } else {
        array->as<std::uint32_t>()[n] = static_cast<std::uint32_t>(coordinate);
      }
    }
    entries.crd.push_back(std::move(*array));
  }
  auto stored = Buffer::allocate(saturating_product(count, scalar_bytes(scalar)), resources.memory, tensor_name);
  if (!stored) return std::unexpected(std::move(stored.error()));
  if (count > 0) std::memcpy(stored->data(), values, count * scalar_bytes(scalar));
  entries.values = std::move(*stored);
  entries.extents = std::move(extents);
  return entries;
}

}  // namespace

namespace weft::c_api {

Expected<Tensor> borrowed_dense(std::int32_t scalar, std::vector<std::uint64_t> extents, const std::int64_t* strides, const void* values) {
  const auto type = scalar_of(scalar);
  if (!type) return std::unexpected(type.error());
  const auto memory = reach(extents, strides);
  if (!memory) return std::unexpected(memory.error());
  if (auto there = given_unless_empty(values, memory->elements, "values"); !there) return std::unexpected(there.error());
  std::vector<std::int64_t> by_mode;
  if (strides) by_mode.assign(strides, strides + extents.size());
  const void* first = values ? static_cast<const char*>(values) - memory->before * scalar_bytes(*type) : nullptr;
  return borrow_dense(std::move(extents), values_of(*type, first, memory->elements), by_mode, memory->before);
}

}  // namespace weft::c_api

int32_t weft_tensor_dense(const weft_engine* engine, int32_t scalar, uint32_t order, const uint64_t* extents, const int64_t* strides,
                          const void* values, uint32_t flags, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    auto sound = all(given(engine, "engine"), known_flags(flags), given_unless_empty(extents, order, "extents"));
    if (!sound) return std::unexpected(sound.error());
    auto tensor = borrowed_dense(scalar, {extents, extents + order}, strides, values);
    if (!tensor || (flags & WEFT_BORROW) != 0 || order == 0 || !tensor->format().levels.front().strided) {
      return taken(std::move(tensor), flags, engine->resources());
    }
    auto packed = convert(*tensor, dense_format(order, tensor->format().scalar), engine->resources(), tensor_name);
    if (!packed) return std::unexpected(std::move(packed.error()));
    return tensor_handle(std::move(*packed));
  });
}

int32_t weft_tensor_csr(const weft_engine* engine, int32_t scalar, uint64_t rows, uint64_t columns, uint64_t nnz, uint32_t index_bits,
                        const void* pos, const void* crd, const void* values, uint32_t flags, weft_tensor** made, weft_error** error) {
  return compressed_matrix(Compressed::rows, engine, scalar, rows, columns, nnz, index_bits, pos, crd, values, flags, made, error);
}

int32_t weft_tensor_csc(const weft_engine* engine, int32_t scalar, uint64_t rows, uint64_t columns, uint64_t nnz, uint32_t index_bits,
                        const void* pos, const void* crd, const void* values, uint32_t flags, weft_tensor** made, weft_error** error) {
  return compressed_matrix(Compressed::columns, engine, scalar, rows, columns, nnz, index_bits, pos, crd, values, flags, made, error);
}

int32_t weft_tensor_coo(const weft_engine* engine, int32_t scalar, uint32_t order, const uint64_t* extents, uint64_t nnz,
                        uint32_t index_bits, const void* const* crd, const void* values, uint32_t flags, weft_tensor** made,
                        weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    const auto type = scalar_of(scalar);
    if (!type) return std::unexpected(type.error());
    auto sound = all(given(engine, "engine"), known_width(index_bits), known_flags(flags), given_unless_empty(extents, order, "extents"),
                     given_unless_empty(crd, nnz == 0 ? 0 : order, "crd"), given_unless_empty(values, nnz, "values"));
    if (!sound) return std::unexpected(sound.error());
    if (order == 0) return input_error("coordinates of order 0: a scalar is dense, weft_tensor_dense makes it");
    std::vector<HostIndices> arrays;
    for (std::uint32_t mode = 0; mode < order; ++mode) {
      const auto array = indices(crd != nullptr ? crd[mode] : nullptr, nnz, index_bits, fmt::format("crd[{}]", mode));
      if (!array) return std::unexpected(array.error());
      arrays.push_back(*array);
    }
    const std::vector<std::uint64_t> by_mode(extents, extents + order);
    const Resources& resources = engine->resources();
    if ((flags & WEFT_BORROW) != 0) return taken(borrow_coo(by_mode, arrays, values_of(*type, values, nnz)), flags, resources);
    auto entries = copied_entries(*type, by_mode, arrays, nnz, values, resources);
    if (!entries) return std::unexpected(std::move(entries.error()));
    auto tensor = build(std::move(*entries), sparse_format(order, *type), resources, tensor_name);
    if (!tensor) return std::unexpected(std::move(tensor.error()));
    return tensor_handle(std::move(*tensor));
  });
}

int32_t weft_tensor_levels(const weft_engine* engine, const char* format, const uint64_t* extents, uint32_t index_bits,
                           const void* const* pos, const uint64_t* pos_counts, const void* const* crd, const uint64_t* crd_counts,
                           const void* values, uint64_t value_count, uint32_t flags, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    auto sound = all(given(engine, "engine"), given(format, "format"), known_width(index_bits), known_flags(flags));
    if (!sound) return std::unexpected(sound.error());
    auto parsed = parse_format(format);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    const std::size_t order = parsed->order();
    const std::size_t modes = parsed->modes();
    sound = all(given_unless_empty(extents, modes, "extents"), given_unless_empty(pos_counts, pos ? order : 0, "pos_counts"),
                given_unless_empty(crd_counts, crd ? order : 0, "crd_counts"), given_unless_empty(values, value_count, "values"));
    if (!sound) return std::unexpected(sound.error());
    std::vector<HostLevel> levels;
    for (std::size_t level = 0; level < order; ++level) {
      const std::uint32_t crd_bits = bits_of_crd(*parsed, level, index_bits);
      const auto starts = pos ? indices(pos[level], pos_counts[level], index_bits, fmt::format("pos[{}]", level)) : HostIndices();
      const auto coordinates = crd ? indices(crd[level], crd_counts[level], crd_bits, fmt::format("crd[{}]", level)) : HostIndices();
      if (!starts) return std::unexpected(starts.error());
      if (!coordinates) return std::unexpected(coordinates.error());
      levels.push_back({*starts, *coordinates});
    }
    const Scalar scalar = parsed->scalar;
    return taken(borrow(std::move(*parsed), {extents, extents + modes}, levels, values_of(scalar, values, value_count)), flags,
                 engine->resources());
  });
}

int32_t weft_tensor_share(const weft_tensor* tensor, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    if (auto there = given(tensor, "tensor"); !there) return std::unexpected(there.error());
    return tensor_handle(tensor->tensor);
  });
}

void weft_tensor_free(weft_tensor* tensor) { delete tensor; }
