#include "engine/plan/explain/quantities.h"

#include <fmt/format.h>

#include <iterator>

namespace weft {

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string time_text(double ns) {
  const char* units[] = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  while (ns >= 999.5 && unit + 1 < std::size(units)) {
    ns /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", ns, units[unit]);
}

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
