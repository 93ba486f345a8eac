#include "python/_weft/policy.h"

#include <array>

namespace weft_python {

Policy& policy() {
  static Policy objects;
  return objects;
}

bool start(PyObject* keywords) {
  Policy& known = policy();
  const std::array<std::pair<const char*, PyObject**>, 17> wanted = {{
      {"input_error", &known.input_error},
      {"unsupported_error", &known.unsupported_error},
      {"internal_error", &known.internal_error},
      {"resource_error", &known.resource_error},
      {"cancelled_error", &known.cancelled_error},
      {"kind_of", &known.kind_of},
      {"adapt", &known.adapt},
      {"empty", &known.empty},
      {"float64", &known.float64},
      {"float32", &known.float32},
      {"float64_scalar", &known.float64_scalar},
      {"float32_scalar", &known.float32_scalar},
      {"deliver", &known.deliver},
      {"into", &known.into},
      {"finish", &known.finish},
      {"show", &known.show},
      {"wrong_operands", &known.wrong_operands},
  }};
  for (const auto& [name, place] : wanted) {
    PyObject* object = keywords ? PyDict_GetItemString(keywords, name) : nullptr;
    if (!object) {
      PyErr_Format(PyExc_TypeError, "start() needs %s=", name);
      return false;
    }
    Py_INCREF(object);
    Py_XDECREF(std::exchange(*place, object));
  }
  return true;
}

}  // namespace weft_python
