// _weft.Evaluation: an expression planned, or evaluated once, with its report.
#pragma once

#include "python/_weft/python.h"

namespace weft_python {

bool add_evaluation_type(PyObject* module);

/// Engine._evaluate(text, operands, request) -> Evaluation: with a plan as the request asks for, and the results'
/// report.
PyObject* evaluate(PyObject* engine, PyObject* arguments);

}  // namespace weft_python
