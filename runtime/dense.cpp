// Dense tensors: zeros, and copies in another mode order.
#include "runtime/dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/indices.h"

namespace weft {

Expected<Tensor> dense_zeros(std::vector<std::uint64_t> extents, Format format, const Resources& resources,
                             std::string_view name) {
  if (auto checked = check_buildable(format, extents.size(), name); !checked)
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
  Tensor tensor;
  tensor.levels.resize(extents.size());
  tensor.format = std::move(format);
  tensor.extents = std::move(extents);
  tensor.values = std::move(*values);
  return tensor;
}

namespace {

template <class From, class To>
void copy_permuted(const Tensor& tensor, Tensor& result, const Resources& resources) {
  auto given = tensor.values.as<From>();
  auto stored = result.values.as<To>();
  const std::size_t order = tensor.order();
  // Elements between neighbours of each mode in the source.
  std::vector<std::uint64_t> by_mode(order);
  std::uint64_t stride = 1;
  for (std::size_t l = order; l-- > 0;) {
    by_mode[tensor.format.mode_order[l]] = tensor.format.levels[l].strided ? tensor.levels[l].stride : stride;
    stride *= tensor.extent_of_level(l);
  }
  std::vector<std::uint64_t> strides(order);
  for (std::size_t l = 0; l < order; ++l) strides[l] = by_mode[result.format.mode_order[l]];

  for_blocks(resources.threads, Blocks(stored.size(), resources.threads),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               std::vector<std::uint64_t> at(order);
               std::uint64_t element = tensor.offset;
               std::uint64_t rest = begin;
               for (std::size_t l = order; l-- > 0;) {
                 at[l] = rest % result.extent_of_level(l);
                 rest /= result.extent_of_level(l);
                 element += at[l] * strides[l];
               }
               for (std::uint64_t n = begin; n < end; ++n) {
                 stored[n] = static_cast<To>(given[element]);
                 for (std::size_t l = order; l-- > 0;) {
                   element += strides[l];
                   if (++at[l] < result.extent_of_level(l)) break;
                   element -= strides[l] * at[l];
                   at[l] = 0;
                 }
               }
             });
}

}  // namespace

Expected<Tensor> permuted_dense(const Tensor& tensor, const Format& format, const Resources& resources,
                                std::string_view name) {
  auto result = dense_zeros(tensor.extents, format, resources, name);
  if (!result) return result;
  const bool from_double = tensor.format.scalar == Scalar::f64;
  const bool to_double = format.scalar == Scalar::f64;
  if (from_double && to_double) copy_permuted<double, double>(tensor, *result, resources);
  if (from_double && !to_double) copy_permuted<double, float>(tensor, *result, resources);
  if (!from_double && to_double) copy_permuted<float, double>(tensor, *result, resources);
  if (!from_double && !to_double) copy_permuted<float, float>(tensor, *result, resources);
  return result;
}

}  // namespace weft
