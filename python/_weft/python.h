// CPython's limited API of 3.11, and references that are counted by scope.
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <cstdint>
#include <utility>

namespace weft_python {

/// Owns one reference, or none. The GIL is held wherever one is copied or dies.
class Ref {
 public:
  Ref() = default;
  /// Takes over a new reference; NULL where a call of Python's API has failed.
  static Ref taken(PyObject* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref shared(PyObject* object) {
    Py_XINCREF(object);
    return taken(object);
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// So many elements are looked at without the GIL: some ten microseconds.
constexpr std::uint64_t many_elements = 10000;

/// Lets other threads run Python's code while the scope lasts, if that is worth it. No object of Python may be used.
class WithoutGil {
 public:
  explicit WithoutGil(bool worth_it) : state_(worth_it ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// A buffer that is given back by scope.
class BufferView {
 public:
  BufferView() = default;
  ~BufferView() { release(); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  /// False, with Python's error set, where the object has no such buffer.
  bool acquire(PyObject* object, int flags) {
    release();
    held_ = PyObject_GetBuffer(object, &view_, flags) == 0;
    return held_;
  }
  void release() {
    if (std::exchange(held_, false)) PyBuffer_Release(&view_);
  }
  const Py_buffer& operator*() const { return view_; }
  const Py_buffer* operator->() const { return &view_; }

 private:
  Py_buffer view_{};
  bool held_ = false;
};

}  // namespace weft_python
