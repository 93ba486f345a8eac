// Loop programs from their texts, what stands in the code of one how often, and values for them.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/loop/interpret.h"
#include "engine/loop/program.h"

namespace weft::test {

/// The program, which has to be valid.
inline loop::Program program_of(const std::string& text) {
  Expected<loop::Program> program = loop::parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message, "\n", text);
  const Expected<void> verified = loop::verify(*program);
  REQUIRE_MESSAGE(verified.has_value(), verified.error().message, "\n", text);
  return *program;
}

inline std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// At about this share of all coordinates, -4 to 4.
inline loop::Entries random_entries(std::mt19937_64& random, const std::vector<std::uint64_t>& extents, double fill) {
  loop::Entries entries;
  std::uint64_t all = 1;
  for (const std::uint64_t extent : extents) all *= extent;
  for (std::uint64_t n = 0; n < all; ++n) {
    std::uint64_t rest = n;
    std::vector<std::uint64_t> coordinates(extents.size());
    for (std::size_t level = extents.size(); level-- > 0; rest /= extents[level]) coordinates[level] = rest % extents[level];
    if (static_cast<double>(random() % 1000) < fill * 1000) entries[coordinates] = static_cast<double>(random() % 9) - 4;
  }
  return entries;
}

}  // namespace weft::test
