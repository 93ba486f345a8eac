// The module _weft: what the package `weft` is made of. Its objects are private to that package.
#include "python/_weft/engine.h"
#include "python/_weft/evaluation.h"
#include "python/_weft/kernel.h"
#include "python/_weft/known_matrix.h"
#include "python/_weft/long_call.h"
#include "python/_weft/memory.h"
#include "python/_weft/object.h"
#include "python/_weft/operand.h"
#include "python/_weft/policy.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

/// start(tensor_class, kernel_class, **policy): once, by the package.
PyObject* started(PyObject*, PyObject* arguments, PyObject* keywords) {
  PyObject *tensor = nullptr, *kernel = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &tensor, &kernel)) return nullptr;
  return set_tensor_class(tensor) && set_kernel_class(kernel) && start(keywords) ? none() : nullptr;
}

PyObject* cancel(PyObject*, PyObject*) { return PyLong_FromSize_t(cancel_all()); }

PyObject* under_way(PyObject*, PyObject*) {
  return Py_BuildValue("(ii)", calls_under_way(Doing::running), calls_under_way(Doing::other));
}

PyObject* end(PyObject*, PyObject*) {
  refuse_calls();
  return none();
}

/// In the child of a fork, before anything else of the package.
PyObject* forked(PyObject*, PyObject*) {
  leave_engines_behind();
  forget_calls();
  forget_matrices();
  return none();
}

PyMethodDef functions[] = {
    {"start", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(started)), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"signature", signature, METH_VARARGS, nullptr},
    {"cancel", cancel, METH_NOARGS, nullptr},
    {"under_way", under_way, METH_NOARGS, nullptr},
    {"end", end, METH_NOARGS, nullptr},
    {"forked", forked, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_weft", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace weft_python

PyMODINIT_FUNC PyInit__weft() {
  using namespace weft_python;
  Ref module = Ref::taken(PyModule_Create(&definition));
  if (!module || !add_memory_type(module.get()) || !add_tensor_type(module.get()) || !add_engine_type(module.get()) ||
      !add_kernel_type(module.get()) || !add_evaluation_type(module.get()) ||
      PyModule_AddStringConstant(module.get(), "version", weft_version()) != 0) {
    return nullptr;
  }
  return module.release();
}
