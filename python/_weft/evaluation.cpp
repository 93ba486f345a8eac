#include "python/_weft/evaluation.h"

#include <deque>
#include <string>
#include <vector>

#include "python/_weft/engine.h"
#include "python/_weft/errors.h"
#include "python/_weft/handles.h"
#include "python/_weft/known_matrix.h"
#include "python/_weft/long_call.h"
#include "python/_weft/object.h"
#include "python/_weft/operand.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

struct Evaluation {
  EvaluationHandle evaluation;
};

PyTypeObject* evaluation_type = nullptr;

weft_evaluation* handle(PyObject* self) { return value_of<Evaluation>(self).evaluation.get(); }

/// Matrices, the values of sorted copies, and numbers, that a session's tensors borrow.
struct Held {
  double number = 0;
  std::shared_ptr<const KnownMatrix> matrix;
  Array<std::byte> gathered;
};

/// With the values that the matrix has now. NULL with an error set.
TensorHandle tensor_of_matrix(const weft_engine* maker, const char* name, const Operand& operand,
                              std::deque<Held>& held) {
  TensorHandle made;
  Held& one = held.emplace_back();
  one.matrix = known_matrix(maker, name, operand.matrix, operand.arrays, false);
  if (!one.matrix) return made;
  const void* const values =
      one.matrix->sorted ? one.matrix->sorted->values(maker, operand.matrix, one.gathered) : operand.matrix.values;
  const weft_tensor* const known = one.matrix->tensor.get();
  Failure failure;
  const std::int32_t kind = weft_tensor_same_pattern(maker, known, operand.matrix.scalar, values,
                                                     weft_tensor_nnz(known), WEFT_BORROW, Out(made), failure);
  if (kind != WEFT_OK) failure.raise(kind);
  return made;
}

/// The operand as a tensor for a session; lent, while the operand is held.
bool set_operand(PyObject* engine, weft_session* session, const char* name, const Operand& operand, std::deque<Held>& held) {
  const weft_engine* const maker = engine_of(engine);
  TensorHandle made;
  const weft_tensor* tensor = nullptr;
  Failure failure;
  if (operand.kind == Kind::tensor) {
    tensor = value_of<Tensor>(operand.object.get()).tensor.get();
  } else if (is_matrix(operand.kind)) {
    made = tensor_of_matrix(maker, name, operand, held);
    if (!made) return false;
    tensor = made.get();
  } else {
    DenseView view = operand.dense;
    if (operand.kind == Kind::number && !write_number(name, operand, held.emplace_back().number, view)) return false;
    const std::int32_t kind = weft_tensor_dense(maker, view.scalar, static_cast<std::uint32_t>(view.order),
                                                view.extents.data(), view.row_major() ? nullptr : view.strides.data(),
                                                view.values, WEFT_BORROW | WEFT_TRUSTED, Out(made), failure);
    if (kind != WEFT_OK) return failure.raise(kind) != nullptr;
    tensor = made.get();
  }
  const std::int32_t kind = weft_session_set(session, name, tensor, failure);
  return kind == WEFT_OK || failure.raise(kind) != nullptr;
}

PyObject* evaluated(PyObject* engine, PyObject* arguments) {
  PyObject *text = nullptr, *given = nullptr, *options = nullptr;
  if (!PyArg_ParseTuple(arguments, "UO!O", &text, &PyDict_Type, &given, &options)) return nullptr;
  const char* const expression = text_of(text);
  const weft_engine* const maker = engine_of(engine);
  const RequestHandle request = request_of(options);
  if (!expression || !maker || !request) return nullptr;
  SessionHandle session;
  Failure failure;
  const std::int32_t kind = weft_session_create(maker, Out(session), failure);
  if (kind != WEFT_OK) return failure.raise(kind);
  std::vector<Operand> operands(static_cast<std::size_t>(PyDict_Size(given)));
  std::deque<Held> held;
  std::vector<const char*> names;
  PyObject *key = nullptr, *object = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &object);) {
    const char* const name = text_of(key);
    if (!name || !read_operand(name, object, operands[names.size()])) return nullptr;
    names.push_back(name);
  }
  settle_numbers(operands);
  for (std::size_t number = 0; number < names.size(); ++number) {
    if (!set_operand(engine, session.get(), names[number], operands[number], held)) return nullptr;
  }
  EvaluationHandle evaluation;
  const bool done = long_call_done(engine, [&](const weft_cancellation* token, Failure& told) {
    weft_request_set_cancellation(request.get(), token, nullptr);
    return weft_session_evaluate(session.get(), expression, names.size(), names.data(), request.get(), Out(evaluation),
                                 told);
  });
  return done ? make_object<Evaluation>(evaluation_type, std::move(evaluation)) : nullptr;
}

template <int32_t (*function)(weft_evaluation*, const char**, weft_error**)>
PyObject* text(PyObject* self, PyObject*) {
  const char* told = "";
  Failure failure;
  const std::int32_t kind = function(handle(self), &told, failure);
  return kind == WEFT_OK ? PyUnicode_FromString(told) : failure.raise(kind);
}

PyObject* explanation(PyObject* self, PyObject*) {
  return PyUnicode_FromString(weft_evaluation_explanation(handle(self)));
}

PyObject* stage(PyObject* self, PyObject* name) {
  const char* const wanted = text_of(name);
  if (!wanted) return nullptr;
  const char* told = "";
  std::uint64_t bytes = 0;
  Failure failure;
  const std::int32_t kind = weft_evaluation_stage(handle(self), wanted, &told, &bytes, failure);
  return kind == WEFT_OK ? PyUnicode_DecodeUTF8(told, static_cast<Py_ssize_t>(bytes), "replace") : failure.raise(kind);
}

PyMethodDef methods[] = {
    {"report", text<weft_evaluation_report>, METH_NOARGS, nullptr},
    {"page", text<weft_evaluation_page>, METH_NOARGS, nullptr},
    {"explanation", explanation, METH_NOARGS, nullptr},
    {"stage", stage, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_object<Evaluation>)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"_weft.Evaluation", sizeof(Object<Evaluation>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool add_evaluation_type(PyObject* module) {
  evaluation_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return evaluation_type != nullptr;
}

PyObject* evaluate(PyObject* engine, PyObject* arguments) {
  return guarded([&] { return evaluated(engine, arguments); });
}

}  // namespace weft_python
