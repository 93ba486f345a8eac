// Texts of tests with something else in one place.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace weft::test {

/// `text` with the first `from`, which must be in it, replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& by) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), by);
}

}  // namespace weft::test
