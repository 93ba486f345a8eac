// _weft.Engine: an engine of weft.h, what it makes, and how a request is told to it.
#pragma once

#include "python/_weft/handles.h"
#include "python/_weft/python.h"

namespace weft_python {

struct Engine {
  EngineHandle engine;
};

bool add_engine_type(PyObject* module);
/// NULL, with an error set, if the object is no engine.
weft_engine* engine_of(PyObject* object);

/// From a dict: formats {name: format}, results [name], tree, schedule, objective, calls, unfused, prove, why, count,
/// changing [name], stages [name], plan_only. NULL with an error set.
RequestHandle request_of(PyObject* options);

/// UTF-8 of a str, which owns it; NULL with an error set.
const char* text_of(PyObject* text);

}  // namespace weft_python
