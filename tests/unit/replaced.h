// Texts of tests with something else in one place, or in all.
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

/// `text` with every `from` replaced, if there is any.
inline std::string all_replaced(std::string text, const std::string& from, const std::string& by) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + by.size())) text.replace(at, from.size(), by);
  return text;
}

}  // namespace weft::test
