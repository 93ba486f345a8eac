// Calls of weft.h that may take long: without the GIL, ended by Ctrl-C and by weft.cancel().
#pragma once

#include <atomic>
#include <cstdint>

#include "python/_weft/errors.h"
#include "python/_weft/handles.h"
#include "python/_weft/python.h"

namespace weft_python {

/// The cancellation of one call while it is under way. In the main thread, where SIGINT is Python's, Ctrl-C sets it.
class Cancellable {
 public:
  explicit Cancellable(bool interruptible);
  ~Cancellable();
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
  const weft_cancellation* token() const { return token_.get(); }
  /// Whether a call that ended as cancelled is to begin again: no exception came of the signal. Else one is set.
  bool again();
  /// From any thread: the call ends.
  void cancel();

 private:
  void make();
  CancellationHandle token_;
  std::atomic<bool> cancelled_{false};  ///< by cancel(), not by a signal
  bool interruptible_;
};

/// Cancels every call under way; how many.
std::size_t cancel_all();

/// So that Python's handler of SIGINT, and only that, is followed.
bool sigint_is_pythons();

/// Runs body(token), which returns a kind of error of weft.h; WEFT_CANCELLED only with Python's exception set.
template <class Body>
std::int32_t long_call(Failure& failure, bool interruptible, Body&& body) {
  Cancellable call(interruptible);
  for (;;) {
    failure.clear();
    PyThreadState* const state = PyEval_SaveThread();
    const std::int32_t kind = body(call.token());
    PyEval_RestoreThread(state);
    if (kind != WEFT_CANCELLED || !call.again()) return kind;
  }
}

/// As the former, and sets the exception; true if all is well.
template <class Body>
bool long_call_done(Body&& body) {
  Failure failure;
  const std::int32_t kind =
      long_call(failure, true, [&](const weft_cancellation* token) { return body(token, failure); });
  if (kind == WEFT_OK) return true;
  if (!PyErr_Occurred()) failure.raise(kind);
  return false;
}

}  // namespace weft_python
