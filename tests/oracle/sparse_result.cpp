#include "oracle/sparse_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace weft::test {
namespace {

using Coordinates = std::vector<std::uint64_t>;

/// The modes of the dense levels at the end of a format.
std::vector<std::uint32_t> trailing_dense_modes(const Format& format) {
  std::vector<std::uint32_t> modes;
  for (std::size_t level = format.order(); level > 0 && format.levels[level - 1].kind == LevelKind::dense; --level)
    modes.push_back(format.mode_order[level - 1]);
  return modes;
}

void fill(Coordinates& at, const std::vector<std::uint32_t>& modes, std::size_t number,
          const std::vector<std::uint64_t>& extents, CoordinateMap& result) {
  if (number == modes.size()) {
    result.emplace(at, 0);
    return;
  }
  for (std::uint64_t c = 0; c < extents[modes[number]]; ++c) {
    at[modes[number]] = c;
    fill(at, modes, number + 1, extents, result);
  }
}

}  // namespace

Format random_result_format(std::size_t order, Scalar scalar, Dice& dice) {
  Format format = sparse_format(order, scalar);
  static const std::vector<LevelKind> usual = {LevelKind::dense, LevelKind::compressed};
  static const std::vector<LevelKind> all = {LevelKind::dense, LevelKind::compressed, LevelKind::compressed_nonunique,
                                             LevelKind::hashed, LevelKind::bitmap};
  const std::vector<LevelKind>& kinds = dice.percent(50) ? usual : all;
  for (std::size_t level = 0; level < order; ++level) {
    format.levels[level].kind = dice.pick(kinds);
    if (format.levels[level].kind != LevelKind::compressed_nonunique) continue;
    // A repeated coordinate needs a singleton below it; the last singleton may have other levels below.
    while (level + 1 < order) {
      format.levels[++level].kind = LevelKind::singleton;
      if (dice.percent(20)) break;
    }
  }
  if (dice.percent(50)) dice.shuffle(format.mode_order);
  widen(format, dice);
  return format;
}

std::optional<std::string> lends_pattern(const RandomNetwork& random) {
  for (const RandomFactor& factor : random.factors) {
    const RandomOperand& operand = random.operands[factor.operand];
    const bool twice = std::ranges::count(random.factors, factor.operand, &RandomFactor::operand) > 1;
    if (!twice && !operand.format.all_dense() && factor.indices.size() == random.result.size() &&
        std::ranges::is_permutation(factor.indices, random.result))
      return operand.name;
  }
  return std::nullopt;
}

RequestedNetwork random_requested(std::uint64_t seed, const RandomLimits& limits) {
  Dice dice(seed ^ 0x5EED0FF0F4A7);
  return requested_of(random_network(seed, limits), dice);
}

RequestedNetwork requested_of(RandomNetwork random, Dice& dice) {
  RequestedNetwork requested{std::move(random), std::nullopt, std::nullopt};
  Scalar scalar = Scalar::f32;
  for (const RandomFactor& factor : requested.random.factors)
    if (requested.random.operands[factor.operand].format.scalar == Scalar::f64) scalar = Scalar::f64;
  const std::uint64_t what = dice.below(100);
  if (what < 20) requested.pattern = lends_pattern(requested.random);
  if (!requested.pattern && what < 90)
    requested.format = random_result_format(requested.random.result.size(), scalar, dice);
  return requested;
}

std::string reproduction(const RequestedNetwork& requested) {
  std::string text = reproduction(requested.random);
  if (requested.format)
    text += fmt::format("\n  --format R:{}:{}{}", requested.format->text(), name(requested.format->scalar),
                        wide_levels(*requested.format));
  if (requested.pattern) text += fmt::format("\n  --format 'R:like({})'", *requested.pattern);
  return text;
}

CoordinateMap stored(const CoordinateMap& entries, const Format& format, const std::vector<std::uint64_t>& extents) {
  const std::vector<std::uint32_t> modes = trailing_dense_modes(format);
  CoordinateMap result = entries;
  // Nothing to fill, however long the other extents are.
  if (std::ranges::any_of(modes, [&](std::uint32_t mode) { return extents[mode] == 0; })) return result;
  std::set<Coordinates> filled;
  if (modes.size() == format.order()) {
    Coordinates at(format.order());
    fill(at, modes, 0, extents, result);
    return result;
  }
  for (const auto& entry : entries) {
    Coordinates at = entry.first;
    for (const std::uint32_t mode : modes) at[mode] = 0;
    if (filled.insert(at).second) fill(at, modes, 0, extents, result);
  }
  return result;
}

std::vector<std::uint64_t> result_extents(const RandomNetwork& random) {
  std::vector<std::uint64_t> extents;
  for (const std::string& index : random.result)
    for (const RandomFactor& factor : random.factors) {
      const auto mode = std::ranges::find(factor.indices, index);
      if (mode == factor.indices.end()) continue;
      extents.push_back(
          random.operands[factor.operand].extents[static_cast<std::size_t>(mode - factor.indices.begin())]);
      break;
    }
  return extents;
}

CoordinateMap structural_product(const RandomNetwork& random) {
  std::vector<CoordinateMap> entries;
  for (const RandomOperand& operand : random.operands)
    entries.push_back(stored(summed(operand), operand.format, operand.extents));
  std::vector<OracleFactor> factors;
  for (const RandomFactor& factor : random.factors) factors.push_back({factor.indices, &entries[factor.operand]});
  return einsum(random.result, factors, random.coefficient);
}

CoordinateMap expected_entries(const RequestedNetwork& requested, const Format& format) {
  const RandomNetwork& random = requested.random;
  CoordinateMap result = structural_product(random);
  if (!requested.pattern) return stored(result, format, result_extents(random));
  for (const RandomFactor& factor : random.factors) {
    const RandomOperand& operand = random.operands[factor.operand];
    if (operand.name != *requested.pattern) continue;
    for (const auto& entry : stored(summed(operand), operand.format, operand.extents)) {
      Coordinates at;
      for (const std::string& index : random.result)
        at.push_back(
            entry.first[static_cast<std::size_t>(std::ranges::find(factor.indices, index) - factor.indices.begin())]);
      result.emplace(std::move(at), 0);
    }
  }
  return result;
}

std::string structural_differences(const CoordinateMap& result, const CoordinateMap& expected) {
  CoordinateMap all = result;
  all.insert(expected.begin(), expected.end());
  const auto text_of = [](const CoordinateMap& map, const Coordinates& at) {
    const auto place = map.find(at);
    return place == map.end() ? std::string("absent") : fmt::format("{}", place->second);
  };
  std::string text;
  int listed = 0;
  for (const auto& entry : all) {
    const auto found = result.find(entry.first);
    const auto wanted = expected.find(entry.first);
    // Written so that NaN differs from everything.
    if (found != result.end() && wanted != expected.end() && found->second == wanted->second) continue;
    if (++listed > 4) return text + " …";
    text += fmt::format("{}R({}) is {} instead of {}", text.empty() ? "" : ", ", fmt::join(entry.first, ","),
                        text_of(result, entry.first), text_of(expected, entry.first));
  }
  return text;
}

}  // namespace weft::test
