// weft.h: tensors read, written, and made from others.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "frontend/c_api.h"
#include "frontend/operand.h"
#include "frontend/stored.h"
#include "frontend/view.h"
#include "runtime/level_traits.h"
#include "weft/file.h"

using namespace weft;
using namespace weft::c_api;

namespace {

Expected<weft_tensor*> handled(Expected<Tensor> tensor) {
  if (!tensor) return std::unexpected(std::move(tensor.error()));
  return tensor_handle(std::move(*tensor));
}

Expected<std::optional<Format>> wanted_format(const char* text) {
  if (!text) return std::nullopt;
  auto parsed = parse_format(text);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return std::optional(std::move(*parsed));
}

}  // namespace

int32_t weft_tensor_load(const weft_engine* engine, const char* spec, const char* format, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    if (auto there = all(given(engine, "engine"), given(spec, "spec")); !there) return std::unexpected(there.error());
    const auto wanted = wanted_format(format);
    if (!wanted) return std::unexpected(wanted.error());
    return handled(load_operand(spec, *wanted, engine->resources(), spec));
  });
}

int32_t weft_tensor_read(const weft_engine* engine, const char* path, uint32_t order, const uint64_t* extents, const char* format,
                         int32_t scalar, const char* name, double* times, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    if (auto there = all(given(engine, "engine"), given(path, "path"), given(name, "name")); !there) return std::unexpected(there.error());
    ReadOptions options;
    auto wanted = wanted_format(format);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    options.format = std::move(*wanted);
    const auto type = scalar_of(scalar);
    if (!type) return std::unexpected(type.error());
    options.scalar = *type;
    if (extents) options.shape.emplace(extents, extents + order);
    ReadTimes spent;
    auto tensor = read_tensor(path, options, engine->resources(), name, &spent);
    if (tensor && times) {
      times[0] = spent.decompress;
      times[1] = spent.parse;
      times[2] = spent.build;
    }
    return handled(std::move(tensor));
  });
}

int32_t weft_tensor_convert(const weft_engine* engine, const weft_tensor* tensor, const char* format, weft_tensor** made,
                            weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    auto sound = all(given(engine, "engine"), given(tensor, "tensor"), given(format, "format"));
    if (!sound) return std::unexpected(sound.error());
    const auto parsed = parse_format(format);
    if (!parsed) return std::unexpected(parsed.error());
    if (parsed->modes() != tensor->tensor.order()) {
      return fail(ErrorKind::input, ErrorCode::order, {},
                  fmt::format("format {} is of {} modes, but the tensor has {}", format, parsed->modes(), tensor->tensor.order()));
    }
    return handled(convert(tensor->tensor, *parsed, engine->resources(), tensor_name));
  });
}

int32_t weft_tensor_verify(const weft_engine* engine, const weft_tensor* tensor, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor")); !there) return there;
    return verify(tensor->tensor, engine->resources(), tensor_name);
  });
}

int32_t weft_tensor_write(const weft_engine* engine, const weft_tensor* tensor, const char* path, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor"), given(path, "path")); !there) return there;
    if (auto known = writable_format(path); !known) return known;
    return write_tensor(tensor->tensor, path, engine->resources(), tensor_name);
  });
}

int32_t weft_tensor_writable(const char* path, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = given(path, "path"); !there) return there;
    return writable_format(path);
  });
}

int32_t weft_tensor_with_extents(const weft_engine* engine, const weft_tensor* tensor, const uint64_t* extents, weft_tensor** made,
                                 weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor")); !there) return std::unexpected(there.error());
    const std::size_t order = tensor->tensor.order();
    if (order > 0) {
      if (auto there = given(extents, "extents"); !there) return std::unexpected(there.error());
    }
    return handled(with_extents(tensor->tensor, {extents, extents + order}, engine->resources(), tensor_name));
  });
}

int32_t weft_tensor_slice(const weft_engine* engine, const weft_tensor* tensor, const uint64_t* starts, const int64_t* steps,
                          const uint64_t* counts, const uint8_t* dropped, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    auto sound = all(given(engine, "engine"), given(tensor, "tensor"), given(starts, "starts"), given(steps, "steps"),
                     given(counts, "counts"));
    if (!sound) return std::unexpected(sound.error());
    const Tensor& whole = tensor->tensor;
    std::vector<Selected> selected;
    for (std::size_t mode = 0; mode < whole.order(); ++mode) {
      selected.push_back({starts[mode], steps[mode], counts[mode], dropped && dropped[mode] != 0});
      if (!selected.back().within(whole.extents()[mode])) {
        return input_error(fmt::format("{}: mode {} has extent {}, but {} coordinates from {} on in steps of {} are selected{}",
                                       tensor_name, mode, whole.extents()[mode], counts[mode], starts[mode], steps[mode],
                                       selected.back().dropped ? ", and the mode is dropped" : ""));
      }
    }
    const auto is_dense_level = [](const Level& level) { return is_dense(level); };
    const bool dense = !whole.format().layout && std::ranges::all_of(whole.format().levels, is_dense_level);
    return handled(dense ? materialised(dense_view(whole, selected), engine->resources(), tensor_name)
                         : sliced(whole, selected, engine->resources(), tensor_name));
  });
}
