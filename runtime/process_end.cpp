#include "runtime/process_end.h"

#include <cstdlib>

extern "C" {
extern void* __dso_handle;
// Of the linker's --wrap=__cxa_atexit (cmake/install.cmake): the one function is what compilers and atexit() call in libweft, the other the
// system's. Elsewhere there is no such thing.
[[gnu::weak]] int __real___cxa_atexit(void (*function)(void*), void* object, void* library) noexcept;
[[gnu::visibility("hidden")]] int __wrap___cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }
}

namespace weft {

bool at_process_end(void (*function)()) noexcept {
  if (__real___cxa_atexit == nullptr) return std::atexit(function) == 0;
  const auto call = [](void* given) { reinterpret_cast<void (*)()>(given)(); };
  return __real___cxa_atexit(call, reinterpret_cast<void*>(function), &__dso_handle) == 0;
}

}  // namespace weft
