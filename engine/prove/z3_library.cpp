#include "engine/prove/z3_library.h"

#include <dlfcn.h>

namespace weft {
namespace {

struct Loaded {
  void* handle = dlopen("libz3.so.4", RTLD_NOW | RTLD_LOCAL);
  std::string missing;

  Loaded() {
    if (handle != nullptr) return;
    const char* reason = dlerror();
    missing = reason == nullptr ? "libz3.so.4 cannot be loaded" : reason;
  }
};

const Loaded& loaded() {
  static const Loaded library;
  return library;
}

}  // namespace

const std::string& z3_missing() { return loaded().missing; }

std::string z3_version() {
  using Version = const char* (*)();
  const auto version = reinterpret_cast<Version>(z3_function("Z3_get_full_version"));
  return version == nullptr ? "" : version();
}

void* z3_function(const char* name) { return loaded().handle == nullptr ? nullptr : dlsym(loaded().handle, name); }

}  // namespace weft
