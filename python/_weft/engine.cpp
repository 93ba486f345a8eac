#include "python/_weft/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "python/_weft/compressed.h"
#include "python/_weft/dense.h"
#include "python/_weft/errors.h"
#include "python/_weft/evaluation.h"
#include "python/_weft/kernel.h"
#include "python/_weft/line.h"
#include "python/_weft/long_call.h"
#include "python/_weft/matrix_tensor.h"
#include "python/_weft/object.h"
#include "python/_weft/operand.h"
#include "python/_weft/sorted_copy.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

PyTypeObject* engine_type = nullptr;

/// No format has more.
constexpr std::size_t most_modes = 64;

/// All that there are. Under the GIL.
std::set<Engine*>& engines() {
  static auto* const all = new std::set<Engine*>;
  return *all;
}

void free_engine(PyObject* object) {
  engines().erase(&value_of<Engine>(object));
  free_object<Engine>(object);
}

void on_progress(void* context, const char* what, double fraction) {
  auto& progress = *static_cast<Progress*>(context);
  const std::lock_guard lock(progress.guard);
  progress.what = what;
  progress.fraction = fraction;
}

/// progress() -> (what, fraction), or None where nothing was told since the last call.
PyObject* progress(PyObject* self, PyObject*) {
  std::string what;
  double fraction = 0;
  {
    Progress& told = *value_of<Engine>(self).progress;
    const std::lock_guard lock(told.guard);
    what.swap(told.what);
    fraction = told.fraction;
  }
  return what.empty() ? none() : Py_BuildValue("(sd)", what.c_str(), fraction);
}

/// A row of setters until one fails.
bool done(std::int32_t kind, const Failure& failure) {
  if (kind != WEFT_OK) failure.raise(kind);
  return kind == WEFT_OK;
}

/// Engine(threads, memory_limit, cache_dir, calibration, deterministic, strict_fp, checked, verify): 0 threads are all, None is no
/// limit, no directory, no file; a calibration of "" is that of the command.
PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return guarded([&]() -> PyObject* {
    unsigned threads = 0;
    int deterministic = 0, strict_fp = 0, checked = 0, verify = 0;
    PyObject *limit = nullptr, *directory = nullptr, *calibration = nullptr;
    if (!PyArg_ParseTuple(arguments, "IOOOpppp", &threads, &limit, &directory, &calibration, &deterministic, &strict_fp, &checked,
                          &verify))
      return nullptr;
    OptionsHandle options;
    Failure failure;
    if (!done(weft_options_create(Out(options), failure), failure)) return nullptr;
    weft_options* const set = options.get();
    if (!done(weft_options_set_threads(set, threads, failure), failure)) return nullptr;
    if (limit != Py_None) {
      const std::uint64_t bytes = PyLong_AsUnsignedLongLong(limit);
      if (PyErr_Occurred() || !done(weft_options_set_memory_limit(set, bytes, failure), failure)) return nullptr;
    }
    if (directory != Py_None) {
      const char* const path = text_of(directory);
      if (!path || !done(weft_options_set_cache_directory(set, path, failure), failure)) return nullptr;
    }
    if (calibration != Py_None) {
      const char* const path = text_of(calibration);
      if (!path || !done(weft_options_set_calibration_file(set, *path == 0 ? nullptr : path, failure), failure)) return nullptr;
    }
    if (!done(weft_options_set_deterministic(set, deterministic, failure), failure) ||
        !done(weft_options_set_strict_fp(set, strict_fp, failure), failure) ||
        !done(weft_options_set_checked(set, checked, failure), failure)) {
      return nullptr;
    }
    auto told = std::make_unique<Progress>();
    if (!done(weft_options_set_progress(set, on_progress, told.get(), failure), failure)) return nullptr;
    EngineHandle engine;
    if (!done(weft_engine_create(set, Out(engine), failure), failure)) return nullptr;
    PyObject* const made = make_object<Engine>(type, std::move(engine), std::move(told));
    if (!made) return nullptr;
    value_of<Engine>(made).verify = verify != 0;
    engines().insert(&value_of<Engine>(made));
    return made;
  });
}

std::vector<std::uint64_t> extents_of(PyObject* tuple) {
  std::vector<std::uint64_t> extents;
  for (Py_ssize_t mode = 0; mode < PyTuple_Size(tuple); ++mode)
    extents.push_back(PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, mode)));
  return extents;
}

/// Files that are there once: what a call has read of a pipe, another does not find.
Repeats repeats_of(const char* path) {
  struct stat status {};
  const bool known = ::stat(path, &status) == 0;
  return known && S_ISREG(status.st_mode) ? Repeats::may : Repeats::never;
}

/// load(spec, format) -> Tensor: a file with an optional shape, a generator or a number.
PyObject* load(PyObject* self, PyObject* arguments) {
  const char *spec = nullptr, *format = nullptr;
  if (!PyArg_ParseTuple(arguments, "sz", &spec, &format)) return nullptr;
  TensorHandle made;
  const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_load(engine_with(self, token).get(), spec, format, Out(made), failure);
  }, repeats_of(spec));
  return all_well ? make_tensor(std::move(made), Ref::shared(self), {}) : nullptr;
}

/// read(path, shape, format, scalar, name) -> Tensor
PyObject* read(PyObject* self, PyObject* arguments) {
  const char *path = nullptr, *format = nullptr, *name = nullptr;
  PyObject* shape = nullptr;
  int scalar = WEFT_F64;
  if (!PyArg_ParseTuple(arguments, "sOzis", &path, &shape, &format, &scalar, &name)) return nullptr;
  std::vector<std::uint64_t> extents;
  if (shape != Py_None) extents = extents_of(shape);
  if (PyErr_Occurred()) return nullptr;
  TensorHandle made;
  const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_read(engine_with(self, token).get(), path, static_cast<std::uint32_t>(extents.size()),
                            shape == Py_None ? nullptr : extents.data(), format, scalar, name, nullptr, Out(made),
                            failure);
  }, repeats_of(path));
  return all_well ? make_tensor(std::move(made), Ref::shared(self), {}) : nullptr;
}

/// An object that keeps the level of a dia while its tensor lives.
Ref held(std::unique_ptr<const DiagonalLevel> diagonals) {
  const auto free = [](PyObject* capsule) {
    delete static_cast<const DiagonalLevel*>(PyCapsule_GetPointer(capsule, nullptr));
  };
  Ref capsule = Ref::taken(PyCapsule_New(const_cast<DiagonalLevel*>(diagonals.get()), nullptr, free));
  if (capsule) diagonals.release();
  return capsule;
}

/// tensor(name, object, copy, trusted) -> Tensor: of an array or one of scipy's matrices; borrowed unless copied.
PyObject* tensor(PyObject* self, PyObject* arguments) {
  const char* name = nullptr;
  PyObject* object = nullptr;
  int copy = 0, trusted = 0;
  if (!PyArg_ParseTuple(arguments, "sOpp", &name, &object, &copy, &trusted)) return nullptr;
  Operand operand;
  if (!read_operand(name, object, operand)) return nullptr;
  if (operand.kind == Kind::tensor) return operand.object.release();
  const std::uint32_t flags = static_cast<std::uint32_t>((copy ? WEFT_COPY : WEFT_BORROW) | WEFT_TRUSTED);
  TensorHandle made;
  Ref owners;
  if (operand.kind == Kind::dense || operand.kind == Kind::number) {
    DenseView view = operand.dense;
    if (operand.kind == Kind::number) {
      view = {};
      view.values = &operand.number;
    }
    const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
      return weft_tensor_dense(
          engine_with(self, token).get(), view.scalar, static_cast<std::uint32_t>(view.order), view.extents.data(),
          view.row_major() ? nullptr : view.strides.data(), view.values,
          operand.kind == Kind::number ? static_cast<std::uint32_t>(WEFT_COPY | WEFT_TRUSTED) : flags, Out(made),
          failure);
    });
    if (!all_well) return nullptr;
    if (!copy && operand.kind == Kind::dense) owners = Ref::taken(PyTuple_Pack(1, operand.object.get()));
    return make_tensor(std::move(made), Ref::shared(self), owners);
  }
  const CompressedView& view = operand.matrix;
  const bool as_said = trusted && view.arrangement != Arrangement::entries;
  const Order order = as_said ? Order::canonical : check_compressed(view, name);
  if (order == Order::failed) return nullptr;
  CompressedView source = view;
  std::unique_ptr<SortedCopy> sorted;
  Array<std::byte> gathered;
  if (order == Order::unsorted) {
    sorted = std::make_unique<SortedCopy>(engine_of(self), view);
    source = sorted->view(sorted->values(engine_of(self), view, gathered));
  }
  auto diagonals = view.arrangement == Arrangement::diagonals ? std::make_unique<const DiagonalLevel>(view) : nullptr;
  const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
    return matrix_tensor(engine_with(self, token).get(), source, diagonals.get(),
                         sorted ? static_cast<std::uint32_t>(WEFT_COPY | WEFT_TRUSTED) : flags, Out(made), failure);
  });
  if (!all_well) return nullptr;
  if (!copy && !sorted) {
    const Ref first = diagonals ? held(std::move(diagonals)) : operand.arrays.pos;
    if (!first) return nullptr;
    owners = Ref::taken(PyTuple_Pack(3, first.get(), operand.arrays.crd.get(), operand.arrays.values.get()));
  }
  return make_tensor(std::move(made), Ref::shared(self), owners);
}

/// coo(shape, coordinates, values) -> Tensor: entries in any order, duplicates summed, copied.
PyObject* coo(PyObject* self, PyObject* arguments) {
  PyObject *shape = nullptr, *lists = nullptr, *array = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O!O", &PyTuple_Type, &shape, &PyList_Type, &lists, &array)) return nullptr;
  const std::vector<std::uint64_t> extents = extents_of(shape);
  Line values;
  if (PyErr_Occurred()) return nullptr;
  if (!read_line(array, false, values) || values.integers)
    return raise_input(nullptr, "values are a one-dimensional array of f8 or f4");
  std::vector<const void*> coordinates;
  std::uint32_t bits = 64;
  for (Py_ssize_t mode = 0; mode < PyList_Size(lists); ++mode) {
    Line line;
    if (!read_line(PyList_GetItem(lists, mode), false, line) || !line.integers || line.count != values.count ||
        (mode > 0 && line.bits != bits)) {
      return raise_input(nullptr,
                         "coordinates are arrays of integers of one type, one per mode, as long as that of the values");
    }
    bits = line.bits;
    coordinates.push_back(line.data);
  }
  TensorHandle made;
  const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_coo(engine_with(self, token).get(), values.bits == 64 ? WEFT_F64 : WEFT_F32,
                           static_cast<std::uint32_t>(extents.size()), extents.data(), values.count, bits,
                           coordinates.data(), values.data, WEFT_COPY, Out(made), failure);
  });
  return all_well ? make_tensor(std::move(made), Ref::shared(self), {}) : nullptr;
}

/// levels(format, shape, pos, crd, values) -> Tensor: copied from the arrays of the levels, lists with None where there
/// is none.
PyObject* levels(PyObject* self, PyObject* arguments) {
  const char* format = nullptr;
  PyObject *shape = nullptr, *starts = nullptr, *coordinates = nullptr, *array = nullptr;
  if (!PyArg_ParseTuple(arguments, "sO!O!O!O", &format, &PyTuple_Type, &shape, &PyList_Type, &starts, &PyList_Type,
                        &coordinates, &array)) {
    return nullptr;
  }
  const std::vector<std::uint64_t> extents = extents_of(shape);
  Line values;
  if (PyErr_Occurred()) return nullptr;
  if (!read_line(array, false, values) || values.integers)
    return raise_input(nullptr, "values are a one-dimensional array of f8 or f4");
  std::vector<const void*> pos, crd;
  std::vector<std::uint64_t> pos_counts, crd_counts;
  const auto take = [](PyObject* list, std::vector<const void*>& data, std::vector<std::uint64_t>& counts) {
    for (Py_ssize_t number = 0; number < PyList_Size(list); ++number) {
      PyObject* const one = PyList_GetItem(list, number);
      Line line;
      if (one != Py_None && (!read_line(one, false, line) || !line.integers || line.bits != 64)) return false;
      data.push_back(line.data);
      counts.push_back(line.count);
    }
    return true;
  };
  if (!take(starts, pos, pos_counts) || !take(coordinates, crd, crd_counts) || pos.size() != extents.size() ||
      crd.size() != extents.size()) {
    return raise_input(nullptr, "levels have arrays of int64, or None, one of each for every level");
  }
  TensorHandle made;
  const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_levels(engine_with(self, token).get(), format, extents.data(), 64, pos.data(), pos_counts.data(),
                              crd.data(), crd_counts.data(), values.data, values.count, WEFT_COPY, Out(made), failure);
  });
  return all_well ? make_tensor(std::move(made), Ref::shared(self), {}) : nullptr;
}

/// packed(format, shape, values, copy, trusted) -> Tensor: of a layout that has values alone, as packed triangles;
/// borrowed unless copied.
PyObject* packed(PyObject* self, PyObject* arguments) {
  const char* format = nullptr;
  PyObject *shape = nullptr, *array = nullptr;
  int copy = 0, trusted = 0;
  if (!PyArg_ParseTuple(arguments, "sO!Opp", &format, &PyTuple_Type, &shape, &array, &copy, &trusted)) return nullptr;
  std::vector<std::uint64_t> extents = extents_of(shape);
  const std::size_t order = extents.size();
  extents.resize(std::max<std::size_t>(order, most_modes));  // a format of more modes than the shape finds extents of 0
  Line values;
  if (PyErr_Occurred()) return nullptr;
  if (!read_line(array, false, values) || values.integers)
    return raise_input(nullptr, "values are a one-dimensional array of f8 or f4");
  TensorHandle made;
  const auto flags = static_cast<std::uint32_t>((copy ? WEFT_COPY : WEFT_BORROW) | (trusted ? WEFT_TRUSTED : 0));
  const bool all_well = long_call_done(self, [&](const weft_cancellation* token, Failure& failure) {
    return weft_tensor_levels(engine_with(self, token).get(), format, extents.data(), 64, nullptr, nullptr, nullptr,
                              nullptr, values.data, values.count, flags, Out(made), failure);
  });
  if (!all_well) return nullptr;
  if (weft_tensor_order(made.get()) != order)
    return raise_input(nullptr, "a shape of %llu extents for a format of %u modes",
                       static_cast<unsigned long long>(order), weft_tensor_order(made.get()));
  const Ref owners = copy ? Ref() : Ref::taken(PyTuple_Pack(1, array));
  return copy || owners ? make_tensor(std::move(made), Ref::shared(self), owners) : nullptr;
}

PyObject* counter(PyObject* self, PyObject* name) {
  const char* const text = text_of(name);
  std::uint64_t value = 0;
  Failure failure;
  if (!text || !done(weft_engine_counter(engine_of(self), text, &value, failure), failure)) return nullptr;
  return PyLong_FromUnsignedLongLong(value);
}

PyObject* give_back(PyObject* self, PyObject*) {
  weft_engine_give_back(engine_of(self));
  return none();
}

PyObject* threads(PyObject* self, void*) { return PyLong_FromUnsignedLong(weft_engine_threads(engine_of(self))); }
PyObject* memory_used(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(weft_engine_memory_used(engine_of(self)));
}
PyObject* memory_peak(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(weft_engine_memory_peak(engine_of(self)));
}
PyObject* cache_directory(PyObject* self, void*) {
  return PyUnicode_DecodeFSDefault(weft_engine_cache_directory(engine_of(self)));
}

template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* method(PyObject* self, PyObject* argument) {
  return guarded([&] { return function(self, argument); });
}

PyMethodDef methods[] = {
    {"_compile", compile, METH_VARARGS, nullptr},
    {"_saved_kernel", saved_kernel, METH_VARARGS, nullptr},
    {"_evaluate", evaluate, METH_VARARGS, nullptr},
    {"_load", method<load>, METH_VARARGS, nullptr},
    {"_read", method<read>, METH_VARARGS, nullptr},
    {"_tensor", method<tensor>, METH_VARARGS, nullptr},
    {"_coo", method<coo>, METH_VARARGS, nullptr},
    {"_levels", method<levels>, METH_VARARGS, nullptr},
    {"_packed", method<packed>, METH_VARARGS, nullptr},
    {"_progress", progress, METH_NOARGS, nullptr},
    {"counter", method<counter>, METH_O, "What the engine has done so far, by the names of weft_engine_counter."},
    {"give_back", give_back, METH_NOARGS, "Lets go of what is kept only to be faster next time."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef attributes[] = {
    {"threads", threads, nullptr, "Threads that runs use.", nullptr},
    {"memory_used", memory_used, nullptr, "Bytes charged now.", nullptr},
    {"memory_peak", memory_peak, nullptr, "Bytes charged at most so far.", nullptr},
    {"cache_directory", cache_directory, nullptr, "Where plans and kernels are kept; empty: in memory only.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_engine)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};
PyType_Spec spec = {"_weft.Engine", sizeof(Object<Engine>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool add_engine_type(PyObject* module) {
  PyObject* const type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  engine_type = reinterpret_cast<PyTypeObject*>(type);
  return type && PyModule_AddObjectRef(module, "Engine", type) == 0;
}

weft_engine* engine_of(PyObject* object) {
  if (object && PyObject_TypeCheck(object, engine_type)) return value_of<Engine>(object).engine.get();
  PyErr_SetString(PyExc_TypeError, "an engine is wanted");
  return nullptr;
}

bool usable_engine(PyObject* object) {
  if (!engine_of(object)) return false;
  if (!value_of<Engine>(object).left_behind) return true;
  PyErr_SetString(PyExc_RuntimeError,
                  "another thread was inside this engine when the process was forked; make a new one in the child");
  return false;
}

void leave_engines_behind() {
  for (Engine* const engine : engines()) {
    engine->left_behind = engine->left_behind || engine->calls > 0;
    engine->calls = 0;
  }
}

EngineHandle engine_with(PyObject* engine, const weft_cancellation* token) {
  EngineHandle made;
  weft_engine_with(value_of<Engine>(engine).engine.get(), token, nullptr, nullptr, Out(made), nullptr);
  return made;
}

}  // namespace weft_python
