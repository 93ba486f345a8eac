#include "python/_weft/kernel_call.h"

#include <chrono>
#include <cstring>

#include "python/_weft/engine.h"
#include "python/_weft/errors.h"
#include "python/_weft/long_call.h"
#include "python/_weft/object.h"
#include "python/_weft/policy.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

/// Dense results of so many bytes are copied out of the kernel's memory, which costs less than telling it where to
/// write.
constexpr std::uint64_t copied_bytes = 32768;
/// Calls that took less keep the GIL: another thread that computes would keep it for 5 ms.
constexpr double short_ns = 10000;
/// Ctrl-C is looked for in calls that took more.
constexpr double interruptible_ns = 1e6;

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// Whether a part of an array lies among the values or the indices of a matrix.
bool meets(const Bounds& place, const CompressedView& matrix) {
  const auto among = [&](const void* array, std::uint64_t bytes) {
    const auto* const first = static_cast<const char*>(array);
    return first && place.meets({first, first + bytes});
  };
  const std::uint64_t index_bytes = matrix.index_bits / 8;
  return among(matrix.values, matrix.stored() * matrix.value_bytes()) || among(matrix.crd, matrix.crd_count * index_bytes) ||
         among(matrix.pos, matrix.pos_count() * index_bytes);
}

}  // namespace

KernelCall::KernelCall(PyObject* object, PyObject* given, PyObject* named, PyObject* out)
    : object_(object), kernel_(value_of<Kernel>(object)), given_(given), named_(named), out_(out) {}

KernelCall::~KernelCall() {
  if (!frame_) return;
  auto& idle = with_outputs_ ? kernel_.idle_with_outputs : kernel_.idle;
  idle.push_back(std::move(frame_));
}

PyObject* KernelCall::wrong_operands() const {
  const Ref names = Ref::taken(PyList_New(0));
  for (PyObject* const dict : {given_, named_}) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; names && dict && PyDict_Next(dict, &at, &key, &value);) PyList_Append(names.get(), key);
  }
  if (!names) return nullptr;
  Ref told = Ref::taken(PyObject_CallFunctionObjArgs(policy().wrong_operands, object_, names.get(), nullptr));
  if (told && !PyErr_Occurred()) raise_input(nullptr, "the operands given are not those of the kernel");
  return nullptr;
}

bool KernelCall::read_operands() {
  operands_.resize(kernel_.operands.size());
  Py_ssize_t given = (given_ ? PyDict_Size(given_) : 0) + (named_ ? PyDict_Size(named_) : 0);
  for (std::size_t number = 0; number < operands_.size(); ++number) {
    const KernelOperand& wanted = kernel_.operands[number];
    PyObject* object = named_ ? PyDict_GetItem(named_, wanted.key.get()) : nullptr;
    if (!object && given_) object = PyDict_GetItem(given_, wanted.key.get());
    if (!object) return wrong_operands() != nullptr;
    --given;
    if (!read_operand(wanted.name.c_str(), object, operands_[number])) return false;
    if (operands_[number].order() != wanted.order) {
      raise_input(wanted.name.c_str(), "%s has %d dimensions; the kernel was compiled for %d", wanted.name.c_str(),
                  operands_[number].order(), wanted.order);
      return false;
    }
  }
  settle_numbers(operands_);
  return given == 0 || wrong_operands() != nullptr;
}

Ref KernelCall::fresh(const KernelResult& result) const {
  const Ref shape = Ref::taken(PyTuple_New(result.order));
  for (std::uint32_t mode = 0; shape && mode < result.order; ++mode) {
    const auto& [operand, its_mode] = result.extents[mode];
    PyObject* const extent = PyLong_FromUnsignedLongLong(operands_[operand].extent(its_mode));
    if (!extent) return {};
    PyTuple_SetItem(shape.get(), mode, extent);
  }
  PyObject* const type = result.scalar == WEFT_F64 ? policy().float64 : policy().float32;
  return shape ? Ref::taken(PyObject_CallFunctionObjArgs(policy().empty, shape.get(), type, nullptr)) : Ref();
}

bool KernelCall::take_output(const KernelResult& result, PyObject* array, Output& output) {
  if (!result.dense) {
    raise_input(result.name.c_str(), "out=: the result %s is sparse, format %s; ask for a dense one, format=\"%s:%s\"",
                result.name.c_str(), result.format.c_str(), result.name.c_str(),
                std::string(result.order, 'd').c_str());
    name_option("out");
    return false;
  }
  output.array = Ref::shared(array);
  bool direct = kind_of(array) == Kind::dense;
  if (direct) {
    const DenseRead read = read_dense(array, true, output.view);
    if (read == DenseRead::failed) PyErr_Clear();
    if (read == DenseRead::done) output.place = bounds_of(output.view);
    direct = read == DenseRead::done && output.view.scalar == result.scalar &&
             output.view.order == static_cast<int>(result.order) && output.view.row_major();
  }
  for (std::uint32_t mode = 0; direct && mode < result.order; ++mode) {
    const auto& [operand, its_mode] = result.extents[mode];
    direct = output.view.extents[mode] == operands_[operand].extent(its_mode);
  }
  if (direct) {
    const Bounds& place = output.place;
    for (const Operand& operand : operands_) {
      if (operand.kind == Kind::dense) direct = direct && !place.meets(bounds_of(operand.dense));
      if (is_matrix(operand.kind)) direct = direct && !meets(place, operand.matrix);
      if (operand.kind == Kind::tensor && value_of<Tensor>(operand.object.get()).borrowed()) direct = false;
    }
    for (const Output& other : outputs_) {
      // Its view may be of memory that stands in for the array.
      if (&other != &output && other.array) direct = direct && other.place.begin && !place.meets(other.place);
    }
  }
  if (direct) return true;
  // The package knows what is wrong, or computes into memory of its own.
  Ref like = fresh(result);
  const Ref used = Ref::taken(PyList_New(0));
  if (!like || !used) return false;
  for (const Operand& operand : operands_) PyList_Append(used.get(), operand.object.get());
  for (const Output& other : outputs_) {
    if (&other != &output && other.array) PyList_Append(used.get(), other.array.get());
  }
  output.memory =
      Ref::taken(PyObject_CallFunctionObjArgs(policy().into, result.key.get(), array, like.get(), used.get(), nullptr));
  return output.memory && read_dense(output.memory.get(), true, output.view) == DenseRead::done;
}

bool KernelCall::find_outputs() {
  outputs_.resize(kernel_.results.size());
  if (out_ != Py_None) {
    with_outputs_ = true;
    if (!kernel_.tuple) return take_output(kernel_.results.front(), out_, outputs_.front());
    const Ref arrays = Ref::taken(PyObject_CallMethod(kernel_.tuple.get(), "outputs", "(O)", out_));
    if (!arrays) return false;
    for (std::size_t number = 0; number < outputs_.size(); ++number) {
      const KernelResult& result = kernel_.results[number];
      PyObject* const array = PyDict_GetItem(arrays.get(), result.key.get());
      if (array && array != Py_None && !take_output(result, array, outputs_[number])) return false;
    }
  }
  std::uint64_t bytes = 0;
  for (std::size_t number = 0; number < outputs_.size(); ++number) {
    const KernelResult& result = kernel_.results[number];
    if (!result.dense || outputs_[number].array) continue;
    std::uint64_t size = 8;
    for (const auto& [operand, mode] : result.extents) size *= operands_[operand].extent(mode);
    bytes += size;
  }
  if (!with_outputs_ && bytes <= copied_bytes) return true;
  for (std::size_t number = 0; number < outputs_.size(); ++number) {
    const KernelResult& result = kernel_.results[number];
    Output& output = outputs_[number];
    if (!result.dense || output.array) continue;
    with_outputs_ = true;
    output.array = fresh(result);
    if (!output.array || read_dense(output.array.get(), true, output.view) != DenseRead::done) return false;
  }
  return true;
}

bool KernelCall::bind() {
  auto& idle = with_outputs_ ? kernel_.idle_with_outputs : kernel_.idle;
  if (idle.empty()) {
    frame_ = std::make_unique<Frame>();
    Failure failure;
    if (const std::int32_t kind = weft_bindings_create(Out(frame_->bindings), failure); kind != WEFT_OK) {
      failure.raise(kind);
      frame_.reset();
      return false;
    }
    for (const KernelOperand& operand : kernel_.operands) {
      frame_->operands.push_back(std::make_unique<BoundOperand>(operand.name, frame_->bindings.get()));
    }
    frame_->outputs.resize(kernel_.results.size());
  } else {
    frame_ = std::move(idle.back());
    idle.pop_back();
  }
  const weft_engine* const engine = engine_of(kernel_.engine.get());
  const bool verify = value_of<Engine>(kernel_.engine.get()).verify;
  known_time_ = frame_->last_ns > 0;
  for (std::size_t number = 0; number < operands_.size(); ++number) {
    const BoundOperand::Bound bound = frame_->operands[number]->bind(engine, operands_[number], verify);
    if (bound == BoundOperand::Bound::failed) return false;
    if (bound == BoundOperand::Bound::anew && operands_[number].kind != Kind::number)
      known_time_ = known_time_ && operands_[number].kind == Kind::dense;
  }
  if (!with_outputs_) return true;
  for (std::size_t number = 0; number < outputs_.size(); ++number) {
    const DenseView& view = outputs_[number].view;
    if (!outputs_[number].array) continue;
    DenseView& bound = frame_->outputs[number];
    if (bound.values == view.values && bound.values && bound.same_layout(view)) continue;
    Failure failure;
    const std::int32_t kind = weft_bindings_set_output(
        frame_->bindings.get(), kernel_.results[number].name.c_str(), view.scalar,
        static_cast<std::uint32_t>(view.order), view.extents.data(), nullptr, const_cast<void*>(view.values), failure);
    bound.values = nullptr;
    if (kind != WEFT_OK) return failure.raise(kind) != nullptr;
    bound = view;
  }
  return true;
}

bool KernelCall::execute(weft_evaluation** made) {
  Failure failure;
  const double start = now_ns();
  std::int32_t kind = WEFT_OK;
  const auto call = [&](const weft_cancellation* token) {
    return weft_kernel_run(kernel_.kernel.get(), frame_->bindings.get(), token, made, failure);
  };
  if (known_time_ && frame_->last_ns < short_ns && usable_engine(kernel_.engine.get())) {
    kind = call(nullptr);
  } else {
    kind = long_call(kernel_.engine.get(), Doing::running, !known_time_ || frame_->last_ns > interruptible_ns, failure,
                     call);
  }
  // A run that was cancelled tells nothing of the next one.
  frame_->last_ns = kind == WEFT_OK ? now_ns() - start : 0;
  if (kind == WEFT_OK) return true;
  if (!PyErr_Occurred()) failure.raise(kind);
  return false;
}

Ref KernelCall::copied(const KernelResult& result, const weft_tensor* tensor) const {
  const void* values = nullptr;
  std::uint64_t count = 0;
  Failure failure;
  const std::int32_t kind = weft_tensor_values(tensor, &values, &count, failure);
  if (kind != WEFT_OK) return Ref::taken(failure.raise(kind));
  if (result.order == 0) {
    const double number = result.scalar == WEFT_F64 ? *static_cast<const double*>(values)
                                                    : static_cast<double>(*static_cast<const float*>(values));
    return Ref::taken(PyObject_CallFunction(
        result.scalar == WEFT_F64 ? policy().float64_scalar : policy().float32_scalar, "d", number));
  }
  Ref array = fresh(result);
  DenseView view;
  if (!array || read_dense(array.get(), true, view) != DenseRead::done) return {};
  if (result.format.find(':') != std::string::npos) {
    const std::int32_t failed = weft_tensor_to_dense(engine_of(kernel_.engine.get()), tensor,
                                                     const_cast<void*>(view.values), view.size(), nullptr, failure);
    if (failed != WEFT_OK) return Ref::taken(failure.raise(failed));
  } else if (view.size() > 0) {
    std::memcpy(const_cast<void*>(view.values), values, view.size() * (view.scalar == WEFT_F64 ? 8 : 4));
  }
  return array;
}

/// Which arrays of a sparse result others have too: 1 those of levels, 2 the values; 4 others whose memory the caller may
/// change, or that lives as long as objects of the caller's.
int KernelCall::sharing(const weft_tensor* result) {
  const ArraysOf arrays(result);
  int found = 0;
  const auto meet = [&](const ArraysOf& others, bool lent) {
    if (arrays.share_levels(others)) found |= 1;
    if (arrays.values && arrays.values == others.values) found |= 2;
    if (lent && arrays.share(others)) found |= 4;
  };
  for (std::size_t number = 0; number < operands_.size(); ++number) {
    if (operands_[number].kind == Kind::tensor) {
      const Tensor& operand = value_of<Tensor>(operands_[number].object.get());
      meet(ArraysOf(operand.tensor.get()), operand.borrowed());
    } else if (const weft_tensor* const matrix = frame_->operands[number]->matrix()) {
      meet(ArraysOf(matrix), true);
    }
  }
  for (const ArraysOf& other : results_) meet(other, true);
  if (weft_tensor_pattern_is_kept(result)) found |= 1;
  results_.push_back(arrays);
  return found;
}

Ref KernelCall::handed_over(const KernelResult& result, Output& output, const weft_evaluation* evaluation) {
  if (output.memory) {
    const Ref done = Ref::taken(PyObject_CallFunctionObjArgs(policy().finish, result.key.get(), output.array.get(),
                                                             output.memory.get(), nullptr));
    if (!done) return {};
  }
  if (output.array) return output.array;
  TensorHandle tensor;
  Failure failure;
  const std::int32_t kind = weft_evaluation_result(evaluation, result.name.c_str(), Out(tensor), failure);
  if (kind != WEFT_OK) return Ref::taken(failure.raise(kind));
  if (result.dense) return copied(result, tensor.get());
  const int shared = sharing(tensor.get());
  const Ref object = Ref::taken(make_tensor(std::move(tensor), kernel_.engine, {}));
  if (!object) return {};
  return Ref::taken(PyObject_CallFunction(policy().deliver, "OOi", object.get(), kernel_.matrix ? Py_True : Py_False,
                                          shared));
}

PyObject* KernelCall::run() {
  if (!read_operands() || !find_outputs() || !bind()) return nullptr;
  bool all_outputs = true;
  for (const Output& output : outputs_) all_outputs = all_outputs && output.array;
  EvaluationHandle evaluation;
  {
    weft_evaluation* made = nullptr;
    const bool done = execute(all_outputs ? nullptr : &made);
    evaluation.reset(made);
    if (!done) return nullptr;
  }
  if (!kernel_.tuple) return handed_over(kernel_.results.front(), outputs_.front(), evaluation.get()).release();
  const Ref all = Ref::taken(PyTuple_New(static_cast<Py_ssize_t>(kernel_.results.size())));
  for (std::size_t number = 0; all && number < kernel_.results.size(); ++number) {
    Ref one = handed_over(kernel_.results[number], outputs_[number], evaluation.get());
    if (!one) return nullptr;
    PyTuple_SetItem(all.get(), static_cast<Py_ssize_t>(number), one.release());
  }
  return all ? PyObject_CallFunctionObjArgs(kernel_.tuple.get(), all.get(), nullptr) : nullptr;
}

}  // namespace weft_python
