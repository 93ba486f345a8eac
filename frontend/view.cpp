#include "frontend/view.h"

#include "runtime/scalar_traits.h"

namespace weft {

double DenseView::at(std::span<const std::uint64_t> coordinates) const {
  std::uint64_t place = offset;
  for (std::size_t mode = 0; mode < coordinates.size(); ++mode) {
    place += coordinates[mode] * static_cast<std::uint64_t>(strides[mode]);
  }
  return value_at(values, scalar, place);
}

bool DenseView::empty() const {
  for (const std::uint64_t extent : extents) {
    if (extent == 0) return true;
  }
  return false;
}

DenseView dense_view(const Tensor& tensor, const std::vector<Selected>& selected) {
  std::vector<std::uint64_t> strides(tensor.order());
  std::uint64_t stride = 1;
  for (std::size_t level = tensor.order(); level-- > 0;) {
    strides[tensor.format().mode_order[level]] = tensor.format().levels[level].strided ? tensor.levels()[level].stride : stride;
    stride *= tensor.extent_of_level(level);
  }
  DenseView view{tensor.format().scalar, tensor.values(), {}, {}, tensor.offset()};
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    view.offset += selected[mode].start * strides[mode];
    if (selected[mode].dropped) continue;
    view.extents.push_back(selected[mode].count);
    view.strides.push_back(static_cast<std::int64_t>(strides[mode]) * selected[mode].step);
  }
  return view;
}

Expected<Tensor> materialised(const DenseView& view, const Resources& resources, std::string_view name) {
  auto tensor = dense_zeros(view.extents, dense_format(view.extents.size(), view.scalar), resources, name);
  if (!tensor || view.empty()) return tensor;
  Buffer stored = tensor->values();
  const std::size_t order = view.extents.size();
  const std::uint64_t row = order == 0 ? 1 : view.extents.back();
  std::vector<std::uint64_t> coordinates(order, 0);
  for (std::uint64_t n = 0; n < tensor->nnz(); n += row) {
    if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    for (std::uint64_t place = 0; place < row; ++place) {
      if (order > 0) coordinates.back() = place;
      put_value(stored, view.scalar, n + place, view.at(coordinates));
    }
    for (std::size_t mode = order < 2 ? 0 : order - 1; mode-- > 0;) {
      if (++coordinates[mode] < view.extents[mode]) break;
      coordinates[mode] = 0;
    }
  }
  return tensor;
}

}  // namespace weft
