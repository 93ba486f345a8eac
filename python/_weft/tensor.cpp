#include "python/_weft/tensor.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "python/_weft/dense.h"
#include "python/_weft/engine.h"
#include "python/_weft/errors.h"
#include "python/_weft/holders.h"
#include "python/_weft/line.h"
#include "python/_weft/long_call.h"
#include "python/_weft/memory.h"
#include "python/_weft/object.h"
#include "python/_weft/shared_arrays.h"

namespace weft_python {
namespace {

PyTypeObject* base_type = nullptr;
PyTypeObject* tensor_class = nullptr;

void free_tensor(PyObject* self) {
  let_go_of(&value_of<Tensor>(self));
  free_object<Tensor>(self);
}

const weft_tensor* handle(PyObject* self) { return value_of<Tensor>(self).tensor.get(); }
PyObject* lent(PyObject* self) { return value_of<Tensor>(self).engine.get(); }
EngineHandle lender(PyObject* self, const weft_cancellation* token) { return engine_with(lent(self), token); }

PyObject* shape(PyObject* self, void*) {
  const std::uint32_t order = weft_tensor_order(handle(self));
  Ref extents = Ref::taken(PyTuple_New(order));
  for (std::uint32_t mode = 0; extents && mode < order; ++mode) {
    PyObject* const extent = PyLong_FromUnsignedLongLong(weft_tensor_extent(handle(self), mode));
    if (!extent) return nullptr;
    PyTuple_SetItem(extents.get(), mode, extent);
  }
  return extents.release();
}
PyObject* ndim(PyObject* self, void*) { return PyLong_FromUnsignedLong(weft_tensor_order(handle(self))); }
PyObject* nnz(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(weft_tensor_nnz(handle(self))); }
PyObject* nbytes(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(weft_tensor_bytes(handle(self))); }
PyObject* format(PyObject* self, void*) { return PyUnicode_FromString(weft_tensor_format(handle(self))); }
PyObject* scalar(PyObject* self, void*) { return PyLong_FromLong(weft_tensor_scalar(handle(self))); }
PyObject* summary(PyObject* self, void*) { return PyUnicode_FromString(weft_tensor_summary(handle(self))); }
PyObject* borrowed(PyObject* self, void*) { return PyBool_FromLong(value_of<Tensor>(self).borrowed() ? 1 : 0); }
PyObject* engine(PyObject* self, void*) { return Ref(value_of<Tensor>(self).engine).release(); }
PyObject* owners(PyObject* self, void*) {
  const Ref& held = value_of<Tensor>(self).owners;
  return held ? Ref(held).release() : none();
}

/// Of the elements of index arrays, as Python's struct has them: those of 8 and 16 bits are coordinates of layouts.
const char* code_of(std::uint32_t bits) { return bits == 64 ? "q" : bits == 32 ? "i" : bits == 16 ? "H" : "B"; }

/// level(number, writable=False) -> (kind, mode, pos, crd, stride); arrays as buffers, or None where the level has
/// none.
PyObject* level(PyObject* self, PyObject* arguments) {
  unsigned long wanted = 0;
  int writable = 0;
  if (!PyArg_ParseTuple(arguments, "k|p", &wanted, &writable)) return nullptr;
  std::int32_t kind = 0;
  std::uint32_t mode = 0, pos_bits = 0, crd_bits = 0;
  const void *pos = nullptr, *crd = nullptr;
  std::uint64_t pos_count = 0, crd_count = 0;
  std::int64_t stride = 0;
  Failure failure;
  const std::int32_t failed = weft_tensor_level(handle(self), static_cast<std::uint32_t>(wanted), &kind, &mode, &pos,
                                                &pos_count, &pos_bits, &crd, &crd_count, &crd_bits, &stride, failure);
  if (failed != WEFT_OK) return failure.raise(failed);
  const auto array = [&](const void* data, std::uint64_t count, std::uint32_t bits) {
    if (bits == 0) return Ref::shared(Py_None);
    return Ref::taken(make_memory(Ref::shared(self), data, count, bits / 8, code_of(bits), writable != 0));
  };
  const Ref starts = array(pos, pos_count, pos_bits), coordinates = array(crd, crd_count, crd_bits);
  if (!starts || !coordinates) return nullptr;
  return Py_BuildValue("(CIOOL)", kind, mode, starts.get(), coordinates.get(), static_cast<long long>(stride));
}

/// values(writable) -> a buffer of all stored values.
PyObject* values(PyObject* self, PyObject* writable) {
  const void* data = nullptr;
  std::uint64_t count = 0;
  Failure failure;
  const std::int32_t failed = weft_tensor_values(handle(self), &data, &count, failure);
  if (failed != WEFT_OK) return failure.raise(failed);
  const bool wide = weft_tensor_scalar(handle(self)) == WEFT_F64;
  return make_memory(Ref::shared(self), data, count, wide ? 8 : 4, wide ? "d" : "f", PyObject_IsTrue(writable) == 1);
}

/// dense() -> a buffer over all of the tensor where every level is a dense one of a mode, else None: levels of layouts
/// such as band(1,1), (i:d, j-i:d(-1..2)), are of none.
PyObject* dense(PyObject* self, PyObject*) {
  const weft_tensor* tensor = handle(self);
  const std::uint32_t order = weft_tensor_order(tensor);
  Memory memory;
  memory.owner = Ref::shared(self);
  memory.order = static_cast<int>(order);
  memory.width = weft_tensor_scalar(tensor) == WEFT_F64 ? 8 : 4;
  memory.format = memory.width == 8 ? "d" : "f";
  // Row-major memory has no strides; of host memory with strides some may be 0 too.
  bool strided = false;
  Py_ssize_t packed[32] = {}, entries = 1;
  for (std::uint32_t number = order; number-- > 0;) {
    std::int32_t kind = 0;
    std::uint32_t mode = 0;
    std::int64_t stride = 0;
    Failure failure;
    const std::int32_t failed = weft_tensor_level(tensor, number, &kind, &mode, nullptr, nullptr, nullptr, nullptr,
                                                  nullptr, nullptr, &stride, failure);
    if (failed != WEFT_OK) return failure.raise(failed);
    if (kind != 'd' || mode >= order || order > 32) return none();
    memory.extents[mode] = static_cast<Py_ssize_t>(weft_tensor_extent(tensor, mode));
    memory.strides[mode] = static_cast<Py_ssize_t>(stride) * memory.width;
    packed[mode] = entries * memory.width;
    strided = strided || stride != 0;
    entries *= memory.extents[mode];
  }
  std::uint64_t stored = 0;
  Failure failure;
  const std::int32_t failed = weft_tensor_values(tensor, &memory.data, &stored, failure);
  if (failed != WEFT_OK) return failure.raise(failed);
  if (!strided && stored >= static_cast<std::uint64_t>(entries)) std::copy(packed, packed + order, memory.strides);
  return make_memory(std::move(memory));
}

/// convert(format) -> Tensor; borrowed as the tensor is where it keeps its memory. In a format that is not the tensor's
/// it keeps no values of the caller's, who may change them.
PyObject* convert(PyObject* self, PyObject* wanted) {
  const char* const text = text_of(wanted);
  if (!text) return nullptr;
  TensorHandle made;
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_convert(lender(self, token).get(), handle(self), text, Out(made), failure);
  });
  if (!done) return nullptr;
  const Tensor& source = value_of<Tensor>(self);
  bool shared = false;
  if (source.borrowed()) {
    const ArraysOf arrays(made.get()), lent_arrays(source.tensor.get());
    const std::int32_t type = weft_tensor_scalar(made.get());
    const bool same = type == weft_tensor_scalar(handle(self)) &&
                      std::strcmp(weft_tensor_format(made.get()), weft_tensor_format(handle(self))) == 0;
    shared = arrays.share(lent_arrays);
    if (shared && !same && !arrays.share_levels(lent_arrays)) {
      TensorHandle kept;
      const bool copied = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
        const void* values = nullptr;
        std::uint64_t count = 0;
        const std::int32_t failed = weft_tensor_values(made.get(), &values, &count, failure);
        if (failed != WEFT_OK) return failed;
        return weft_tensor_same_pattern(lender(self, token).get(), made.get(), type, values, count, 0, Out(kept), failure);
      });
      if (!copied) return nullptr;
      made = std::move(kept);
      shared = false;
    }
  }
  return make_tensor(std::move(made), source.engine, shared ? Ref(source.owners) : Ref());
}

PyObject* write(PyObject* self, PyObject* path) {
  const char* const text = text_of(path);
  if (!text) return nullptr;
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_write(lender(self, token).get(), handle(self), text, failure);
  });
  return done ? none() : nullptr;
}

PyObject* verify(PyObject* self, PyObject*) {
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_verify(lender(self, token).get(), handle(self), failure);
  });
  return done ? none() : nullptr;
}

/// to_dense(array): all entries into a row-major array of the tensor's type and shape.
PyObject* to_dense(PyObject* self, PyObject* array) {
  DenseView view;
  const DenseRead read = read_dense(array, true, view);
  if (read == DenseRead::failed) return nullptr;
  if (read == DenseRead::other || view.scalar != weft_tensor_scalar(handle(self)) || !view.row_major()) {
    return raise_input(nullptr, "to_dense() fills a row-major array of the tensor's type");
  }
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_to_dense(lender(self, token).get(), handle(self), const_cast<void*>(view.values), view.size(),
                                nullptr, failure);
  });
  return done ? none() : nullptr;
}

/// coo(drop_zeros, coordinates, values): entries into a list of uint64 arrays and an array of the tensor's type; the
/// number that there are. With None and None the number alone.
PyObject* coo(PyObject* self, PyObject* arguments) {
  int drop_zeros = 0;
  PyObject *lists = nullptr, *array = nullptr;
  if (!PyArg_ParseTuple(arguments, "pOO", &drop_zeros, &lists, &array)) return nullptr;
  std::vector<std::uint64_t*> coordinates;
  std::uint64_t room = 0, count = 0;
  Line line;
  if (array != Py_None) {
    if (!read_line(array, true, line) || line.integers ||
        (line.bits == 64) != (weft_tensor_scalar(handle(self)) == WEFT_F64)) {
      return raise_input(nullptr, "values are written to an array of the tensor's type");
    }
    room = line.count;
    for (Py_ssize_t mode = 0; mode < PyList_Size(lists); ++mode) {
      Line one;
      if (!read_line(PyList_GetItem(lists, mode), true, one) || !one.integers || one.bits != 64 || one.count != room) {
        return raise_input(nullptr, "coordinates are written to arrays of uint64, as long as that of the values");
      }
      coordinates.push_back(static_cast<std::uint64_t*>(const_cast<void*>(one.data)));
    }
  }
  std::int32_t kind = WEFT_OK;
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    kind = weft_tensor_to_coo(lender(self, token).get(), handle(self), drop_zeros, room, coordinates.data(),
                              const_cast<void*>(line.data), &count, failure);
    return array == Py_None && kind == WEFT_INPUT && count > 0 ? static_cast<std::int32_t>(WEFT_OK) : kind;
  });
  return done ? PyLong_FromUnsignedLongLong(count) : nullptr;
}

/// at(coordinates) -> (value, stored)
PyObject* at(PyObject* self, PyObject* tuple) {
  std::vector<std::uint64_t> coordinates;
  for (Py_ssize_t mode = 0; mode < PyTuple_Size(tuple); ++mode) {
    coordinates.push_back(PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, mode)));
  }
  if (PyErr_Occurred()) return nullptr;
  double value = 0;
  std::int32_t stored = 0;
  Failure failure;
  const std::int32_t failed =
      weft_tensor_at(engine_of(lent(self)), handle(self), coordinates.data(), &value, &stored, failure);
  if (failed != WEFT_OK) return failure.raise(failed);
  return Py_BuildValue("(dO)", value, stored ? Py_True : Py_False);
}

/// over_pattern(values) -> Tensor: the same pattern with a copy of other values, as many as `_values` has.
PyObject* over_pattern(PyObject* self, PyObject* array) {
  Line line;
  if (!read_line(array, false, line) || line.integers) return raise_input(nullptr, "other values are an array of f4 or f8");
  TensorHandle made;
  const std::int32_t scalar = line.bits == 64 ? WEFT_F64 : WEFT_F32;
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_same_pattern(lender(self, token).get(), handle(self), scalar, line.data, line.count, 0, Out(made), failure);
  });
  return done ? make_tensor(std::move(made), value_of<Tensor>(self).engine, value_of<Tensor>(self).owners) : nullptr;
}

/// with_extents(extents) -> Tensor
PyObject* with_extents(PyObject* self, PyObject* tuple) {
  std::vector<std::uint64_t> extents;
  for (Py_ssize_t mode = 0; mode < PyTuple_Size(tuple); ++mode) {
    extents.push_back(PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, mode)));
  }
  if (PyErr_Occurred()) return nullptr;
  TensorHandle made;
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_with_extents(lender(self, token).get(), handle(self), extents.data(), Out(made), failure);
  });
  return done ? make_tensor(std::move(made), value_of<Tensor>(self).engine, value_of<Tensor>(self).owners) : nullptr;
}

/// slice(starts, steps, counts, dropped) -> Tensor; by mode, `dropped` as booleans.
PyObject* slice(PyObject* self, PyObject* arguments) {
  PyObject* lists[4] = {};
  if (!PyArg_ParseTuple(arguments, "O!O!O!O!", &PyTuple_Type, &lists[0], &PyTuple_Type, &lists[1], &PyTuple_Type, &lists[2],
                        &PyTuple_Type, &lists[3])) {
    return nullptr;
  }
  std::vector<std::uint64_t> starts, counts;
  std::vector<std::int64_t> steps;
  std::vector<std::uint8_t> dropped;
  for (Py_ssize_t mode = 0; mode < PyTuple_Size(lists[0]); ++mode) {
    starts.push_back(PyLong_AsUnsignedLongLong(PyTuple_GetItem(lists[0], mode)));
    steps.push_back(PyLong_AsLongLong(PyTuple_GetItem(lists[1], mode)));
    counts.push_back(PyLong_AsUnsignedLongLong(PyTuple_GetItem(lists[2], mode)));
    dropped.push_back(PyObject_IsTrue(PyTuple_GetItem(lists[3], mode)) == 1 ? 1 : 0);
    if (PyErr_Occurred()) return nullptr;
  }
  TensorHandle made;
  const bool done = long_call_done(lent(self), [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_slice(lender(self, token).get(), handle(self), starts.data(), steps.data(), counts.data(),
                             dropped.data(), Out(made), failure);
  });
  return done ? make_tensor(std::move(made), value_of<Tensor>(self).engine, Ref()) : nullptr;
}

template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* method(PyObject* self, PyObject* argument) {
  return guarded([&] { return function(self, argument); });
}

PyMethodDef methods[] = {
    {"_level", method<level>, METH_VARARGS, nullptr},
    {"_values", method<values>, METH_O, nullptr},
    {"_dense", method<dense>, METH_NOARGS, nullptr},
    {"_convert", method<convert>, METH_O, nullptr},
    {"_write", method<write>, METH_O, nullptr},
    {"_verify", method<verify>, METH_NOARGS, nullptr},
    {"_to_dense", method<to_dense>, METH_O, nullptr},
    {"_coo", method<coo>, METH_VARARGS, nullptr},
    {"_at", method<at>, METH_O, nullptr},
    {"_slice_of", method<slice>, METH_VARARGS, nullptr},
    {"_over_pattern", method<over_pattern>, METH_O, nullptr},
    {"_with_extents", method<with_extents>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef attributes[] = {
    {"shape", shape, nullptr, "Extents by mode.", nullptr},
    {"ndim", ndim, nullptr, "Number of modes.", nullptr},
    {"nnz", nnz, nullptr, "Stored entries, those of dense levels included.", nullptr},
    {"nbytes", nbytes, nullptr, "Bytes of all arrays.", nullptr},
    {"format", format, nullptr, "Kinds of the levels and the mode of each, as in \"ds:0,1\".", nullptr},
    {"_scalar", scalar, nullptr, nullptr, nullptr},
    {"_summary", summary, nullptr, nullptr, nullptr},
    {"_borrowed", borrowed, nullptr, nullptr, nullptr},
    {"_engine", engine, nullptr, nullptr, nullptr},
    {"_owners", owners, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_tensor)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};
PyType_Spec spec = {"_weft.Tensor", sizeof(Object<Tensor>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool add_tensor_type(PyObject* module) {
  PyObject* const type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  base_type = tensor_class = reinterpret_cast<PyTypeObject*>(type);
  return type && PyModule_AddObjectRef(module, "Tensor", type) == 0;
}

bool set_tensor_class(PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), base_type)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of _weft.Tensor is wanted");
    return false;
  }
  Py_INCREF(type);
  tensor_class = reinterpret_cast<PyTypeObject*>(type);
  return true;
}

bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, base_type) != 0; }

PyObject* make_tensor(TensorHandle tensor, Ref engine, Ref owners) {
  return make_object<Tensor>(tensor_class, std::move(tensor), std::move(engine), std::move(owners));
}

}  // namespace weft_python
