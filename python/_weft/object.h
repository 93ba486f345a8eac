// Python types whose objects hold a C++ value.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "python/_weft/python.h"

namespace weft_python {

template <class Value>
struct Object {
  PyObject head;
  Value* value;
};

template <class Value>
Value& value_of(PyObject* object) {
  return *reinterpret_cast<Object<Value>*>(object)->value;
}

/// An object of that class; NULL with an error set.
template <class Value, class... Arguments>
PyObject* make_object(PyTypeObject* type, Arguments&&... arguments) {
  auto* const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const object = allocate(type, 0);
  if (!object) return nullptr;
  auto*& value = reinterpret_cast<Object<Value>*>(object)->value;
  value = new (std::nothrow) Value{std::forward<Arguments>(arguments)...};
  if (value) return object;
  Py_DECREF(object);
  return PyErr_NoMemory();
}

template <class Value>
void free_object(PyObject* object) {
  delete reinterpret_cast<Object<Value>*>(object)->value;
  PyTypeObject* const type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/// Runs a body that returns a new reference; what the standard library throws becomes Python's MemoryError or
/// RuntimeError.
template <class Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& exception) {
    PyErr_SetString(PyExc_RuntimeError, exception.what());
    return nullptr;
  }
}

inline PyObject* none() { return Ref::shared(Py_None).release(); }

}  // namespace weft_python
