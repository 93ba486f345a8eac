// Builds with AddressSanitizer are several times slower: they draw fewer networks and tensors, and repeat less.
#pragma once

extern "C" void __asan_init() __attribute__((weak));

namespace weft::test {

/// Whether the process has AddressSanitizer's runtime: its folders are sanitized, the tests themselves may be compiled without.
inline bool is_sanitized() { return &__asan_init != nullptr; }

/// What a build makes of so many draws, and of how often something has to come up among them: all of it, or a quarter,
/// rounded down, with AddressSanitizer.
inline unsigned scaled(unsigned usual) { return is_sanitized() ? usual / 4 : usual; }

}  // namespace weft::test
