// Dense tensors: zeros, and copies in another mode order.
#include "runtime/dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/transposed_tiles.h"

namespace weft {

static Expected<Tensor> zeros(std::vector<std::uint64_t> extents, Format format, const Resources& resources,
                             std::string_view name) {
  if (auto checked = check_buildable(format, extents, name); !checked)
    return std::unexpected(checked.error());
  if (!format.all_dense())
    return internal_error(fmt::format("dense_zeros: format {} of {} has a sparse level", format.text(), name));
  std::uint64_t bytes = scalar_bytes(format.scalar);
  for (std::uint64_t extent : extents)
    if (extent == 0) bytes = 0;
  for (std::uint64_t extent : extents) bytes = saturating_product(bytes, extent);
  if (bytes == saturated)
    return resource_error(fmt::format("{} of {} elements dense needs more than 2^64 bytes; choose a sparse format",
                                      name, fmt::join(extents, "x")));
  auto values = Buffer::allocate(bytes, resources.memory, name);
  if (!values) return std::unexpected(values.error());
  TensorArrays tensor;
  tensor.levels.resize(extents.size());
  tensor.format = std::move(format);
  tensor.extents = std::move(extents);
  tensor.values = std::move(*values);
  return made(std::move(tensor));
}

std::vector<std::uint64_t> strides_by_mode(const Tensor& tensor) {
  std::vector<std::uint64_t> strides(tensor.order());
  std::uint64_t stride = 1;
  for (std::size_t l = tensor.order(); l-- > 0;) {
    strides[tensor.format().mode_order[l]] = tensor.format().levels[l].strided ? tensor.levels()[l].stride : stride;
    stride *= tensor.extent_of_level(l);
  }
  return strides;
}

namespace {

/// What becomes of an element of memory and one of a tensor.
template <class To>
class Scaled {
 public:
  explicit Scaled(Scaling scaling) : scaling_(scaling) {}
  template <class From>
  To operator()(To before, From value) const {
    // 0 is added, since -2 times the zero of a bitmap's place without an entry is -0, which no such place may hold.
    const double product = scaling_.alpha == 0 ? 0 : scaling_.alpha * static_cast<double>(value) + 0.0;
    return static_cast<To>(scaling_.beta == 0 ? product : product + scaling_.beta * static_cast<double>(before));
  }

 private:
  Scaling scaling_;
};

// The elements in the order of the levels of `result`, so that what is written is written in order.
template <bool plain, class From, class To>
void copy_elements(const Tensor& tensor, const Tensor& result, Scaling scaling, const Resources& resources) {
  const Scaled<To> scaled(scaling);
  auto given = tensor.values().as<From>();
  auto stored = result.writable_values<To>();
  const std::size_t order = tensor.order();
  const std::vector<std::uint64_t> from_by_mode = strides_by_mode(tensor), to_by_mode = strides_by_mode(result);
  CopiedLevels levels;
  std::uint64_t elements = 1;
  for (std::size_t l = 0; l < order; ++l) {
    levels.extents.push_back(result.extent_of_level(l));
    levels.from_strides.push_back(from_by_mode[result.format().mode_order[l]]);
    levels.to_strides.push_back(to_by_mode[result.format().mode_order[l]]);
    elements *= levels.extents.back();
  }
  const auto set = [&](std::uint64_t to, From source) {
    To& target = stored[to];
    if constexpr (plain) target = static_cast<To>(source);
    else target = scaled(target, source);
  };
  constexpr std::size_t line = 64 / sizeof(From);
  if (const auto across = elements == 0 ? std::nullopt : level_read_in_order(levels, line)) {
    copy_transposed<line>(levels, *across, tensor.offset(), result.offset(), given.data(), resources.threads, set);
    return;
  }
  const std::vector<std::uint64_t>&from_strides = levels.from_strides, &to_strides = levels.to_strides;
  for_blocks(resources.threads, Blocks(elements, resources.threads),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               std::vector<std::uint64_t> at(order);
               std::uint64_t from = tensor.offset();
               std::uint64_t to = result.offset();
               std::uint64_t rest = begin;
               for (std::size_t l = order; l-- > 0;) {
                 at[l] = rest % result.extent_of_level(l);
                 rest /= result.extent_of_level(l);
                 from += at[l] * from_strides[l];
                 to += at[l] * to_strides[l];
               }
               // One row along the last level after the other; order 0 is one element.
               const std::uint64_t last = order == 0 ? 1 : result.extent_of_level(order - 1);
               const std::uint64_t from_step = order == 0 ? 1 : from_strides[order - 1];
               const std::uint64_t to_step = order == 0 ? 1 : to_strides[order - 1];
               for (std::uint64_t n = begin; n < end;) {
                 const std::uint64_t length = order == 0 ? 1 : std::min(last - at[order - 1], end - n);
                 if (plain && from_step == 1 && to_step == 1) {
                   std::transform(&given[from], &given[from] + length, &stored[to], [](From value) { return static_cast<To>(value); });
                 } else {
                   // Numbers wrap where strides are negative.
                   for (std::uint64_t each = 0; each < length; ++each) set(to + each * to_step, given[from + each * from_step]);
                 }
                 n += length;
                 if (order == 0) break;
                 at[order - 1] += length;
                 from += length * from_step;
                 to += length * to_step;
                 for (std::size_t l = order; l-- > 0 && at[l] == result.extent_of_level(l);) {
                   from -= from_strides[l] * at[l];
                   to -= to_strides[l] * at[l];
                   at[l] = 0;
                   if (l == 0) break;
                   ++at[l - 1];
                   from += from_strides[l - 1];
                   to += to_strides[l - 1];
                 }
               }
             });
}

template <class From, class To>
void copy_elements(const Tensor& tensor, const Tensor& result, Scaling scaling, const Resources& resources) {
  if (scaling == Scaling{}) return copy_elements<true, From, To>(tensor, result, scaling, resources);
  copy_elements<false, From, To>(tensor, result, scaling, resources);
}

void copy_dense(const Tensor& tensor, const Tensor& result, const Resources& resources, Scaling scaling = {}) {
  with_element(tensor.format().scalar, [&]<class From>(From) {
    with_element(result.format().scalar, [&]<class To>(To) { copy_elements<From, To>(tensor, result, scaling, resources); });
  });
}

/// Rows of neighbours along the mode with the least distance, each at its place.
template <class Element>
void scale_elements(const Tensor& memory, double factor, const Threads* threads) {
  const std::size_t order = memory.order();
  const std::vector<std::uint64_t> strides = strides_by_mode(memory);
  std::size_t inner = 0;
  for (std::size_t mode = 1; mode < order; ++mode) {
    const auto distance = [&](std::size_t of) { return std::abs(static_cast<std::int64_t>(strides[of])); };
    if (memory.extents()[inner] == 1 || (memory.extents()[mode] > 1 && distance(mode) < distance(inner))) inner = mode;
  }
  Element* const first = const_cast<Element*>(memory.values().as<const Element>().data()) + memory.offset();
  const std::uint64_t length = order == 0 ? 1 : memory.extents()[inner];
  // A stride may lead back.
  const auto distance_of = [&](std::uint64_t elements) { return static_cast<std::ptrdiff_t>(elements); };
  const std::ptrdiff_t step = order == 0 ? 1 : distance_of(strides[inner]);
  std::uint64_t rows = 1;
  for (std::size_t mode = 0; mode < order; ++mode)
    if (mode != inner) rows *= memory.extents()[mode];
  const auto scale_row = [&](std::uint64_t row) {
    Element* place = first;
    for (std::size_t mode = order; mode-- > 0;) {
      if (mode == inner) continue;
      place += distance_of((row % memory.extents()[mode]) * strides[mode]);
      row /= memory.extents()[mode];
    }
    for (std::uint64_t n = 0; n < length; ++n, place += step) {
      *place = factor == 0 ? Element{0} : static_cast<Element>(factor * static_cast<double>(*place));
    }
  };
  if (threads == nullptr) {
    for (std::uint64_t row = 0; row < rows; ++row) scale_row(row);
  } else {
    const std::uint64_t grain = std::max<std::uint64_t>((1 << 14) / length, 1);
    for_blocks(*threads, Blocks(rows, *threads, grain), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t row = begin; row < end; ++row) scale_row(row);
    });
  }
}

}  // namespace

Expected<Tensor> permuted_dense(const Tensor& tensor, const Format& format, const Resources& resources,
                                std::string_view name) {
  auto result = dense_zeros(tensor.extents(), format, resources, name);
  if (!result) return result;
  copy_dense(tensor, *result, resources);
  return result;
}

Expected<void> write_dense(const Tensor& tensor, Tensor memory, const Resources& resources, std::string_view name,
                           Scaling scaling) {
  Expected<Tensor> dense = tensor;
  if (!tensor.format().all_dense()) dense = convert(tensor, dense_format(tensor.order(), tensor.format().scalar), resources, name);
  if (!dense) return std::unexpected(dense.error());
  copy_dense(*dense, memory, resources, scaling);
  return {};
}

void scale_dense(const Tensor& memory, double factor, const Threads* threads) {
  if (factor == 1 || std::ranges::any_of(memory.extents(), [](std::uint64_t extent) { return extent == 0; })) return;
  with_element(memory.format().scalar, [&]<class T>(T) { scale_elements<T>(memory, factor, threads); });
}

bool is_packed(const Tensor& tensor, const Format& format) {
  if (!tensor.format().all_dense() || !format.all_dense() || tensor.format().scalar != format.scalar) return false;
  const std::vector<std::uint64_t> strides = strides_by_mode(tensor);
  std::uint64_t packed = 1;
  for (std::size_t l = format.order(); l-- > 0;) {
    const std::uint32_t mode = format.mode_order[l];
    if (tensor.extents()[mode] != 1 && strides[mode] != packed) return false;
    packed *= tensor.extents()[mode];
  }
  return true;
}

Expected<Tensor> dense_zeros(std::vector<std::uint64_t> extents, Format format, const Resources& resources,
                             std::string_view name) {
  return guarded({"making ", name}, [&] { return zeros(std::move(extents), std::move(format), resources, name); });
}

}  // namespace weft
