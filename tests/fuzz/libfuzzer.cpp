// The binary `fuzz`: libFuzzer over the target that WEFT_FUZZ_TARGET names. An environment variable, and not an option,
// because libFuzzer starts itself again with the options that it knows.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/target.h"

namespace {

const weft::fuzz::Target& chosen() {
  static const weft::fuzz::Target* const target = [] {
    const char* const name = std::getenv("WEFT_FUZZ_TARGET");
    const weft::fuzz::Target* const found = weft::fuzz::find_target(name == nullptr ? "" : name);
    if (found != nullptr) return found;
    std::fprintf(stderr, "WEFT_FUZZ_TARGET names one of:");
    for (const weft::fuzz::Target& each : weft::fuzz::targets())
      std::fprintf(stderr, " %.*s", static_cast<int>(each.name.size()), each.name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }();
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().run({data, size});
  return 0;
}
