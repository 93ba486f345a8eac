#include "oracle/fiber_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace weft::test {
namespace {

RandomOperand drawn_operand(RandomOperand made, std::uint64_t percent, Dice& dice) {
  std::uint64_t all = 1;
  for (const std::uint64_t extent : made.extents) all *= extent;
  for (std::uint64_t n = 0; n < all; ++n) {
    if (!dice.percent(percent)) continue;
    std::vector<std::uint64_t> at(made.extents.size());
    std::uint64_t rest = n;
    for (std::size_t mode = at.size(); mode-- > 0; rest /= made.extents[mode]) at[mode] = rest % made.extents[mode];
    made.entries.emplace_back(at, static_cast<double>(dice.below(7)) - 3);
  }
  return made;
}

std::string access(const std::string& name, const std::vector<std::string>& indices) {
  return fmt::format("{}({})", name, fmt::join(indices, ","));
}

}  // namespace

RequestedNetwork fiber_sum(std::uint64_t seed) {
  Dice dice(seed ^ 0xF1BE55);
  const std::size_t order = 1 + dice.below(4);
  std::vector<std::string> levels{"i", "j", "k", "l"};
  levels.resize(order);
  const std::size_t shared = 1 + dice.below(order);
  std::map<std::string, std::uint64_t> extents;
  for (const char* index : {"i", "j", "k", "l"})
    extents[index] = dice.percent(5) ? dice.below(2) : 2 + dice.below(order < 4 ? 7 : 4);
  const std::size_t ranks = dice.below(shared == order ? 2 : 3) + (shared == order ? 1 : 0);
  std::vector<std::string> below;
  for (std::size_t n = 0; n < ranks; ++n) below.push_back(n == 0 ? "r" : "s");
  for (const std::string& rank : below) extents[rank] = std::vector<std::uint64_t>{1, 3, 8, 16, 20}[dice.below(5)];

  // Levels of T: the last shared one is compressed.
  Format format = sparse_format(order);
  for (std::size_t level = 0; level < order; ++level)
    if (level + 1 != shared && dice.percent(level == 0 ? 40 : 20)) format.levels[level].kind = LevelKind::dense;
  dice.shuffle(format.mode_order);
  widen(format, dice);
  std::vector<std::string> modes(order);
  for (std::size_t level = 0; level < order; ++level) modes[format.mode_order[level]] = levels[level];

  std::string factors = access("T", modes);
  char last = '@';
  const auto add_factor = [&](const std::vector<std::string>& indices) { factors += " * " + access(std::string(1, ++last), indices); };
  // Every rank needs a factor, over one of T's indices or alone.
  for (const std::string& rank : below) {
    const std::string& with = levels[dice.below(order)];
    add_factor(dice.percent(10) ? std::vector<std::string>{rank} : std::vector<std::string>{with, rank});
  }
  if (dice.percent(50)) add_factor({dice.pick(levels)});

  std::vector<std::string> kept(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(shared));
  kept.insert(kept.end(), below.begin(), below.end());
  std::vector<std::string> result = kept;
  dice.shuffle(result);
  const std::string product = access("R", result) + " = " + factors;
  RandomNetwork made = network_of(product, [&](const std::string& name, const std::vector<std::string>& indices) {
    const bool sparse = name == "T";
    const Format& stored = sparse ? format : dense_format(indices.size(), format.scalar);
    return drawn_operand(empty_operand(name, indices, extents, stored), sparse ? 5 + dice.below(40) : 100, dice);
  });
  made.seed = seed;

  RequestedNetwork requested{std::move(made), std::nullopt, std::nullopt};
  if (dice.percent(70)) {
    Format wanted = dense_format(kept.size(), format.scalar);
    for (std::size_t level = 0; level < kept.size(); ++level) {
      if (level < shared) wanted.levels[level] = format.levels[level];
      wanted.mode_order[level] =
          static_cast<std::uint32_t>(std::ranges::find(requested.random.result, kept[level]) - requested.random.result.begin());
    }
    // The dense modes below in the order of the result's.
    std::sort(wanted.mode_order.begin() + static_cast<std::ptrdiff_t>(shared), wanted.mode_order.end());
    requested.format = wanted;
  }
  return requested;
}

}  // namespace weft::test
