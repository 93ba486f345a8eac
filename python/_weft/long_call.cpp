#include "python/_weft/long_call.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <set>

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
Calls& calls() {
  static auto* const known = new Calls;
  return *known;
}

unsigned long main_thread = 0;  // as Python numbers threads

}  // namespace

bool sigint_is_pythons() {
  static PyObject* getsignal = nullptr;
  if (!getsignal) {
    const Ref module = Ref::taken(PyImport_ImportModule("signal"));
    if (module) getsignal = PyObject_GetAttrString(module.get(), "getsignal");
    const Ref threading = Ref::taken(PyImport_ImportModule("threading"));
    const Ref thread = threading ? Ref::taken(PyObject_CallMethod(threading.get(), "main_thread", nullptr)) : Ref();
    const Ref ident = thread ? Ref::taken(PyObject_GetAttrString(thread.get(), "ident")) : Ref();
    if (ident) main_thread = PyLong_AsUnsignedLong(ident.get());
    PyErr_Clear();
  }
  if (!getsignal || PyThread_get_thread_ident() != main_thread) return false;
  const Ref handler = Ref::taken(PyObject_CallFunction(getsignal, "i", SIGINT));
  if (!handler) PyErr_Clear();
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

std::size_t cancel_all() {
  const std::lock_guard lock(calls().guard);
  for (Cancellable* const call : calls().all) call->cancel();
  return calls().all.size();
}

}  // namespace weft_python
