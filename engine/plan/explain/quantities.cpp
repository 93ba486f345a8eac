#include "engine/plan/explain/quantities.h"

#include <fmt/format.h>

#include <initializer_list>
#include <iterator>

namespace weft {

namespace {

// Each unit a thousand times the one before it.
std::string in_units(double figure, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; figure >= 999.5 && unit + 1 != units.end(); ++unit) figure /= 1000;
  return fmt::format("{:.3g} {}", figure, *unit);
}

}  // namespace

std::string bytes_text(double bytes) { return in_units(bytes, {"B", "kB", "MB", "GB", "TB", "PB"}); }
std::string time_text(double ns) { return in_units(ns, {"ns", "us", "ms", "s"}); }

std::string count_text(double count) {
  const char* units[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (count >= (unit == 0 ? 9999.5 : 999.95) && unit + 1 < std::size(units)) {
    count /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", count) : fmt::format("{:.4g}{}", count, units[unit]);
}

}  // namespace weft
