// The binary `fuzz`: libFuzzer over the target that WEFT_FUZZ_TARGET names. An environment variable, and not an option,
// because libFuzzer starts itself again with the options that it knows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "fuzz/mutate_text.h"
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

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

/// Texts are changed by words half of the time: bytes that change alone rarely leave a program or a schedule.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::mt19937_64 random(seed);
  if (!chosen().is_text || size == 0 || random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text = weft::fuzz::mutated_text(weft::fuzz::text_of({data, size}), random);
  const std::size_t kept = std::min(text.size(), most);
  std::copy_n(text.begin(), kept, data);
  return kept;
}
