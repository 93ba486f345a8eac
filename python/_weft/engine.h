// _weft.Engine: an engine of weft.h, what it makes, and how a request is told to it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "python/_weft/handles.h"
#include "python/_weft/python.h"

namespace weft_python {

/// What an engine told last of what it does, from whatever thread it did.
struct Progress {
  std::mutex guard;
  std::string what;
  double fraction = 0;
};

struct Engine {
  EngineHandle engine;
  std::unique_ptr<Progress> progress;
  int calls = 0;             ///< under way, in all threads; under the GIL
  bool verify = false;       ///< indices of matrices are looked at in every call
  bool left_behind = false;  ///< a thread of the parent was inside it when this process was forked
};

bool add_engine_type(PyObject* module);
/// NULL, with an error set, if the object is no engine.
weft_engine* engine_of(PyObject* object);
/// False, with RuntimeError set, for an engine that a fork has left behind.
bool usable_engine(PyObject* object);
/// In the child of a fork: engines that other threads were inside are left behind.
void leave_engines_behind();
/// The engine while one call uses it for tensors: ended by its cancellation.
EngineHandle engine_with(PyObject* engine, const weft_cancellation* token);

/// From a dict: formats {name: format}, results [name], tree, schedule, objective, calls, unfused, prove, why, count,
/// changing [name], stages [name], plan_only. NULL with an error set.
RequestHandle request_of(PyObject* options);

/// UTF-8 of a str, which owns it; NULL with an error set.
const char* text_of(PyObject* text);

}  // namespace weft_python
