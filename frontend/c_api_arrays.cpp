// weft.h: what a tensor holds, in place or copied into host memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "frontend/c_api.h"
#include "runtime/blocks.h"
#include "runtime/indices.h"
#include "runtime/layout_entries.h"
#include "runtime/level_traits.h"
#include "runtime/overlap.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft::c_api {

Expected<Reach> reach(const std::vector<std::uint64_t>& extents, const std::int64_t* strides) {
  Reach found{0, 1};
  bool overflows = false;
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    if (extents[mode] == 0) return Reach{};
  }
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    if (!strides) {
      overflows = __builtin_mul_overflow(found.elements, extents[mode], &found.elements) || overflows;
      continue;
    }
    const bool backwards = strides[mode] < 0;
    const std::uint64_t stride = backwards ? -static_cast<std::uint64_t>(strides[mode]) : static_cast<std::uint64_t>(strides[mode]);
    std::uint64_t distance = 0;
    overflows = __builtin_mul_overflow(stride, extents[mode] - 1, &distance) || overflows;
    overflows = __builtin_add_overflow(found.elements, distance, &found.elements) || overflows;
    if (backwards) found.before += distance;
  }
  if (overflows || found.elements > std::uint64_t{1} << 60) {
    return input_error(fmt::format("a dense tensor of {} elements{} does not fit into memory", fmt::join(extents, "x"),
                                   strides ? fmt::format(" at strides {}", fmt::join(std::span(strides, extents.size()), ", ")) : ""));
  }
  return found;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

namespace {

/// at(n, place) for each element of a row-major order, with its place by the strides.
template <class F>
void each_place(const std::vector<std::uint64_t>& extents, std::uint64_t elements, const std::int64_t* strides, F&& at) {
  std::vector<std::uint64_t> index(extents.size());
  std::int64_t place = 0;
  for (std::uint64_t n = 0; n < elements; ++n) {
    at(n, place);
    for (std::size_t mode = extents.size(); mode-- > 0;) {
      place += strides[mode];
      if (++index[mode] < extents[mode]) break;
      place -= strides[mode] * static_cast<std::int64_t>(extents[mode]);
      index[mode] = 0;
    }
  }
}

/// Entries, no two of one place, to where the strides say.
template <class Element>
void scatter(const Coordinates& listed, const std::int64_t* strides, Element* to, const Threads& threads) {
  const auto values = listed.values.as<const Element>();
  for_blocks(threads, Blocks(listed.count, threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::array<std::int64_t, 512> places{};
    for (std::uint64_t first = begin; first < end; first += places.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(places.size(), end - first);
      places.fill(0);
      for (std::size_t mode = 0; mode < listed.crd.size(); ++mode) {
        with_width(coordinate_bits(listed.extents[mode]), [&]<class T>(T) {
          const auto crd = listed.crd[mode].as<const T>().subspan(first, count);
          for (std::uint64_t n = 0; n < count; ++n) places[n] += static_cast<std::int64_t>(crd[n]) * strides[mode];
        });
      }
      for (std::uint64_t n = 0; n < count; ++n) to[places[n]] = values[first + n];
    }
  });
}

/// Zeros at all places of a tensor; `reach`: elements from the first of them to the last.
template <class Element>
void clear(const std::vector<std::uint64_t>& extents, const std::int64_t* strides, std::uint64_t reach, Element* to,
           const Threads& threads) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : extents) elements *= extent;
  if (elements < reach) return each_place(extents, elements, strides, [&](std::uint64_t, std::int64_t place) { to[place] = 0; });
  for_blocks(threads, Blocks(elements, threads, 1 << 16),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) { std::fill(to + begin, to + end, Element{0}); });
}

/// The entries of which conversions make those of other formats: paddings are left out.
Expected<Coordinates> listed_of(const Tensor& tensor, const Resources& resources) {
  if (!tensor.format().layout) return entries(tensor, false, resources);
  if (auto valid = verify_once(tensor, resources, "the tensor"); !valid) return std::unexpected(valid.error());
  return entries_with_layout(tensor, tensor.padded() ? Zeros::without_sign_left_out : Zeros::kept, resources);
}

}  // namespace

uint32_t weft_tensor_order(const weft_tensor* tensor) { return tensor ? static_cast<std::uint32_t>(tensor->tensor.order()) : 0; }
uint64_t weft_tensor_extent(const weft_tensor* tensor, uint32_t mode) {
  return tensor && mode < tensor->tensor.order() ? tensor->tensor.extents()[mode] : 0;
}
uint64_t weft_tensor_nnz(const weft_tensor* tensor) { return tensor ? tensor->tensor.nnz() : 0; }
uint64_t weft_tensor_bytes(const weft_tensor* tensor) { return tensor ? tensor->tensor.bytes() : 0; }
int32_t weft_tensor_pattern_is_kept(const weft_tensor* tensor) {
  const PatternFacts* const facts = tensor ? TensorParts::pattern_facts(tensor->tensor) : nullptr;
  return facts != nullptr && facts->kept_for_others;
}
int32_t weft_tensor_scalar(const weft_tensor* tensor) {
  return tensor && tensor->tensor.format().scalar == Scalar::f32 ? WEFT_F32 : WEFT_F64;
}
const char* weft_tensor_format(const weft_tensor* tensor) { return tensor ? tensor->format.c_str() : ""; }
const char* weft_tensor_summary(const weft_tensor* tensor) { return tensor ? tensor->summary.c_str() : ""; }

int32_t weft_tensor_level(const weft_tensor* tensor, uint32_t level, int32_t* kind, uint32_t* mode, const void** pos,
                          uint64_t* pos_count, uint32_t* pos_bits, const void** crd, uint64_t* crd_count, uint32_t* crd_bits,
                          int64_t* stride, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = given(tensor, "tensor"); !there) return there;
    const Tensor& stored = tensor->tensor;
    if (level >= stored.format().order()) {
      return input_error(fmt::format("level {} of a tensor with {}: they begin at 0", level, stored.format().order()));
    }
    const Level& described = stored.format().levels[level];
    const LevelArrays& arrays = stored.levels()[level];
    const auto tell = [](const Buffer& buffer, unsigned bits, const void** data, std::uint64_t* count, std::uint32_t* width) {
      const bool there = buffer.size_bytes() > 0;
      if (data) *data = there ? buffer.data() : nullptr;
      if (count) *count = buffer.size_bytes() / (bits / 8);
      if (width) *width = there ? bits : 0;
    };
    if (kind) *kind = letter(described.kind);
    if (mode) *mode = stored.format().layout ? UINT32_MAX : stored.format().mode_order[level];
    tell(arrays.pos, described.pos_bits, pos, pos_count, pos_bits);
    tell(arrays.crd, has_bits(described.kind) ? 64 : described.crd_bits, crd, crd_count, crd_bits);
    if (stride) *stride = described.strided ? static_cast<std::int64_t>(arrays.stride) : 0;
    return {};
  });
}

const char* weft_tensor_level_text(const weft_tensor* tensor, uint32_t level, int64_t* low) {
  const bool there = tensor && level < tensor->levels.size();
  if (low) *low = there ? tensor->levels[level].low : 0;
  return there ? tensor->levels[level].text.c_str() : "";
}

int32_t weft_tensor_values(const weft_tensor* tensor, const void** values, uint64_t* count, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(tensor, "tensor"), given(values, "values")); !there) return there;
    const Tensor& stored = tensor->tensor;
    *values = static_cast<const char*>(stored.values().data()) + stored.offset() * scalar_bytes(stored.format().scalar);
    if (count) *count = stored.values().size_bytes() / scalar_bytes(stored.format().scalar) - stored.offset();
    return {};
  });
}

int32_t weft_tensor_to_dense(const weft_engine* engine, const weft_tensor* tensor, void* values, uint64_t count, const int64_t* strides,
                             weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor")); !there) return there;
    const Tensor& stored = tensor->tensor;
    const auto memory = reach(stored.extents(), strides);
    if (!memory) return std::unexpected(memory.error());
    if (memory->elements == 0) return {};
    if (auto there = given(values, "values"); !there) return there;
    if (memory->before > 0) return input_error("a stride is negative");
    if (strides && repeats_elements(stored.extents(), {strides, stored.order()}))
      return input_error(fmt::format("strides {} lead to one element of {} on several ways",
                                     fmt::join(std::span(strides, stored.order()), ", "), fmt::join(stored.extents(), "x")));
    if (strides ? count < memory->elements : count != memory->elements) {
      return fail(ErrorKind::input, ErrorCode::sizes, {},
                  fmt::format("host memory of {} elements for {} entries, which take {}", count, fmt::join(stored.extents(), "x"),
                              memory->elements));
    }
    std::vector<std::int64_t> packed(stored.order());
    std::int64_t next = 1;
    for (std::size_t mode = stored.order(); mode-- > 0; next *= static_cast<std::int64_t>(stored.extents()[mode])) packed[mode] = next;
    const std::int64_t* by_mode = strides ? strides : packed.data();
    const Resources resources = engine->resources();
    if (stored.format().all_dense()) {
      const auto dense = convert(stored, dense_format(stored.order(), stored.format().scalar), resources, "the tensor");
      if (!dense) return std::unexpected(dense.error());
      with_element(stored.format().scalar, [&]<class T>(T) {
        const auto from = dense->values().as<const T>();
        each_place(stored.extents(), from.size(), by_mode,
                   [&, to = static_cast<T*>(values)](std::uint64_t n, std::int64_t place) { to[place] = from[n]; });
      });
      return {};
    }
    const auto listed = listed_of(stored, resources);
    if (!listed) return std::unexpected(listed.error());
    with_element(stored.format().scalar, [&]<class T>(T) {
      clear(stored.extents(), by_mode, memory->elements, static_cast<T*>(values), resources.threads);
      scatter(*listed, by_mode, static_cast<T*>(values), resources.threads);
    });
    return {};
  });
}

int32_t weft_tensor_to_coo(const weft_engine* engine, const weft_tensor* tensor, int32_t drop_zeros, uint64_t room, uint64_t* const* crd,
                           void* values, uint64_t* count, weft_error** error) {
  if (count) *count = 0;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor"), given(count, "count")); !there) return there;
    const auto stored = entries(tensor->tensor, drop_zeros != 0, engine->resources());
    if (!stored) return std::unexpected(stored.error());
    *count = stored->count;
    if (stored->count > room) return input_error(fmt::format("room for {} entries, the tensor has {}", room, stored->count));
    if (stored->count == 0) return {};
    if (auto there = given(values, "values"); !there) return there;
    if (!stored->crd.empty() && !crd) return given(crd, "crd");
    for (std::size_t mode = 0; mode < stored->crd.size(); ++mode) {
      if (auto there = given(crd[mode], fmt::format("crd[{}]", mode)); !there) return there;
    }
    for (std::size_t mode = 0; mode < stored->crd.size(); ++mode) {
      const auto first = [&](const auto& from) { std::copy_n(from.begin(), stored->count, crd[mode]); };
      if (coordinate_bits(stored->extents[mode]) == 64) {
        first(stored->crd[mode].as<const std::uint64_t>());
      } else {
        first(stored->crd[mode].as<const std::uint32_t>());
      }
    }
    std::memcpy(values, stored->values.data(), stored->count * scalar_bytes(stored->scalar));
    return {};
  });
}
