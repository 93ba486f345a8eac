// What a dict of Python tells of a request.
#include <cstring>

#include "python/_weft/engine.h"
#include "python/_weft/errors.h"

namespace weft_python {
namespace {

using SetText = int32_t (*)(weft_request*, const char*, weft_error**);
using SetFlag = int32_t (*)(weft_request*, int32_t, weft_error**);

int32_t set_schedule(weft_request* request, const char* text, weft_error** error) {
  return weft_request_set_schedule(request, text, nullptr, error);
}
int32_t add_changing(weft_request* request, const char* name, weft_error** error) {
  return weft_request_add_changing(request, name, 0, error);
}

constexpr std::pair<const char*, SetText> texts[] = {
    {"tree", weft_request_set_tree},
    {"schedule", set_schedule},
    {"objective", weft_request_set_objective},
    {"specialization", weft_request_set_specialization},
};
constexpr std::pair<const char*, SetText> lists[] = {
    {"results", weft_request_add_result},
    {"changing", add_changing},
    {"lent_results", weft_request_add_lent_result},
    {"stages", weft_request_add_stage},
};
constexpr std::pair<const char*, SetFlag> flags[] = {
    {"unfused", weft_request_set_unfused}, {"prove", weft_request_set_prove}, {"plan_only", weft_request_set_plan_only},
    {"why", weft_request_set_why},         {"count", weft_request_set_count}, {"compile", weft_request_set_compile},
    {"choose_layouts", weft_request_set_choose_layouts},
};

bool done(int32_t kind, const Failure& failure) {
  if (kind == WEFT_OK) return true;
  failure.raise(kind);
  return false;
}

bool add_list(weft_request* request, SetText add, PyObject* values) {
  const Ref list = Ref::taken(PySequence_List(values));
  if (!list) return false;
  for (Py_ssize_t n = 0; n < PyList_Size(list.get()); ++n) {
    const char* const text = text_of(PyList_GetItem(list.get(), n));
    Failure failure;
    if (!text || !done(add(request, text, failure), failure)) return false;
  }
  return true;
}

bool add_formats(weft_request* request, PyObject* formats) {
  const Ref items = Ref::taken(PyMapping_Items(formats));
  if (!items) return false;
  for (Py_ssize_t n = 0; n < PyList_Size(items.get()); ++n) {
    PyObject* const pair = PyList_GetItem(items.get(), n);
    const char* const name = text_of(PyTuple_GetItem(pair, 0));
    const char* const format = name ? text_of(PyTuple_GetItem(pair, 1)) : nullptr;
    Failure failure;
    if (!format || !done(weft_request_set_format(request, name, format, failure), failure)) return false;
  }
  return true;
}

/// One option; false with an error set.
bool set_option(weft_request* request, const char* name, PyObject* value) {
  Failure failure;
  for (const auto& [option, set] : texts) {
    if (std::strcmp(option, name) != 0) continue;
    const char* const text = text_of(value);
    return text && done(set(request, text, failure), failure);
  }
  for (const auto& [option, add] : lists) {
    if (std::strcmp(option, name) == 0) return add_list(request, add, value);
  }
  for (const auto& [option, set] : flags) {
    if (std::strcmp(option, name) != 0) continue;
    const int truth = PyObject_IsTrue(value);
    return truth >= 0 && done(set(request, truth, failure), failure);
  }
  if (std::strcmp(name, "formats") == 0) return add_formats(request, value);
  if (std::strcmp(name, "calls") == 0) {
    const double calls = PyFloat_AsDouble(value);
    return !PyErr_Occurred() && done(weft_request_set_calls(request, calls, failure), failure);
  }
  raise_input(nullptr, "%s is no option of a request", name);
  return false;
}

}  // namespace

RequestHandle request_of(PyObject* options) {
  RequestHandle request;
  Failure failure;
  if (const int32_t kind = weft_request_create(Out(request), failure); kind != WEFT_OK) {
    failure.raise(kind);
    return {};
  }
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; options && options != Py_None && PyDict_Next(options, &at, &name, &value);) {
    if (value == Py_None) continue;
    const char* const text = text_of(name);
    if (!text) return {};
    if (!set_option(request.get(), text, value)) {
      name_option(text);
      return {};
    }
  }
  return request;
}

const char* text_of(PyObject* text) {
  if (!PyUnicode_Check(text)) {
    const Ref name = Ref::taken(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(text)), "__name__"));
    if (name) PyErr_Format(PyExc_TypeError, "a text is wanted, not %S of type %U", text, name.get());
    return nullptr;
  }
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes && std::strlen(bytes) != static_cast<std::size_t>(size)) {
    PyErr_SetString(PyExc_ValueError, "embedded null character");
    return nullptr;
  }
  return bytes;
}

}  // namespace weft_python
