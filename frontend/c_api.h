// What the handles of weft.h stand for, and how errors and exceptions end at the border to C.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <string_view>
#include <vector>

#include "runtime/guarded.h"
#include "weft.h"
#include "weft/session.h"

/// What messages call a tensor that the host has not named.
inline constexpr std::string_view tensor_name = "the tensor";

struct weft_error {
  weft::Error error;
};

struct weft_cancellation {
  weft::Cancellation cancellation;
};

struct weft_options {
  weft::EngineOptions options;
  std::uint32_t threads = 0;
  std::optional<weft::Threads> arena = {};  ///< of the host
  std::optional<weft::Engine> shared = {};  ///< whose threads and memory account it has
};

struct weft_engine {
  weft::Engine engine;
  std::optional<weft::Resources> own = {};  ///< of a handle that weft_engine_with made
  const weft::Resources& resources() const { return own ? *own : engine.options().resources; }
};

struct weft_tensor {
  weft::Tensor tensor;
  std::string format, summary;  ///< so that these texts have an owner
  struct LevelText {
    std::string text;
    std::int64_t low = 0;  ///< value of coordinate 0
  };
  std::vector<LevelText> levels = {};  ///< of a layout
};

struct weft_statistics {
  weft::Statistics known;
  std::string text;                         ///< of them, so that it has an owner
  bool counted = false;                     ///< from a tensor
  std::map<weft::ModeSet, double> distinct = {};  ///< given one by one
};

struct weft_request {
  weft::EvaluateOptions options;
  std::optional<weft::Cancellation> cancellation = {};
  const weft::Cancellation* token() const { return cancellation ? &*cancellation : nullptr; }
};

struct weft_session {
  weft::Session session;
  std::mutex guard;
  std::shared_ptr<const weft::Tensors> named;  ///< whose names were told last, so that they have an owner
};

struct weft_kernel {
  weft::Kernel kernel;
  std::mutex guard;
  std::map<std::string, std::string> stages;  ///< those asked for, so that their texts have an owner
  std::string json;                           ///< empty until asked for
  std::deque<std::string> pages;              ///< likewise; those shown before stay: of no run, then of ever faster ones
  std::string saved;                          ///< likewise
  double shown_ms = std::numeric_limits<double>::infinity();  ///< the run of the last page
};

struct weft_compilation {
  std::shared_future<weft::Expected<weft::Kernel>> kernel;
};

struct weft_bindings {
  weft::Tensors operands;
  weft::Bindings bindings;
};

struct weft_evaluation {
  weft::Tensors results;
  std::optional<weft::Report> report;  ///< a kernel's run has none
  bool ran = false;
  std::string json, page;  ///< empty until asked for
};

namespace weft::c_api {

/// Hands over the error if one is wanted; its kind as weft.h numbers them.
std::int32_t refused(weft_error** error, Error reason) noexcept;

/// Runs a body that returns Expected<void>. What the standard library throws when memory is short ends here; `function` is
/// the one of weft.h that was called.
template <class Body>
std::int32_t guarded(weft_error** error, Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  if (error) *error = nullptr;
  try {
    Expected<void> done = weft::guarded({"running ", function}, std::forward<Body>(body));
    return done ? WEFT_OK : refused(error, std::move(done.error()));
  } catch (const std::exception& exception) {
    return refused(error, Error{ErrorKind::internal, exception.what()});
  }
}

/// Input error naming the argument if the pointer is NULL.
Expected<void> given(const void* pointer, std::string_view argument);

/// The first error of several checks.
template <class... Checks>
Expected<void> all(Checks&&... checks) {
  Expected<void> first;
  ((first ? void(first = std::forward<Checks>(checks)) : void()), ...);
  return first;
}

/// A body that makes an object and returns Expected<Object*>: *made is NULL unless it succeeds.
template <class Object, class Body>
std::int32_t making(Object** made, weft_error** error, Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  if (made) *made = nullptr;
  return guarded(error, [&]() -> Expected<void> {
    if (auto place = given(made, "made"); !place) return place;
    Expected<Object*> object = body();
    if (!object) return std::unexpected(std::move(object.error()));
    *made = *object;
    return {};
  }, function);
}

/// Sets something in an object: input error if the object is NULL.
template <class Object, class Body>
std::int32_t setting(Object* object, std::string_view argument, weft_error** error, Body&& body,
                     const char* function = __builtin_FUNCTION()) noexcept {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = given(object, argument); !there) return there;
    return body();
  }, function);
}

/// Sets a flag of an object's options.
template <class Object>
std::int32_t setting_flag(Object* object, std::string_view argument, bool decltype(Object::options)::*flag,
                          std::int32_t value, weft_error** error, const char* function = __builtin_FUNCTION()) noexcept {
  return setting(object, argument, error, [&]() -> Expected<void> {
    object->options.*flag = value != 0;
    return {};
  }, function);
}

weft_tensor* tensor_handle(Tensor tensor);
Expected<Scalar> scalar_of(std::int32_t scalar);
/// The name at a place of the sorted map, which is short; "" behind its end.
const char* name_at(const Tensors& tensors, std::uint64_t number);

/// Memory that a dense array takes, gaps included: so many elements, the one at coordinates 0, 0, … after `before` others.
struct Reach {
  std::uint64_t before = 0;
  std::uint64_t elements = 0;
};
/// A dense tensor in the host's memory. `strides` as below.
HostValues values_of(Scalar scalar, const void* data, std::uint64_t count);
Expected<Tensor> borrowed_dense(std::int32_t scalar, std::vector<std::uint64_t> extents, const std::int64_t* strides, const void* values);
/// `strides` in elements by mode, or NULL: row-major. Input error if no memory is that large.
Expected<Reach> reach(const std::vector<std::uint64_t>& extents, const std::int64_t* strides);

}  // namespace weft::c_api
