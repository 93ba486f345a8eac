// Errors of weft as Python's exceptions.
#pragma once

#include "python/_weft/handles.h"
#include "python/_weft/python.h"

namespace weft_python {

/// Where a call of weft.h puts its error, and how that becomes an exception of the package's classes: with the message,
/// and the attributes code, operand, index, option and position (offset, line, column; or None).
class Failure {
 public:
  operator weft_error**() { return &error_; }
  ~Failure() { weft_error_free(error_); }
  Failure() = default;
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  /// Forgets what was there, for another call.
  void clear() { weft_error_free(std::exchange(error_, nullptr)); }
  /// Sets the exception; always NULL, so that callers may return it.
  PyObject* raise(int32_t kind) const;

 private:
  weft_error* error_ = nullptr;
};

/// InputError with a text; always NULL. `operand` becomes its attribute, unless NULL or words ("the tensor").
PyObject* raise_input(const char* operand, const char* format, ...);

/// The option, as functions of Python have it, of the error that is set, if it is one of weft's that names none.
void name_option(const char* option);

}  // namespace weft_python
