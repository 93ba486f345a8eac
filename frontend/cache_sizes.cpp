#include "frontend/cache_sizes.h"

#include <fstream>
#include <optional>

namespace weft {
namespace {

std::optional<double> bytes_of(const std::string& text) {
  double bytes = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') bytes = bytes * 10 + (text[digits++] - '0');
  const std::string unit = text.substr(digits);
  if (digits == 0 || (unit != "" && unit != "K" && unit != "M")) return std::nullopt;
  return bytes * (unit == "K" ? 1024 : unit == "M" ? 1024 * 1024 : 1);
}

std::string word_of(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

std::array<double, 3> cache_sizes(const std::string& directory) {
  std::array<double, 3> sizes = {};
  for (int index = 0;; ++index) {
    const std::string cache = directory + "/index" + std::to_string(index);
    const std::string level = word_of(cache + "/level");
    if (level.empty()) return sizes;
    const std::string type = word_of(cache + "/type");
    if (level.size() != 1 || level[0] < '1' || level[0] > '3' || (type != "Data" && type != "Unified")) continue;
    if (const auto bytes = bytes_of(word_of(cache + "/size"))) sizes[static_cast<std::size_t>(level[0] - '1')] = *bytes;
  }
}

}  // namespace weft
