#include "oracle/stretched.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/widths.h"

namespace weft::test {

std::uint64_t long_extent(Dice& dice) { return long_extents[dice.below(long_extents.size())]; }

void store_sparsely(Format& format, const std::vector<std::uint64_t>& extents, Dice& dice) {
  for (std::size_t level = 0; level < format.order(); ++level) {
    Level& stored = format.levels[level];
    if (!is_long(extents[format.mode_order[level]])) continue;
    const bool above_singleton = level + 1 < format.order() && format.levels[level + 1].kind == LevelKind::singleton;
    if (stored.kind == LevelKind::bitmap) stored.kind = LevelKind::hashed;
    if (stored.kind == LevelKind::dense)
      stored.kind = !above_singleton && dice.percent(30) ? LevelKind::hashed : LevelKind::compressed;
  }
  format = with_widths(std::move(format), extents);
}

namespace {

using Longer = std::map<std::uint64_t, std::uint64_t>;

Longer stretch(std::vector<RandomOperand>& operands, Dice& dice, const std::vector<std::uint64_t>& kept = {}) {
  std::set<std::uint64_t> all;
  for (const RandomOperand& operand : operands)
    for (const std::uint64_t extent : operand.extents)
      if (extent > 1 && std::ranges::find(kept, extent) == kept.end()) all.insert(extent);
  const std::vector<std::uint64_t> given(all.begin(), all.end());
  Longer longer;
  if (!given.empty()) longer[dice.pick(given)] = long_extent(dice);
  for (const std::uint64_t extent : given)
    if (dice.percent(40)) longer.try_emplace(extent, long_extent(dice));
  for (RandomOperand& operand : operands) {
    for (auto& [coordinates, value] : operand.entries)
      for (std::size_t mode = 0; mode < coordinates.size(); ++mode) {
        const std::uint64_t extent = operand.extents[mode];
        const auto found = longer.find(extent);
        if (found == longer.end() || coordinates[mode] < extent / 2) continue;
        coordinates[mode] = found->second - (extent - coordinates[mode]);
      }
    for (std::uint64_t& extent : operand.extents)
      if (longer.contains(extent)) extent = longer.at(extent);
    store_sparsely(operand.format, operand.extents, dice);
  }
  return longer;
}

}  // namespace

RandomNetwork stretched(RandomNetwork random, Dice& dice, const std::vector<std::uint64_t>& kept) {
  stretch(random.operands, dice, kept);
  return random;
}

RequestedNetwork stretched(RequestedNetwork requested, Dice& dice) {
  stretch(requested.random.operands, dice);
  if (requested.format) store_sparsely(*requested.format, result_extents(requested.random), dice);
  return requested;
}

RandomForest stretched(RandomForest random, Dice& dice) {
  const Longer longer = stretch(random.operands, dice);
  for (RandomForest::Assigned& assigned : random.assignments) {
    for (std::uint64_t& extent : assigned.extents)
      if (longer.contains(extent)) extent = longer.at(extent);
    if (!random.wanted.contains(assigned.name) && &assigned != &random.assignments.back()) continue;
    const Format sparse = sparse_format(assigned.extents.size());
    store_sparsely(random.formats.try_emplace(assigned.name, sparse).first->second, assigned.extents, dice);
  }
  return random;
}

std::optional<Dice> stretching(std::uint64_t seed, Extents extents) {
  Dice dice(seed ^ 0x57E7C4ED);
  const bool drawn = dice.percent(20);
  return extents == Extents::long_ones || (extents == Extents::some_long && drawn) ? std::optional(dice) : std::nullopt;
}

}  // namespace weft::test
