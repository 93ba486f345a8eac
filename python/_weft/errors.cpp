#include "python/_weft/errors.h"

#include <cstdarg>
#include <cstring>

#include "python/_weft/policy.h"

namespace weft_python {
namespace {

PyObject* class_of(int32_t kind) {
  switch (kind) {
    case WEFT_INPUT:
      return policy().input_error;
    case WEFT_UNSUPPORTED:
      return policy().unsupported_error;
    case WEFT_RESOURCE:
      return policy().resource_error;
    case WEFT_CANCELLED:
      return policy().cancelled_error;
    default:
      return policy().internal_error;
  }
}

void set(PyObject* exception, const char* name, Ref value) {
  if (!value || PyObject_SetAttrString(exception, name, value.get()) != 0) PyErr_Clear();
}

Ref text(const char* words) {
  return Ref::taken(PyUnicode_DecodeUTF8(words, static_cast<Py_ssize_t>(std::strlen(words)), "replace"));
}

/// "formats" of a request is the argument format=.
const char* as_in_python(const char* option) { return std::strcmp(option, "formats") == 0 ? "format" : option; }

}  // namespace

PyObject* Failure::raise(int32_t kind) const {
  PyObject* const type = class_of(kind);
  const Ref message = text(error_ ? weft_error_message(error_) : "weft: an error without a message");
  if (!message || !type) return nullptr;
  const Ref exception = Ref::taken(PyObject_CallFunctionObjArgs(type, message.get(), nullptr));
  if (!exception) return nullptr;
  set(exception.get(), "code", Ref::taken(PyLong_FromLong(weft_error_code(error_))));
  set(exception.get(), "operand", text(weft_error_operand(error_)));
  set(exception.get(), "index", text(weft_error_index(error_)));
  set(exception.get(), "option", text(as_in_python(weft_error_option(error_))));
  std::uint64_t offset = 0, line = 0, column = 0;
  if (weft_error_position(error_, &offset, &line, &column) != 0) {
    set(exception.get(), "position",
        Ref::taken(Py_BuildValue("(KKK)", static_cast<unsigned long long>(offset),
                                 static_cast<unsigned long long>(line), static_cast<unsigned long long>(column))));
  }
  PyErr_SetObject(type, exception.get());
  return nullptr;
}

PyObject* raise_input(const char* operand, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const Ref message = Ref::taken(PyUnicode_FromFormatV(format, arguments));
  va_end(arguments);
  if (!message) return nullptr;
  const Ref exception = Ref::taken(PyObject_CallFunctionObjArgs(policy().input_error, message.get(), nullptr));
  if (!exception) return nullptr;
  if (operand && !std::strchr(operand, ' ')) set(exception.get(), "operand", text(operand));
  PyErr_SetObject(policy().input_error, exception.get());
  return nullptr;
}

void name_option(const char* option) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref known = value ? Ref::taken(PyObject_GetAttrString(value, "option")) : Ref();
  if (!known) PyErr_Clear();
  if (known && PyObject_IsTrue(known.get()) == 0) set(value, "option", text(as_in_python(option)));
  PyErr_Restore(type, value, trace);
}

}  // namespace weft_python
