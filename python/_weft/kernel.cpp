#include "python/_weft/kernel.h"

#include "python/_weft/engine.h"
#include "python/_weft/errors.h"
#include "python/_weft/kernel_call.h"
#include "python/_weft/long_call.h"
#include "python/_weft/object.h"

namespace weft_python {
namespace {

PyTypeObject* kernel_class = nullptr;

Ref interned(const std::string& name) { return Ref::taken(PyUnicode_InternFromString(name.c_str())); }

bool describe_results(Kernel& kernel) {
  const weft_kernel* const made = kernel.kernel.get();
  for (std::uint64_t number = 0; number < weft_kernel_result_count(made); ++number) {
    KernelResult result;
    result.name = weft_kernel_result(made, number);
    result.key = interned(result.name);
    const char* format = "";
    Failure failure;
    std::int32_t kind = weft_kernel_result_format(made, number, &format, &result.scalar, &result.order, failure);
    if (kind != WEFT_OK) return failure.raise(kind) != nullptr;
    result.format = format;
    result.dense = result.format.find_first_not_of('d') >= result.format.find(':');
    for (std::uint32_t mode = 0; mode < result.order; ++mode) {
      const char* operand = "";
      KernelResult::Extent extent;
      kind = weft_kernel_result_extent(made, number, mode, &operand, &extent.mode, failure);
      if (kind != WEFT_OK) return failure.raise(kind) != nullptr;
      while (extent.operand < kernel.operands.size() && kernel.operands[extent.operand].name != operand)
        ++extent.operand;
      if (extent.operand == kernel.operands.size())
        return raise_input(nullptr, "the result %s has an extent of no operand", result.name.c_str()) != nullptr;
      result.extents.push_back(extent);
    }
    kernel.results.push_back(std::move(result));
  }
  return true;
}

/// The frame that the operands were bound to goes on as the first of the kernel's.
PyObject* compiled(PyObject* engine, PyObject* arguments) {
  PyObject *text = nullptr, *given = nullptr, *options = nullptr;
  int matrix = 0;
  if (!PyArg_ParseTuple(arguments, "UO!Op", &text, &PyDict_Type, &given, &options, &matrix)) return nullptr;
  const char* const expression = text_of(text);
  const weft_engine* const maker = engine_of(engine);
  const RequestHandle request = request_of(options);
  if (!expression || !maker || !request) return nullptr;
  Kernel kernel;
  kernel.engine = Ref::shared(engine);
  kernel.matrix = matrix != 0;
  auto frame = std::make_unique<Frame>();
  Failure failure;
  std::int32_t kind = weft_bindings_create(Out(frame->bindings), failure);
  if (kind != WEFT_OK) return failure.raise(kind);
  std::vector<Operand> read(static_cast<std::size_t>(PyDict_Size(given)));
  std::size_t number = 0;
  PyObject *key = nullptr, *object = nullptr;
  std::vector<std::string> names;
  for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &object); ++number) {
    const char* const name = text_of(key);
    if (!name || !read_operand(name, object, read[number])) return nullptr;
    names.emplace_back(name);
  }
  settle_numbers(read);
  for (std::size_t place = 0; place < names.size(); ++place) {
    frame->operands.push_back(std::make_unique<BoundOperand>(names[place], frame->bindings.get()));
    if (frame->operands.back()->bind(maker, read[place], false) == BoundOperand::Bound::failed) return nullptr;
  }
  const bool done = long_call_done(engine, [&](const weft_cancellation* token, Failure& told) {
    weft_request_set_cancellation(request.get(), token, nullptr);
    return weft_engine_compile(maker, expression, frame->bindings.get(), request.get(), Out(kernel.kernel), told);
  });
  if (!done) return nullptr;
  for (std::uint64_t used = 0; used < weft_kernel_operand_count(kernel.kernel.get()); ++used) {
    const std::string name = weft_kernel_operand(kernel.kernel.get(), used);
    std::size_t place = 0;
    while (place < names.size() && names[place] != name) ++place;
    if (place == names.size()) return raise_input(name.c_str(), "the operand %s is missing", name.c_str());
    kernel.operands.push_back({name, interned(name), read[place].order()});
    // In the kernel's order from now on.
    std::swap(frame->operands[static_cast<std::size_t>(used)], frame->operands[place]);
    std::swap(names[static_cast<std::size_t>(used)], names[place]);
    std::swap(read[static_cast<std::size_t>(used)], read[place]);
  }
  if (!describe_results(kernel)) return nullptr;
  if (frame->operands.size() == kernel.operands.size()) {
    frame->outputs.resize(kernel.results.size());
    kernel.idle.push_back(std::move(frame));
  }
  return make_object<Kernel>(kernel_class, std::move(kernel));
}

PyObject* loaded(PyObject* engine, PyObject* arguments) {
  PyObject *saved = nullptr, *orders = nullptr;
  int matrix = 0;
  if (!PyArg_ParseTuple(arguments, "SO!p", &saved, &PyTuple_Type, &orders, &matrix)) return nullptr;
  char* bytes = nullptr;
  Py_ssize_t count = 0;
  if (PyBytes_AsStringAndSize(saved, &bytes, &count) != 0) return nullptr;
  Kernel kernel;
  kernel.engine = Ref::shared(engine);
  kernel.matrix = matrix != 0;
  const bool done = long_call_done(engine, [&](const weft_cancellation*, Failure& told) {
    return weft_engine_load(engine_of(engine), bytes, static_cast<std::uint64_t>(count), Out(kernel.kernel), told);
  });
  if (!done) return nullptr;
  const std::uint64_t operand_count = weft_kernel_operand_count(kernel.kernel.get());
  if (operand_count != static_cast<std::uint64_t>(PyTuple_Size(orders)))
    return raise_input(nullptr, "a saved kernel has an order for each operand");
  for (std::uint64_t number = 0; number < operand_count; ++number) {
    const std::string name = weft_kernel_operand(kernel.kernel.get(), number);
    const long order = PyLong_AsLong(PyTuple_GetItem(orders, static_cast<Py_ssize_t>(number)));
    if (PyErr_Occurred()) return nullptr;
    kernel.operands.push_back({name, interned(name), static_cast<int>(order)});
  }
  return describe_results(kernel) ? make_object<Kernel>(kernel_class, std::move(kernel)) : nullptr;
}

/// kernel(operands=None, /, *, out=None, **named)
PyObject* call(PyObject* self, PyObject* arguments, PyObject* named) {
  return guarded([&]() -> PyObject* {
    PyObject* given = nullptr;
    if (PyTuple_Size(arguments) > 1) {
      PyErr_SetString(PyExc_TypeError, "a kernel takes one mapping of operands, and operands by keyword");
      return nullptr;
    }
    Ref mapping;
    if (PyTuple_Size(arguments) == 1 && PyTuple_GetItem(arguments, 0) != Py_None) {
      given = PyTuple_GetItem(arguments, 0);
      if (!PyDict_Check(given)) {
        if (!PyObject_HasAttrString(given, "keys")) {
          PyErr_SetString(PyExc_TypeError, "a kernel takes one mapping of operands, and operands by keyword");
          return nullptr;
        }
        mapping = Ref::taken(PyDict_New());
        if (!mapping || PyDict_Update(mapping.get(), given) != 0) return nullptr;
        given = mapping.get();
      }
    }
    static PyObject* const out_key = PyUnicode_InternFromString("out");
    PyObject* out = named ? PyDict_GetItem(named, out_key) : nullptr;
    Ref kept = Ref::shared(out);
    // The dict of keywords is this call's own.
    if (out && PyDict_DelItem(named, out_key) != 0) return nullptr;
    return KernelCall(self, given, named, out ? out : Py_None).run();
  });
}

/// _run(operands, out)
PyObject* run(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *given = nullptr, *out = nullptr;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &given, &out)) return nullptr;
    return KernelCall(self, given, nullptr, out).run();
  });
}

PyObject* stage(PyObject* self, PyObject* name) {
  const char* const wanted = text_of(name);
  if (!wanted) return nullptr;
  const char* text = "";
  std::uint64_t bytes = 0;
  weft_kernel* const kernel = value_of<Kernel>(self).kernel.get();
  const bool done =
      long_call_done(value_of<Kernel>(self).engine.get(), [&](const weft_cancellation*, Failure& failure) {
        return weft_kernel_stage(kernel, wanted, &text, &bytes, failure);
      });
  if (!done) return nullptr;
  const auto length = static_cast<Py_ssize_t>(bytes);
  return std::string(wanted) == "object" ? PyBytes_FromStringAndSize(text, length)
                                         : PyUnicode_DecodeUTF8(text, length, "replace");
}

/// _saved() -> (bytes, orders of the operands, whether results are matrices): what Engine._saved_kernel takes.
PyObject* saved(PyObject* self, PyObject*) {
  const Kernel& kernel = value_of<Kernel>(self);
  const void* bytes = nullptr;
  std::uint64_t count = 0;
  const bool done = long_call_done(kernel.engine.get(), [&](const weft_cancellation*, Failure& failure) {
    return weft_kernel_save(kernel.kernel.get(), &bytes, &count, failure);
  });
  if (!done) return nullptr;
  const Ref orders = Ref::taken(PyTuple_New(static_cast<Py_ssize_t>(kernel.operands.size())));
  for (std::size_t n = 0; orders && n < kernel.operands.size(); ++n)
    PyTuple_SetItem(orders.get(), static_cast<Py_ssize_t>(n), PyLong_FromLong(kernel.operands[n].order));
  const Ref text = Ref::taken(PyBytes_FromStringAndSize(static_cast<const char*>(bytes), static_cast<Py_ssize_t>(count)));
  return orders && text ? Py_BuildValue("(OOO)", text.get(), orders.get(), kernel.matrix ? Py_True : Py_False) : nullptr;
}

template <int32_t (*function)(weft_kernel*, const char**, weft_error**)>
PyObject* text(PyObject* self, PyObject*) {
  const char* told = "";
  weft_kernel* const kernel = value_of<Kernel>(self).kernel.get();
  const bool done =
      long_call_done(value_of<Kernel>(self).engine.get(),
                     [&](const weft_cancellation*, Failure& failure) { return function(kernel, &told, failure); });
  return done ? PyUnicode_FromString(told) : nullptr;
}

PyObject* operands(PyObject* self, void*) {
  const Kernel& kernel = value_of<Kernel>(self);
  Ref names = Ref::taken(PyTuple_New(static_cast<Py_ssize_t>(kernel.operands.size())));
  for (std::size_t n = 0; names && n < kernel.operands.size(); ++n) {
    PyTuple_SetItem(names.get(), static_cast<Py_ssize_t>(n), Ref(kernel.operands[n].key).release());
  }
  return names.release();
}

PyObject* results(PyObject* self, void*) {
  const Kernel& kernel = value_of<Kernel>(self);
  Ref all = Ref::taken(PyDict_New());
  for (const KernelResult& result : kernel.results) {
    const Ref format = Ref::taken(PyUnicode_FromString(result.format.c_str()));
    if (!all || !format || PyDict_SetItem(all.get(), result.key.get(), format.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* extents(PyObject* self, void*) {
  const Kernel& kernel = value_of<Kernel>(self);
  Ref all = Ref::taken(PyDict_New());
  for (const KernelResult& result : kernel.results) {
    const Ref modes = Ref::taken(PyTuple_New(static_cast<Py_ssize_t>(result.extents.size())));
    if (!all || !modes) return nullptr;
    for (std::size_t mode = 0; mode < result.extents.size(); ++mode) {
      const KernelResult::Extent& extent = result.extents[mode];
      Ref from = Ref::taken(Py_BuildValue("(OI)", kernel.operands[extent.operand].key.get(), extent.mode));
      if (!from || PyTuple_SetItem(modes.get(), static_cast<Py_ssize_t>(mode), from.release()) != 0) return nullptr;
    }
    if (PyDict_SetItem(all.get(), result.key.get(), modes.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* tuple(PyObject* self, void*) {
  const Ref& made = value_of<Kernel>(self).tuple;
  return made ? Ref(made).release() : none();
}
int set_tuple(PyObject* self, PyObject* made, void*) {
  value_of<Kernel>(self).tuple = Ref::shared(made);
  return 0;
}

/// An engine knows its kernels, and they hold it: the collector breaks that in the engine's dict.
int traverse(PyObject* self, visitproc visit, void* arg) {
  const Kernel* const kernel = reinterpret_cast<Object<Kernel>*>(self)->value;
  if (!kernel) return 0;  // not yet made
  Py_VISIT(kernel->engine.get());
  Py_VISIT(kernel->tuple.get());
  return 0;
}

PyMethodDef methods[] = {
    {"_run", run, METH_VARARGS, nullptr},
    {"_stage", stage, METH_O, nullptr},
    {"_saved", saved, METH_NOARGS, nullptr},
    {"_report", text<weft_kernel_report>, METH_NOARGS, nullptr},
    {"_page", text<weft_kernel_page>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef attributes[] = {
    {"operands", operands, nullptr, "Names of the operands.", nullptr},
    {"results", results, nullptr, "Formats of the results, by name.", nullptr},
    {"_extents", extents, nullptr, "By name of a result, the operand and its mode that each of its extents is that of.", nullptr},
    {"_tuple", tuple, set_tuple, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_object<Kernel>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};
PyType_Spec spec = {"_weft.Kernel", sizeof(Object<Kernel>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool add_kernel_type(PyObject* module) {
  PyObject* const type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  kernel_class = reinterpret_cast<PyTypeObject*>(type);
  return type && PyModule_AddObjectRef(module, "Kernel", type) == 0;
}

bool set_kernel_class(PyObject* type) {
  Py_INCREF(type);
  kernel_class = reinterpret_cast<PyTypeObject*>(type);
  return true;
}

PyObject* compile(PyObject* engine, PyObject* arguments) {
  return guarded([&] { return compiled(engine, arguments); });
}

PyObject* saved_kernel(PyObject* engine, PyObject* arguments) {
  return guarded([&] { return loaded(engine, arguments); });
}

}  // namespace weft_python
