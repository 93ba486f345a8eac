#include "python/_weft/memory.h"

#include <algorithm>

#include "python/_weft/object.h"

namespace weft_python {
namespace {

PyTypeObject* memory_type = nullptr;
char nothing[8] = {};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  Memory& memory = value_of<Memory>(self);
  view->obj = nullptr;
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !memory.writable) {
    PyErr_SetString(PyExc_BufferError, "the memory of a tensor is read-only");
    return -1;
  }
  Py_ssize_t elements = 1;
  for (int mode = 0; mode < memory.order; ++mode) elements *= memory.extents[mode];
  view->obj = Ref::shared(self).release();
  view->buf = memory.data ? const_cast<void*>(memory.data) : nothing;
  view->len = elements * memory.width;
  view->readonly = memory.writable ? 0 : 1;
  view->itemsize = memory.width;
  view->format = const_cast<char*>(memory.format);
  view->ndim = memory.order;
  view->shape = memory.extents;
  view->strides = memory.strides;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_object<Memory>)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {0, nullptr},
};
PyType_Spec spec = {"_weft.Memory", sizeof(Object<Memory>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

bool add_memory_type(PyObject* module) {
  memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return memory_type != nullptr;
}

PyObject* make_memory(Memory memory) { return make_object<Memory>(memory_type, std::move(memory)); }

PyObject* make_memory(Ref owner, const void* data, std::uint64_t count, Py_ssize_t width, const char* format,
                      bool writable) {
  Memory memory;
  memory.owner = std::move(owner);
  memory.data = data;
  memory.extents[0] = static_cast<Py_ssize_t>(count);
  memory.strides[0] = width;
  memory.width = width;
  memory.format = format;
  memory.writable = writable;
  return make_memory(std::move(memory));
}

}  // namespace weft_python
