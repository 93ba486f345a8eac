// What the package `weft` decides and this module asks for: exception classes, conversions, forms of results.
#pragma once

#include "python/_weft/python.h"

namespace weft_python {

/// Python objects that the package hands over once, by weft._start; kept until the process ends.
struct Policy {
  PyObject* input_error = nullptr;  ///< classes of errors, by kind
  PyObject* unsupported_error = nullptr;
  PyObject* internal_error = nullptr;
  PyObject* resource_error = nullptr;
  PyObject* cancelled_error = nullptr;
  PyObject* kind_of = nullptr;  ///< type -> what its objects are: "dense", "csr", "csc", "other"
  PyObject* adapt = nullptr;    ///< (name, object) -> one of a kind that is read in place
  PyObject* empty = nullptr;    ///< numpy.empty
  PyObject* float64 = nullptr;  ///< numpy.dtype
  PyObject* float32 = nullptr;
  PyObject* float64_scalar = nullptr;  ///< numpy.float64, the class of its numbers
  PyObject* float32_scalar = nullptr;
  PyObject* deliver = nullptr;  ///< (Tensor, matrix or array) -> what the caller gets for a sparse result
  PyObject* into =
      nullptr;  ///< (name, out, like, used) -> memory like `like` for an out that the kernel cannot write to
  PyObject* finish = nullptr;          ///< (name, out, memory) -> copies what `into` gave to where it belongs
  PyObject* show = nullptr;            ///< (engine) -> what ends showing the progress of a call, or None
  PyObject* wrong_operands = nullptr;  ///< (kernel, given names) -> raises the error that names them
};

Policy& policy();

/// Fills in the policy from keywords; false with an error set.
bool start(PyObject* keywords);

}  // namespace weft_python
