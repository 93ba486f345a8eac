#include "unit/plan/random_networks.h"

#include <algorithm>
#include <random>

#include "unit/plan/stretched.h"

namespace weft::plan_test {

OwnedProblem random_network(unsigned seed, bool shared, bool dense) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
  const std::string letters = "ijkl";
  std::map<char, std::uint64_t> extents;
  const std::uint64_t choices[] = {0, 1, 2, 7, 20, 60, 60, 60};
  const unsigned indices = 2 + below(2);
  const std::uint64_t common = shared ? choices[3 + below(5)] : 0;
  for (unsigned index = 0; index < indices; ++index) extents[letters[index]] = shared ? common : choices[below(8)];
  std::string text;
  std::string used;
  const unsigned factors = shared ? 2 : 2 + below(2);
  const unsigned order = shared ? 2 + below(indices - 1) : 0;
  for (unsigned factor = 0; factor < factors; ++factor) {
    std::string modes;
    if (shared) {
      std::string order_of = letters.substr(0, indices);
      std::shuffle(order_of.begin(), order_of.end(), random);
      modes = order_of.substr(0, order);
      if (below(8) == 0) modes.back() = modes.front();
    } else {
      for (unsigned index = 0; index < indices; ++index) {
        if (below(3) > 0) modes += letters[index];
      }
      if (below(2) == 0 && modes.size() > 1) std::swap(modes.front(), modes.back());
      if (below(8) == 0 && !modes.empty()) modes += modes.front();
    }
    used += modes;
    text += std::string(1, static_cast<char>('A' + (shared ? 0 : factor))) + ":" + (modes.empty() ? "-" : modes);
    const bool sparse = shared || below(3) > 0;
    if (sparse && !modes.empty()) text += ":" + std::string(modes.size(), 's') + ":" + std::to_string(1 + below(2000));
    text += " ";
  }
  std::string result;
  for (unsigned index = 0; index < indices; ++index) {
    if (used.find(letters[index]) != std::string::npos && below(2) == 0) result += letters[index];
  }
  OwnedProblem made = problem(text + "-> " + result, extents);
  for (OperandFacts& operand : made.operands) operand.pinned = !shared && below(2) == 0;
  made.options.calls = below(2) == 0 ? 1 : shared ? 5 : 1000;
  made.options.strict_fp = below(6) == 0;
  if (dense) made.options.result_formats["R"] = dense_format(result.size());
  return is_stretched(seed) ? stretched(std::move(made), random) : made;
}

}  // namespace weft::plan_test
