#include "oracle/random_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::test {
namespace {

const std::vector<std::string> mode_names = {"i", "j", "k"};

bool is_singleton(const std::string& level) { return level.find(":q") != std::string::npos; }
bool is_dense(const std::string& level) { return level.find(":d") != std::string::npos; }
bool is_slot(const std::string& level) { return level.starts_with("*"); }

/// Whether place `at` is between slots and their singletons.
bool is_below_slot(const std::vector<std::string>& levels, std::size_t at) {
  while (at > 0 && is_dense(levels[at - 1]) && !is_slot(levels[at - 1])) --at;
  return at > 0 && is_slot(levels[at - 1]);
}

/// Whether a level is a singleton of slots.
bool is_of_slots(const std::vector<std::string>& levels, std::size_t level) {
  std::size_t at = level;
  while (at > 0 && is_singleton(levels[at])) --at;
  return at < level && is_below_slot(levels, at + 1);
}

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
  const unsigned extra = below(5);  // 0, 3: starts; 1, 3, 4: slots
  std::vector<std::string> starts;
  if (extra == 0 || extra == 3) {
    for (unsigned n = 1 + below(2); n > 0 && !whole.empty(); --n) {
      starts.push_back(whole.back());
      whole.pop_back();
    }
  }
  values.insert(values.end(), whole.begin(), whole.end());
  std::ranges::shuffle(values, random);
  std::vector<std::string> slots;  // those of slots, and what stands below: other slots or levels
  const bool lists = extra % 2 == 1 || extra == 4;
  for (unsigned n = 1 + below(2); n > 0 && lists && values.size() > 1; --n) {
    const char* const in_order = below(4) == 0 ? " unordered" : "";
    std::vector<std::string> chain;
    for (unsigned m = 1 + below(2); m > 0 && values.size() > 1; --m) {
      chain.push_back(fmt::format("{}:q{}{}", values.back(), below(2) ? "<8>" : "", in_order));
      values.pop_back();
    }
    std::vector<std::string> under;
    if (below(2) && values.size() > 1) {
      const std::string value = values.back();
      values.pop_back();
      const std::vector<std::string> kinds = {":d", ":d", ":s", ":v", ":s unordered"};
      under.push_back(value + kinds[below(5)]);
    }
    std::vector<std::string> group = {below(2) ? "*:d" : "*:v"};
    if (below(3) == 0 && values.size() > 1) {
      group.push_back(values.back() + ":d");
      values.pop_back();
    }
    group.insert(group.end(), chain.begin(), chain.end());
    group.insert(group.end(), under.begin(), under.end());
    slots.insert(slots.begin(), group.begin(), group.end());
  }
  std::vector<std::string> levels;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const unsigned kind = below(10);
    if (kind < 4) levels.push_back(values[n] + ":d");
    else if (kind < 7)
      levels.push_back(values[n] + (below(2) ? ":s" : below(2) ? ":s<16> desc" : ":s unordered"));
    else if (kind == 7 && slots.empty() && starts.empty())
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
  if (!slots.empty()) {
    std::size_t at = levels.size();
    while (at > 0 && levels[at - 1].ends_with(":d") && below(2)) --at;
    if (at < levels.size() && !is_singleton(slots[1])) at = levels.size();
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(at), slots.front());
    levels.insert(levels.end(), slots.begin() + 1, slots.end());
  }
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::string name = n == 0 ? "b" : "a";
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at <= levels.size(); ++at)
      if (!is_below_slot(levels, at) && !(at < levels.size() && is_singleton(levels[at]))) places.push_back(at);
    const std::size_t place = places[below(static_cast<unsigned>(places.size()))];
    const std::vector<std::string> orders = {":s", ":s", ":s", ":s", ":s desc", ":s unordered"};
    const bool one = place > 0 && below(4) == 0 && (levels[place - 1].ends_with(":d") || is_of_slots(levels, place - 1));
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(place), name + (one ? ":q" : orders[below(6)]));
    const std::string counted = one || below(2) ? fmt::format("{}-{}:v", starts[n], name)
                                                : fmt::format("{}-{}:d({})", starts[n], name, 1 + below(4));
    places.clear();
    for (std::size_t at = place + 1; at <= levels.size(); ++at) {
      const bool in_group = is_below_slot(levels, at);
      const bool is_dense = counted.ends_with(")");
      if (in_group ? is_dense : !(at < levels.size() && is_singleton(levels[at]))) places.push_back(at);
    }
    const std::size_t behind = places[below(static_cast<unsigned>(places.size()))];
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(behind), counted);
  }
  std::string text = head + ") -> (";
  for (std::size_t l = 0; l < levels.size(); ++l) text += (l ? ", " : "") + levels[l];
  return text + ")";
}

}  // namespace weft::test
