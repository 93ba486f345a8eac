// weft.h: other values over a pattern, changed values, one element.
#include <fmt/format.h>

#include <cstring>

#include "frontend/c_api.h"
#include "runtime/extents.h"
#include "weft/entries.h"

using namespace weft;
using namespace weft::c_api;

int32_t weft_tensor_same_pattern(const weft_engine* engine, const weft_tensor* tensor, int32_t scalar, const void* values, uint64_t count,
                                 uint32_t flags, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    auto sound = all(given(engine, "engine"), given(tensor, "tensor"), count == 0 ? Expected<void>{} : given(values, "values"));
    if (!sound) return std::unexpected(sound.error());
    if (flags > WEFT_BORROW) return input_error(fmt::format("flags {}: the one known is WEFT_BORROW ({})", flags, +WEFT_BORROW));
    const auto type = scalar_of(scalar);
    if (!type) return std::unexpected(type.error());
    const std::uint64_t bytes = saturating_product(count, scalar_bytes(*type));
    const Buffer lent = Buffer::borrow(values, bytes);
    // Their number is told wrong before a copy of them would be made.
    auto other = same_pattern(tensor->tensor, lent, *type);
    if (!other) return std::unexpected(std::move(other.error()));
    if ((flags & WEFT_BORROW) == 0) {
      auto copied = Buffer::allocate(bytes, engine->resources().memory, tensor_name);
      if (!copied) return std::unexpected(std::move(copied.error()));
      if (bytes > 0) std::memcpy(copied->data(), values, bytes);
      other = same_pattern(tensor->tensor, std::move(*copied), *type);
      if (!other) return std::unexpected(std::move(other.error()));
    }
    return tensor_handle(std::move(*other));
  });
}

void weft_tensor_values_changed(const weft_tensor* tensor) {
  if (tensor) tensor->tensor.values_changed();
}

int32_t weft_tensor_at(const weft_engine* engine, const weft_tensor* tensor, const uint64_t* coordinates, double* value, int32_t* stored,
                       weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor"), given(value, "value")); !there) return there;
    const std::size_t order = tensor->tensor.order();
    if (order > 0 && !coordinates) return given(coordinates, "coordinates");
    const auto element = at(tensor->tensor, std::span(coordinates, order));
    if (!element) return std::unexpected(element.error());
    *value = element->value;
    if (stored) *stored = element->stored ? 1 : 0;
    return {};
  });
}
