// The handles of weft.h, freed by scope.
#pragma once

#include <memory>

#include "weft.h"

namespace weft_python {

template <auto release>
struct Release {
  template <class Object>
  void operator()(Object* object) const {
    release(object);
  }
};

using ErrorHandle = std::unique_ptr<weft_error, Release<weft_error_free>>;
using CancellationHandle = std::unique_ptr<weft_cancellation, Release<weft_cancellation_free>>;
using OptionsHandle = std::unique_ptr<weft_options, Release<weft_options_free>>;
using EngineHandle = std::unique_ptr<weft_engine, Release<weft_engine_free>>;
using TensorHandle = std::unique_ptr<weft_tensor, Release<weft_tensor_free>>;
using RequestHandle = std::unique_ptr<weft_request, Release<weft_request_free>>;
using SessionHandle = std::unique_ptr<weft_session, Release<weft_session_free>>;
using KernelHandle = std::unique_ptr<weft_kernel, Release<weft_kernel_free>>;
using BindingsHandle = std::unique_ptr<weft_bindings, Release<weft_bindings_free>>;
using EvaluationHandle = std::unique_ptr<weft_evaluation, Release<weft_evaluation_free>>;

/// Where a function of weft.h puts what it makes; the handle has it when the expression ends.
template <class Handle>
class Out {
 public:
  explicit Out(Handle& handle) : handle_(handle) {}
  ~Out() { handle_.reset(made_); }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  operator typename Handle::element_type **() { return &made_; }

 private:
  Handle& handle_;
  typename Handle::element_type* made_ = nullptr;
};

}  // namespace weft_python
