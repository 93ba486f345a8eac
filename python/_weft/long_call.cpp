#include "python/_weft/long_call.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "python/_weft/engine.h"
#include "python/_weft/object.h"
#include "python/_weft/policy.h"

namespace weft_python {
namespace {

struct sigaction previous;                             // of SIGINT, while a call of the main thread is under way
std::atomic<weft_cancellation*> interrupted{nullptr};  // the cancellation of that call

extern "C" void on_interrupt(int signal, siginfo_t* info, void* context) {
  if (weft_cancellation* const call = interrupted.load()) weft_cancellation_cancel(call);
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
}

/// Calls under way, in all threads.
struct Calls {
  std::mutex guard;
  std::set<Cancellable*> all;
};

// Never destroyed: threads may still compute when the process ends.
Calls* known_calls = nullptr;
Calls& calls() {
  if (!known_calls) known_calls = new Calls;
  return *known_calls;
}

unsigned long main_thread = 0;  // as Python numbers threads
PyObject* getsignal = nullptr;
bool ending = false;
int under_way[2] = {0, 0};  // by Doing; counted under the GIL

/// An exception of a signal that came while Python code of ours ran is raised once the call is over: Python is told of the
/// signal again.
void clear_error() {
  const bool interrupted_meanwhile = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
  PyErr_Clear();
  if (interrupted_meanwhile) PyErr_SetInterrupt();
}

}  // namespace

// So that Python's handler of SIGINT, and only that, is followed, and in the thread that it raises its exception in. Asked of
// the module written in C: functions in Python would raise what signals left.
bool sigint_is_pythons() {
  if (main_thread == 0) {
    const Ref module = Ref::taken(PyImport_ImportModule("_signal"));
    if (module) getsignal = PyObject_GetAttrString(module.get(), "getsignal");
    const Ref threading = Ref::taken(PyImport_ImportModule("threading"));
    const Ref thread = threading ? Ref::taken(PyObject_CallMethod(threading.get(), "main_thread", nullptr)) : Ref();
    const Ref ident = thread ? Ref::taken(PyObject_GetAttrString(thread.get(), "ident")) : Ref();
    if (ident) main_thread = PyLong_AsUnsignedLong(ident.get());
    if (PyErr_Occurred()) clear_error();
  }
  if (!getsignal || PyThread_get_thread_ident() != main_thread) return false;
  const Ref handler = Ref::taken(PyObject_CallFunction(getsignal, "i", SIGINT));
  if (!handler) clear_error();
  return handler && PyCallable_Check(handler.get()) != 0;
}

Cancellable::Cancellable(bool interruptible) : interruptible_(interruptible && sigint_is_pythons()) {
  make();
  {
    const std::lock_guard lock(calls().guard);
    calls().all.insert(this);
  }
  if (interruptible_) {
    struct sigaction ours {};
    ours.sa_sigaction = on_interrupt;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, &previous);
  }
}

// Without memory for a cancellation the call cannot be ended, and runs all the same.
void Cancellable::make() {
  CancellationHandle made;
  Failure failure;
  weft_cancellation_create(Out(made), failure);
  const std::lock_guard lock(calls().guard);
  if (interruptible_) interrupted.store(made.get());
  token_ = std::move(made);
}

Cancellable::~Cancellable() {
  if (interruptible_) {
    sigaction(SIGINT, &previous, nullptr);
    interrupted.store(nullptr);
  }
  const std::lock_guard lock(calls().guard);
  calls().all.erase(this);
}

bool Cancellable::again() {
  if (PyErr_CheckSignals() != 0) return false;
  if (cancelled_.load()) {
    PyErr_SetString(policy().cancelled_error, "ended by weft.cancel()");
    return false;
  }
  // A signal whose handler raised nothing: the call begins anew.
  make();
  return token_ != nullptr;
}

void Cancellable::cancel() {
  cancelled_.store(true);
  if (token_) weft_cancellation_cancel(token_.get());
}

std::int32_t Cancellable::beside(const std::function<std::int32_t(const weft_cancellation*)>& body) {
  constexpr std::chrono::milliseconds asleep(50);
  std::mutex guard;
  std::condition_variable ended;
  std::int32_t kind = WEFT_OK;
  bool over = false, raised = false;
  const auto call = [&] {
    const std::int32_t told = body(token_.get());
    const std::lock_guard lock(guard);
    kind = told;
    over = true;
    ended.notify_all();
  };
  const auto wait = [&](auto&& until) {
    PyThreadState* const state = PyEval_SaveThread();
    until();
    PyEval_RestoreThread(state);
  };
  std::thread worker;
  try {
    worker = std::thread(call);
  } catch (const std::system_error&) {
    wait(call);  // without another thread signals are told of afterwards
  }
  while (!raised) {
    bool ready = false;
    wait([&] {
      std::unique_lock lock(guard);
      ready = ended.wait_for(lock, asleep, [&] { return over; });
    });
    if (ready) break;
    raised = PyErr_CheckSignals() != 0;
  }
  if (raised && token_) weft_cancellation_cancel(token_.get());
  if (worker.joinable()) wait([&] { worker.join(); });
  if (raised) return WEFT_CANCELLED;
  if (kind == WEFT_CANCELLED && PyErr_CheckSignals() == 0)
    PyErr_SetString(policy().cancelled_error, "ended by weft.cancel()");
  return kind;
}

std::size_t cancel_all() {
  const std::lock_guard lock(calls().guard);
  for (Cancellable* const call : calls().all) call->cancel();
  return calls().all.size();
}

void refuse_calls() { ending = true; }

void forget_calls() {
  known_calls = nullptr;  // its lock may be held by a thread that is not there
  interrupted.store(nullptr);
  main_thread = 0;
  under_way[0] = under_way[1] = 0;
}

int calls_under_way(Doing doing) { return under_way[static_cast<int>(doing)]; }

CallUnderWay::CallUnderWay(PyObject* engine, Doing doing) : engine_(engine), doing_(doing) {
  if (ending) {
    PyErr_SetString(policy().cancelled_error, "the interpreter is ending");
    return;
  }
  if (!usable_engine(engine)) return;
  begun_ = true;
  ++under_way[static_cast<int>(doing)];
  ++value_of<Engine>(engine).calls;
}

CallUnderWay::~CallUnderWay() {
  if (!begun_) return;
  --under_way[static_cast<int>(doing_)];
  --value_of<Engine>(engine_).calls;
  if (!shown_) return;
  // Whatever the call has raised stays.
  PyObject *type = nullptr, *exception = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &exception, &trace);
  const Ref ended = Ref::taken(PyObject_CallNoArgs(shown_.get()));
  if (!ended) clear_error();
  PyErr_Restore(type, exception, trace);
}

void CallUnderWay::show() {
  if (!policy().show || policy().show == Py_None) return;
  shown_ = Ref::taken(PyObject_CallFunctionObjArgs(policy().show, engine_, nullptr));
  if (!shown_) clear_error();
  if (shown_.get() == Py_None) shown_ = Ref();
}

}  // namespace weft_python
