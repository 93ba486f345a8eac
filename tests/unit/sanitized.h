// Builds with AddressSanitizer are several times slower: they draw fewer networks and tensors, and repeat less.
#pragma once

namespace weft::test {

constexpr bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

/// What a build makes of so many draws, and of how often something has to come up among them: all of it, or a quarter,
/// rounded down, with AddressSanitizer.
constexpr unsigned scaled(unsigned usual) { return is_sanitized() ? usual / 4 : usual; }

}  // namespace weft::test
