#include "oracle/random_forest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "frontend/resolve.h"
#include "oracle/interpreted.h"
#include "oracle/sparse_result.h"

namespace weft::test {
namespace {

// An entry for every coordinate.
void fill(CoordinateMap& entries, const std::vector<std::uint64_t>& extents) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) count *= extent;
  for (std::uint64_t number = 0; number < count; ++number) {
    std::vector<std::uint64_t> coordinates(extents.size());
    std::uint64_t rest = number;
    for (std::size_t mode = 0; mode < extents.size(); ++mode) {
      coordinates[mode] = rest % extents[mode];
      rest /= extents[mode];
    }
    entries.try_emplace(std::move(coordinates), 0);
  }
}

class ForestDrawing {
 public:
  ForestDrawing(Dice& dice, bool with_nan) : dice_(dice), with_nan_(with_nan) {}

  RandomForest draw() {
    is_f32_ = percent(15);
    const std::size_t count = 2 + below(3);
    for (std::size_t number = 0; number < count; ++number) draw_assignment(number, number + 1 == count);
    for (const RandomForest::Assigned& assigned : random_.assignments) {
      if (percent(30)) random_.wanted.insert(assigned.name);
    }
    draw_formats();
    std::vector<std::string> texts;
    for (const RandomForest::Assigned& assigned : random_.assignments) texts.push_back(text_of(assigned));
    random_.expression = fmt::format("{}", fmt::join(texts, percent(50) ? "; " : "\n"));
    return std::move(random_);
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return dice_.below(bound); }
  bool percent(std::uint64_t share) { return dice_.percent(share); }

  void draw_formats() {
    if (!with_nan_ && percent(50)) return;
    const Scalar scalar = is_f32_ ? Scalar::f32 : Scalar::f64;
    for (const RandomForest::Assigned& assigned : random_.assignments)
      if (random_.wanted.contains(assigned.name) || &assigned == &random_.assignments.back())
        random_.formats[assigned.name] = with_nan_ ? dense_format(assigned.indices.size(), scalar)
                                                   : random_result_format(assigned.indices.size(), scalar, dice_);
  }

  void draw_assignment(std::size_t number, bool last) {
    extents_.clear();
    letters_ = {"i", "j", "k", "l", "m"};
    dice_.shuffle(letters_);
    RandomForest::Assigned assigned;
    assigned.name = fmt::format("S{}", number);
    const std::size_t factors = 1 + below(3);
    for (std::size_t factor = 0; factor < factors; ++factor) {
      const bool must = last && factor == 0 && number > 0;
      if (!results_.empty() && (must || percent(45))) {
        const std::string& read = std::next(results_.begin(), static_cast<std::ptrdiff_t>(below(results_.size())))->first;
        assigned.factors.push_back({read, indices_for(results_.at(read))});
      } else if (!random_.operands.empty() && percent(25)) {
        const RandomOperand& operand = random_.operands[below(random_.operands.size())];
        assigned.factors.push_back({operand.name, indices_for(operand.extents)});
      } else {
        assigned.factors.push_back(new_operand());
      }
    }
    std::vector<std::string> used;
    for (const auto& [name, extent] : extents_) used.push_back(name);
    dice_.shuffle(used);
    used.resize(std::min<std::size_t>(below(used.size() + 1), 3));
    assigned.indices = used;
    static const std::vector<double> coefficients = {1, 1, 1, 1, -1, 2, 0.5};
    if (!is_f32_) assigned.coefficient = coefficients[below(coefficients.size())];
    for (const std::string& index : used) assigned.extents.push_back(extents_.at(index));
    results_[assigned.name] = assigned.extents;
    random_.assignments.push_back(std::move(assigned));
  }

  // Indices of these extents: of the assignment so far, or new ones.
  std::vector<std::string> indices_for(const std::vector<std::uint64_t>& extents) {
    std::vector<std::string> indices;
    for (const std::uint64_t extent : extents) {
      std::vector<std::string> fitting;
      for (const auto& [name, known] : extents_) {
        if (known == extent) fitting.push_back(name);
      }
      if (!fitting.empty() && (percent(60) || letters_.empty())) {
        indices.push_back(fitting[below(fitting.size())]);
      } else {
        indices.push_back(new_index(extent));
      }
    }
    return indices;
  }

  std::string new_index(std::uint64_t extent) {
    // Out of letters: one more that no other index of the assignment has.
    std::string name = letters_.empty() ? fmt::format("n{}", extents_.size()) : letters_.back();
    if (!letters_.empty()) letters_.pop_back();
    extents_[name] = extent;
    return name;
  }

  RandomForest::Factor new_operand() {
    RandomForest::Factor factor;
    RandomOperand operand;
    operand.name = factor.tensor = fmt::format("T{}", random_.operands.size());
    const std::size_t order = percent(8) ? 0 : 1 + below(3);
    for (std::size_t mode = 0; mode < order; ++mode) {
      std::string index;
      if (!extents_.empty() && (percent(50) || letters_.empty())) {
        index = std::next(extents_.begin(), static_cast<std::ptrdiff_t>(below(extents_.size())))->first;
      } else {
        const std::uint64_t what = below(100);
        index = new_index(what < 2 ? 0 : what < 10 ? 1 : 2 + below(3));
      }
      factor.indices.push_back(index);
      operand.extents.push_back(extents_.at(index));
    }
    const Scalar scalar = is_f32_ && !percent(20) ? Scalar::f32 : Scalar::f64;
    operand.format = percent(40) ? dense_format(order, scalar) : sparse_format(order, scalar);
    for (Level& level : operand.format.levels) {
      // Entries of a dense level count as stored: with NaN those of a mixed format would have to be counted in.
      if (!with_nan_ && percent(15)) level.kind = LevelKind::dense;
    }
    if (percent(40)) dice_.shuffle(operand.format.mode_order);
    widen(operand.format, dice_);
    operand.pinned = percent(30);
    draw_entries(operand);
    random_.operands.push_back(std::move(operand));
    return factor;
  }

  void draw_entries(RandomOperand& operand) {
    std::uint64_t space = 1;
    for (const std::uint64_t extent : operand.extents) space *= extent;
    if (space == 0 || (percent(4) && !(with_nan_ && operand.format.all_dense()))) return;
    const std::uint64_t count = operand.format.all_dense() ? space : 1 + below(space);
    for (std::uint64_t n = 0; n < count; ++n) {
      std::vector<std::uint64_t> coordinates;
      for (const std::uint64_t extent : operand.extents) coordinates.push_back(below(extent));
      const bool known = std::any_of(operand.entries.begin(), operand.entries.end(),
                                     [&](const auto& entry) { return entry.first == coordinates; });
      if (known) continue;
      const double magnitude = is_f32_ ? 1 : 1 + static_cast<double>(below(2));
      operand.entries.emplace_back(std::move(coordinates), percent(40) ? -magnitude : magnitude);
    }
    if (with_nan_ && operand.format.all_dense()) {
      CoordinateMap all = summed(operand);
      fill(all, operand.extents);
      operand.entries.assign(all.begin(), all.end());
    }
    if (with_nan_ && percent(50)) operand.entries[below(operand.entries.size())].second = std::nan("");
  }

  std::string text_of(const RandomForest::Assigned& assigned) {
    std::vector<std::string> parts;
    for (const RandomForest::Factor& factor : assigned.factors) {
      parts.push_back(fmt::format("{}({})", factor.tensor, fmt::join(factor.indices, ",")));
    }
    if (parts.size() == 3 && percent(25)) {
      parts = {fmt::format("({} * {})", parts[0], parts[1]), parts[2]};
    } else if (parts.size() == 3 && percent(15)) {
      parts = {fmt::format("({})", fmt::join(parts, " * "))};
    }
    const std::string number = assigned.coefficient == 1 ? "" : fmt::format("{} * ", assigned.coefficient);
    return fmt::format("{}({}) = {}{}", assigned.name, fmt::join(assigned.indices, ","), number, fmt::join(parts, " * "));
  }

  Dice& dice_;
  RandomForest random_;
  bool with_nan_;
  bool is_f32_ = false;
  std::map<std::string, std::uint64_t> extents_;               // of the current assignment
  std::vector<std::string> letters_;                           // it has not used yet
  std::map<std::string, std::vector<std::uint64_t>> results_;  // extents by name
};

std::vector<std::uint64_t> by_mode(const std::vector<std::uint64_t>& by_level, const Format& format) {
  std::vector<std::uint64_t> result(by_level.size());
  for (std::size_t level = 0; level < by_level.size(); ++level) result[format.mode_order[level]] = by_level[level];
  return result;
}

}  // namespace

RandomForest random_forest(std::uint64_t seed, bool with_nan) {
  Dice dice(seed);
  RandomForest random = random_forest(dice, with_nan);
  random.seed = seed;
  return random;
}

RandomForest random_forest(Dice& dice, bool with_nan) { return ForestDrawing(dice, with_nan).draw(); }

std::string reproduction(const RandomForest& random) {
  std::string text = fmt::format("WEFT_SEED={} WEFT_COUNT=1   weft run '{}'", random.seed, random.expression);
  for (const std::string& name : random.wanted) text += fmt::format(" --out {}={}.tns", name, name);
  for (const auto& [result, format] : random.formats)
    text += fmt::format(" --format {}:{}:{}{}", result, format.text(), name(format.scalar), wide_levels(format));
  for (const RandomOperand& operand : random.operands) {
    text += fmt::format("\n  {} {} {} {}{}{}, entries from 0:", operand.name, fmt::join(operand.extents, "x"),
                        operand.format.text(), name(operand.format.scalar), operand.pinned ? " pinned" : "",
                        wide_levels(operand.format));
    for (const auto& [coordinates, value] : operand.entries) {
      text += fmt::format(" ({}) {};", fmt::join(coordinates, ","), value);
    }
  }
  return text;
}

std::map<std::string, CoordinateMap> expected_results(const RandomForest& random) {
  std::map<std::string, CoordinateMap> known;
  for (const RandomOperand& operand : random.operands)
    known[operand.name] = stored(summed(operand), operand.format, operand.extents);
  std::map<std::string, CoordinateMap> results;
  for (const RandomForest::Assigned& assigned : random.assignments) {
    std::vector<OracleFactor> factors;
    for (const RandomForest::Factor& factor : assigned.factors) factors.push_back({factor.indices, &known.at(factor.tensor)});
    CoordinateMap result = einsum(assigned.indices, factors, assigned.coefficient);
    const auto format = random.formats.find(assigned.name);
    if (format != random.formats.end())
      result = stored(result, format->second, assigned.extents);
    else if (random.wanted.contains(assigned.name))
      fill(result, assigned.extents);
    results[assigned.name] = known[assigned.name] = std::move(result);
  }
  return results;
}

Expected<BuiltNetwork> built(const RandomForest& random, const Resources& resources) {
  const auto parsed = parse_expression(random.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<OperandShape> shapes;
  for (const RandomOperand& operand : random.operands) {
    shapes.push_back({operand.name, operand.extents, operand.format.scalar});
  }
  auto network = resolve(*parsed, shapes);
  if (!network) return std::unexpected(network.error());
  BuiltNetwork result;
  result.network = std::move(*network);
  result.entries.resize(result.network.tensors.size());
  for (TensorId id = 0; id < result.network.tensors.size(); ++id) {
    for (const RandomOperand& operand : random.operands) {
      if (operand.name != result.network.tensors[id].name) continue;
      auto tensor = tensor_of(operand, resources);
      if (!tensor) return std::unexpected(tensor.error());
      const Tensor& kept = result.tensors.emplace(operand.name, std::move(*tensor)).first->second;
      result.facts.push_back({id, kept.format(), statistics(kept, resources.threads), kept.bytes(), operand.pinned});
      result.entries[id] = summed(operand);
    }
  }
  return result;
}

Expected<std::map<std::string, CoordinateMap>> interpreted_results(const Schedule& schedule, const BuiltNetwork& built) {
  const auto nests = lower(schedule, built.network, std::vector<bool>(schedule.tensors.size(), true));
  if (!nests) return std::unexpected(nests.error());
  const auto stored = evaluated_tensors(schedule, scheduled_network(schedule, built.network), *nests, built.entries,
                                        loop::interpret);
  if (!stored) return std::unexpected(stored.error());
  std::map<std::string, CoordinateMap> results;
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    const ScheduledTensor& tensor = schedule.tensors[number];
    if (tensor.role != TensorRole::result) continue;
    CoordinateMap& result = results[tensor.name];
    for (const auto& [levels, value] : (*stored)[number]) result[by_mode(levels, tensor.format)] = value;
  }
  return results;
}

}  // namespace weft::test
