#include "oracle/random_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::test {
namespace {

const std::vector<std::string> mode_names = {"i", "j", "k"};

}  // namespace

std::string random_layout(std::mt19937& random, std::size_t order) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random()) % n; };
  std::vector<std::string> values;
  std::vector<std::string> whole;
  for (std::size_t m = 0; m < order; ++m) {
    const std::string& name = mode_names[m];
    const unsigned a = 2 + below(3);
    switch (below(5)) {
      case 0:
        values.insert(values.end(), {fmt::format("{}/{}", name, a), fmt::format("{}%{}", name, a)});
        break;
      case 1: {
        const unsigned b = 2 + below(2);
        values.insert(values.end(),
                      {fmt::format("{}/{}", name, a * b), fmt::format("{}/{}%{}", name, a, b), fmt::format("{}%{}", name, a)});
        break;
      }
      case 2:  // a sum with a mode before it, which the other levels determine
        if (m > 0) {
          values.push_back(fmt::format("{}{}{}", name, below(2) ? "-" : "+", mode_names[below(static_cast<unsigned>(m))]));
          break;
        }
        [[fallthrough]];
      default: whole.push_back(name);
    }
  }
  std::string head = "(" + mode_names[0];
  for (std::size_t m = 1; m < order; ++m) head += "," + mode_names[m];
  const unsigned extra = below(3);
  std::string start, slot, chain;
  if (extra == 0 && !whole.empty()) {
    start = whole.back();
    whole.pop_back();
  }
  values.insert(values.end(), whole.begin(), whole.end());
  std::ranges::shuffle(values, random);
  if (extra == 1 && values.size() > 1) {
    const char* const in_order = below(4) == 0 ? " unordered" : "";
    for (unsigned n = 1 + below(2); n > 0 && values.size() > 1; --n) {
      chain += fmt::format(", {}:q{}{}", values.back(), below(2) ? "<8>" : "", in_order);
      values.pop_back();
    }
    slot = below(2) ? "*:d" : "*:v";
  }
  std::vector<std::string> levels;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const unsigned kind = below(10);
    if (kind < 4) levels.push_back(values[n] + ":d");
    else if (kind < 7)
      levels.push_back(values[n] + (below(2) ? ":s" : below(2) ? ":s<16> desc" : ":s unordered"));
    else if (kind == 7 && slot.empty() && start.empty())
      levels.push_back(values[n] + (below(2) ? ":h" : ":b"));
    else if (kind == 8)
      levels.push_back(values[n] + ":v");
    else {
      levels.push_back(values[n] + ":u");
      if (n + 1 < values.size()) levels.push_back(values[++n] + ":q");
      else
        levels.back().back() = 's';
    }
  }
  if (!start.empty()) {
    const std::size_t at = below(static_cast<unsigned>(levels.size()) + 1);
    const bool one = at > 0 && below(4) == 0 && levels[at - 1].ends_with(":d");
    const std::string counted = one || below(2) ? fmt::format("{}-b:v", start) : fmt::format("{}-b:d({})", start, 1 + below(4));
    // Not between a chain's levels.
    std::size_t place = at;
    while (place < levels.size() && levels[place].ends_with(":q")) ++place;
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(place), one && place == at ? "b:q" : "b:s");
    std::size_t behind = place + 1 + below(static_cast<unsigned>(levels.size() - place));
    while (behind < levels.size() && levels[behind].ends_with(":q")) ++behind;
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(behind), counted);
  }
  if (!slot.empty()) {
    std::size_t at = levels.size();
    while (at > 0 && levels[at - 1].ends_with(":d") && below(2)) --at;
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(at), slot);
  }
  std::string text = head + ") -> (";
  for (std::size_t l = 0; l < levels.size(); ++l) text += (l ? ", " : "") + levels[l];
  return text + chain + ")";
}

}  // namespace weft::test
