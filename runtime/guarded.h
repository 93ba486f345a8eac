// Memory that runs out as a value: the border between code that may throw std::bad_alloc and those who get an Expected.
#pragma once

#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "weft/error.h"

namespace weft {

/// "out of memory while reading T": a resource error. The parts of what was being done are joined. Where not even that
/// text can be allocated the message is "out of memory", which needs no memory.
Error out_of_memory(std::initializer_list<std::string_view> doing) noexcept;

/// Inside of guarded(), of the calling thread.
class GuardedScope {
 public:
  GuardedScope() noexcept { ++scopes_; }
  ~GuardedScope() { --scopes_; }
  GuardedScope(const GuardedScope&) = delete;
  GuardedScope& operator=(const GuardedScope&) = delete;
  static bool runs() noexcept { return scopes_ > 0; }

 private:
  static inline constinit thread_local unsigned scopes_ = 0;
};

/// What `function` returns, an Expected; a resource error if an allocation fails in it. For example
/// guarded({"reading ", name}, [&] { return read_npy(path); }). Other exceptions, those of the host's callbacks, pass.
template <class Function>
auto guarded(std::initializer_list<std::string_view> doing, Function&& function) -> decltype(function()) {
  try {
    const GuardedScope scope;
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // a container beyond its max_size, which is memory that no machine has
  }
  return std::unexpected(out_of_memory(doing));
}

/// For what has no result to carry the failure: whether memory sufficed.
template <class Action>
bool had_memory_for(Action&& action) {
  try {
    std::forward<Action>(action)();
    return true;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return false;
}

/// A value of a public function that returns no Expected: `instead` where its host's memory is short. Inside of guarded()
/// std::bad_alloc passes, so that nothing is computed from what stands in for the value.
template <class Function, class Value>
auto guarded_value(Function&& function, Value&& instead) -> decltype(function()) {
  if (GuardedScope::runs()) return std::forward<Function>(function)();
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return std::forward<Value>(instead)();
}

/// A text for people: "out of memory" where it cannot be made. That needs no memory.
template <class Function>
std::string guarded_text(Function&& function) {
  return guarded_value(std::forward<Function>(function), [] { return std::string("out of memory"); });
}

}  // namespace weft
