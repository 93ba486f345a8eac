// Calls of weft.h that may take long: without the GIL, ended by Ctrl-C and by weft.cancel().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

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
  /// A call that cannot begin again, on a thread of its own, while this one looks for signals: the call ends only if an
  /// exception came of one, which is set then. With the GIL, which is released meanwhile.
  std::int32_t beside(const std::function<std::int32_t(const weft_cancellation*)>& body);

 private:
  void make();
  CancellationHandle token_;
  std::atomic<bool> cancelled_{false};  ///< by cancel(), not by a signal
  bool interruptible_;
};

/// Cancels every call under way; how many.
std::size_t cancel_all();
/// From now on no call begins: the interpreter ends, and threads that come back to it then would be torn down.
void refuse_calls();
/// In the child of a fork: calls of the parent's other threads are not there any more.
void forget_calls();

/// Whether Ctrl-C in this thread is Python's.
bool sigint_is_pythons();

/// Whether a call that a signal has ended may begin again: one that reads a pipe would miss what it had read before.
enum class Repeats : std::uint8_t { may, never };

/// What a call does: those that do not only run a kernel keep locks that a fork would leave behind.
enum class Doing : std::uint8_t { running, other };
/// Calls under way in all threads, of runs or of all others.
int calls_under_way(Doing doing);

/// A call while it lasts: counted, and with an engine that can be used. Under the GIL.
class CallUnderWay {
 public:
  CallUnderWay(PyObject* engine, Doing doing);
  ~CallUnderWay();
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
  /// False with an error set: the interpreter ends, or the engine was left behind by a fork.
  bool begun() const { return begun_; }
  /// Begins to show progress, if anybody can see it.
  void show();

 private:
  PyObject* engine_;
  Doing doing_;
  bool begun_ = false;
  Ref shown_;
};

/// Runs body(token), which returns a kind of error of weft.h; WEFT_CANCELLED only with Python's exception set. What is
/// not `watched` is short: Ctrl-C and progress do not matter.
template <class Body>
std::int32_t long_call(PyObject* engine, Doing doing, bool watched, Failure& failure, Body&& body,
                       Repeats repeats = Repeats::may) {
  CallUnderWay under_way(engine, doing);
  if (!under_way.begun()) return WEFT_CANCELLED;
  if (watched) under_way.show();
  const bool beside = watched && repeats == Repeats::never && sigint_is_pythons();
  Cancellable call(watched && !beside);
  // Of a signal that came before the call is told now.
  if (watched && PyErr_CheckSignals() != 0) return WEFT_CANCELLED;
  if (beside) return call.beside(body);
  for (;;) {
    failure.clear();
    PyThreadState* const state = PyEval_SaveThread();
    const std::int32_t kind = body(call.token());
    PyEval_RestoreThread(state);
    if (kind != WEFT_CANCELLED || !call.again()) return kind;
  }
}

/// As the former of what is not a run, and sets the exception; true if all is well.
template <class Body>
bool long_call_done(PyObject* engine, Body&& body, Repeats repeats = Repeats::may) {
  Failure failure;
  const auto call = [&](const weft_cancellation* token) { return body(token, failure); };
  const std::int32_t kind = long_call(engine, Doing::other, true, failure, call, repeats);
  if (kind == WEFT_OK) return true;
  if (!PyErr_Occurred()) failure.raise(kind);
  return false;
}

}  // namespace weft_python
