#include "oracle/random_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <regex>

#include "frontend/resolve.h"
#include "oracle/dice.h"
#include "runtime/indices.h"

namespace weft::test {
namespace {

enum class ScalarMix { f64, f32, mixed };

class Drawing {
 public:
  Drawing(Dice& dice, const RandomLimits& limits) : dice_(dice), limits_(limits) {}

  RandomNetwork draw() {
    const std::uint64_t mix = dice_.below(100);
    mix_ = mix < 75 ? ScalarMix::f64 : mix < 90 ? ScalarMix::f32 : ScalarMix::mixed;
    draw_extents();
    const std::size_t factors = 1 + dice_.below(limits_.factors);
    for (std::size_t number = 0; number < factors; ++number) draw_factor();
    if (dice_.percent(85)) plant_products();
    draw_result();
    draw_coefficient();
    random_.expression = expression();
    return std::move(random_);
  }

  RandomNetwork redraw(RandomNetwork random) {
    random_ = std::move(random);
    mix_ = std::ranges::all_of(random_.operands, [](const RandomOperand& operand) { return operand.format.scalar == Scalar::f64; })
               ? ScalarMix::f64
               : ScalarMix::mixed;
    for (const RandomFactor& factor : random_.factors)
      for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
        extents_[factor.indices[mode]] = random_.operands[factor.operand].extents[mode];
    if (dice_.percent(50)) redraw_extents();
    const bool other_formats = dice_.percent(30);
    for (RandomOperand& operand : random_.operands) {
      if (other_formats) operand.format = draw_format(operand.extents.size(), operand.format.scalar);
      operand.entries.clear();
      draw_entries(operand);
    }
    if (dice_.percent(85)) plant_products();
    return std::move(random_);
  }

 private:
  /// Indices that share a mode of an operand keep equal extents.
  void redraw_extents() {
    std::map<std::string, std::string> same;  // to one index of each class
    for (const auto& [index, extent] : extents_) same[index] = index;
    for (const RandomFactor& left : random_.factors)
      for (const RandomFactor& right : random_.factors)
        for (std::size_t mode = 0; left.operand == right.operand && mode < left.indices.size(); ++mode) {
          const std::string from = same[left.indices[mode]], to = same[right.indices[mode]];
          for (auto& [index, one] : same)
            if (one == from) one = to;
        }
    std::map<std::string, std::uint64_t> drawn;
    std::uint64_t space = 1;
    for (auto& [index, extent] : extents_) {
      if (!drawn.contains(same[index])) drawn[same[index]] = dice_.percent(3) ? 0 : 1 + dice_.below(limits_.extent);
      extent = drawn[same[index]];
      if (extent > 1 && space * extent > limits_.index_space) drawn[same[index]] = 1;
      space *= std::max<std::uint64_t>(extent, 1);
    }
    for (auto& [index, extent] : extents_) extent = drawn[same[index]];
    for (const RandomFactor& factor : random_.factors)
      for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
        random_.operands[factor.operand].extents[mode] = extents_[factor.indices[mode]];
  }

  void draw_extents() {
    static const std::vector<std::string> names = {"i", "j", "k", "l", "m", "n", "p", "q", "r", "s"};
    const std::size_t count = 1 + dice_.below(std::min(limits_.indices, names.size()));
    std::uint64_t space = 1;
    for (std::size_t number = 0; number < count; ++number) {
      const std::uint64_t what = dice_.below(100);
      std::uint64_t extent = what < 2 ? 0 : what < 12 ? 1 : 2 + dice_.below(limits_.extent - 1);
      // Longer than several vectors of any machine, and than what is unrolled.
      if (limits_.long_extent > limits_.extent && what >= 97)
        extent = limits_.extent + 1 + dice_.below(limits_.long_extent - limits_.extent);
      if (extent > 1 && space * extent > limits_.index_space) extent = 1;
      space *= std::max<std::uint64_t>(extent, 1);
      extents_[names[number]] = extent;
      indices_.push_back(names[number]);
    }
  }

  void draw_factor() {
    if (!random_.operands.empty() && dice_.percent(15) && reuse_operand()) return;
    const std::size_t order = dice_.percent(6) ? 0 : 1 + dice_.below(std::min(limits_.order, indices_.size() + 1));
    RandomFactor factor{random_.operands.size(), {}};
    std::vector<std::string> pool = indices_;
    dice_.shuffle(pool);
    for (std::size_t mode = 0; mode < order; ++mode) {
      const bool repeats = mode > 0 && dice_.percent(8);
      if (repeats || mode >= pool.size()) {
        // Long indices once: a dense operand over the square of one would have millions of entries.
        std::vector<std::string> fitting;
        for (const std::string& index : factor.indices)
          if (extents_[index] <= limits_.extent) fitting.push_back(index);
        if (fitting.empty()) break;
        factor.indices.push_back(dice_.pick(fitting));
      } else {
        factor.indices.push_back(pool[mode]);
      }
    }
    random_.operands.push_back(draw_operand(factor.indices));
    random_.factors.push_back(std::move(factor));
  }

  /// The same operand once more, with other indices of the same extents.
  bool reuse_operand() {
    RandomFactor factor{dice_.below(random_.operands.size()), {}};
    for (const std::uint64_t extent : random_.operands[factor.operand].extents) {
      std::vector<std::string> fitting;
      for (const std::string& index : indices_) {
        if (extents_[index] == extent) fitting.push_back(index);
      }
      factor.indices.push_back(dice_.pick(fitting));
    }
    random_.factors.push_back(std::move(factor));
    return true;
  }

  RandomOperand draw_operand(const std::vector<std::string>& indices) {
    RandomOperand operand;
    operand.name = fmt::format("T{}", random_.operands.size());
    for (const std::string& index : indices) operand.extents.push_back(extents_[index]);
    const bool is_f32 = mix_ == ScalarMix::f32 || (mix_ == ScalarMix::mixed && dice_.percent(50));
    operand.format = draw_format(operand.extents.size(), is_f32 ? Scalar::f32 : Scalar::f64);
    if (dice_.percent(30)) leave_gaps(operand.format, operand.extents, dice_);
    operand.pinned = dice_.percent(30);
    draw_entries(operand);
    return operand;
  }

  Format draw_format(std::size_t order, Scalar scalar) {
    const std::uint64_t style = dice_.below(100);
    Format format = style < 30 ? dense_format(order, scalar) : sparse_format(order, scalar);
    if (style >= 60 && style < 80) {
      for (Level& level : format.levels) level.kind = dice_.percent(50) ? LevelKind::dense : LevelKind::compressed;
    } else if (style >= 80) {
      // Coordinate format from some level on, perhaps with other levels above or below.
      std::size_t level = dice_.percent(60) ? 0 : dice_.below(order + 1);
      for (std::size_t above = 0; above < level; ++above) {
        if (dice_.percent(50)) format.levels[above].kind = LevelKind::dense;
      }
      // A repeated coordinate needs a singleton below it, except on the last level.
      const std::size_t first = level;
      for (; level < order && (level < first + 2 || !dice_.percent(15)); ++level) {
        format.levels[level].kind = level == first ? LevelKind::compressed_nonunique : LevelKind::singleton;
      }
      for (; level < order; ++level) {
        format.levels[level].kind = dice_.percent(50) ? LevelKind::dense : LevelKind::compressed;
      }
    }
    if (dice_.percent(50)) dice_.shuffle(format.mode_order);
    widen(format, dice_);
    return format;
  }

  void draw_entries(RandomOperand& operand) {
    std::uint64_t space = 1;
    for (const std::uint64_t extent : operand.extents) space *= extent;
    if (space == 0 || dice_.percent(4)) return;
    const std::uint64_t style = dice_.below(100);
    const bool is_skewed = style >= 70;
    const std::uint64_t most = std::min<std::uint64_t>(space, 150);
    const std::uint64_t count = operand.format.all_dense() ? most : 1 + dice_.below(style < 35 ? most : (most + 3) / 4);
    // Sums stay exact in f32: no entry is larger than 2 there, and none is a sum of many.
    const std::uint64_t largest = mix_ == ScalarMix::f64 ? 3 : 1;
    std::map<std::vector<std::uint64_t>, int> seen;
    for (std::uint64_t n = 0; n < count; ++n) {
      std::vector<std::uint64_t> coordinates;
      for (const std::uint64_t extent : operand.extents) {
        coordinates.push_back(is_skewed && dice_.percent(70) ? extent / 2 : dice_.below(extent));
      }
      if (++seen[coordinates] > 2) continue;
      const double magnitude = 1 + static_cast<double>(dice_.below(largest));
      operand.entries.emplace_back(std::move(coordinates), dice_.percent(30) ? -magnitude : magnitude);
    }
    if (dice_.percent(10)) operand.entries.front().second = 0;  // an explicit zero
  }

  /// Makes sure that some products exist: sparse factors drawn independently rarely meet.
  void plant_products() {
    if (std::ranges::any_of(extents_, [](const auto& extent) { return extent.second == 0; })) return;
    for (std::uint64_t product = 1 + dice_.below(6); product > 0; --product) {
      std::map<std::string, std::uint64_t> at;
      for (const auto& [index, extent] : extents_) at[index] = dice_.below(extent);
      for (const RandomFactor& factor : random_.factors) {
        RandomOperand& operand = random_.operands[factor.operand];
        std::vector<std::uint64_t> coordinates;
        for (const std::string& index : factor.indices) coordinates.push_back(at[index]);
        const bool is_there =
            std::ranges::any_of(operand.entries, [&](const auto& entry) { return entry.first == coordinates; });
        if (!is_there) operand.entries.emplace_back(std::move(coordinates), dice_.percent(50) ? 1 : -2);
      }
    }
  }

  void draw_result() {
    std::vector<std::string> used;
    for (const std::string& index : indices_) {
      const bool is_used = std::ranges::any_of(random_.factors, [&](const RandomFactor& factor) {
        return std::ranges::find(factor.indices, index) != factor.indices.end();
      });
      if (is_used) used.push_back(index);
    }
    dice_.shuffle(used);
    used.resize(std::min<std::size_t>(dice_.below(used.size() + 1), limits_.order));
    random_.result = std::move(used);
  }

  void draw_coefficient() {
    static const std::vector<double> values = {1, 1, 1, 1, 1, 1, -1, 2, -3, 0.5};
    random_.coefficient = dice_.pick(values);
  }

  std::string access(const RandomFactor& factor) const {
    return fmt::format("{}({})", random_.operands[factor.operand].name, fmt::join(factor.indices, ","));
  }

  /// The factors [begin, end), perhaps with parentheses around parts of them.
  std::string product(std::size_t begin, std::size_t end, bool is_pinned) {
    if (end - begin == 1) return access(random_.factors[begin]);
    std::vector<std::string> parts;
    for (std::size_t at = begin; at < end;) {
      const std::size_t longest = std::min(end - at, end - begin - 1);
      const std::size_t length = is_pinned && dice_.percent(50) ? 1 + dice_.below(longest) : 1;
      const std::string part = product(at, at + length, is_pinned);
      parts.push_back(length > 1 ? fmt::format("({})", part) : part);
      at += length;
    }
    return fmt::format("{}", fmt::join(parts, " * "));
  }

  std::string expression() {
    const bool is_pinned = dice_.percent(30);
    std::string text = product(0, random_.factors.size(), is_pinned);
    if (is_pinned && dice_.percent(30)) text = fmt::format("({})", text);
    if (random_.coefficient == -1) {
      text = "-" + text;
    } else if (random_.coefficient != 1) {
      text = fmt::format("{} * {}", random_.coefficient, text);
    }
    return fmt::format("R({}) = {}", fmt::join(random_.result, ","), text);
  }

  Dice& dice_;
  RandomLimits limits_;
  RandomNetwork random_;
  ScalarMix mix_ = ScalarMix::f64;
  std::map<std::string, std::uint64_t> extents_;
  std::vector<std::string> indices_;
};

std::string shape(const RandomOperand& operand) { return fmt::format("{}", fmt::join(operand.extents, "x")); }

}  // namespace

RandomNetwork random_network(std::uint64_t seed, const RandomLimits& limits) {
  Dice dice(seed);
  RandomNetwork random = random_network(dice, limits);
  random.seed = seed;
  return random;
}

RandomNetwork random_network(Dice& dice, const RandomLimits& limits) { return Drawing(dice, limits).draw(); }

void redraw_operands(RandomNetwork& random, Dice& dice, const RandomLimits& limits) {
  random = Drawing(dice, limits).redraw(std::move(random));
}

void widen(Format& format, Dice& dice) {
  if (!dice.percent(25)) return;
  for (Level& level : format.levels) {
    if (dice.percent(50)) level.pos_bits = 64;
    if (dice.percent(50)) level.crd_bits = 64;
  }
}

void leave_gaps(Format& format, const std::vector<std::uint64_t>& extents, Dice& dice) {
  constexpr double most_bits = 1 << 20;
  double coordinates = 1;
  for (const std::uint64_t extent : extents) coordinates *= static_cast<double>(extent);
  for (Level& level : format.levels) {
    if (level.kind != LevelKind::compressed || dice.percent(50)) continue;
    level.kind = coordinates <= most_bits && dice.percent(50) ? LevelKind::bitmap : LevelKind::hashed;
  }
}

std::string wide_levels(const Format& format) {
  std::vector<std::size_t> pos, crd;
  for (std::size_t level = 0; level < format.levels.size(); ++level) {
    if (format.levels[level].pos_bits == 64) pos.push_back(level);
    if (format.levels[level].crd_bits == 64) crd.push_back(level);
  }
  if (pos.empty() && crd.empty()) return "";
  return fmt::format(" 64 bits: pos {}, crd {}", fmt::join(pos, " "), fmt::join(crd, " "));
}

RandomNetwork network_of(const std::string& expression,
                         const std::function<RandomOperand(const std::string& name, const std::vector<std::string>& indices)>& operand) {
  static const std::regex access(R"((\w+)\(([\w,]*)\))");
  static const std::regex coefficient(R"(= (-?[0-9.]+) \*)");
  RandomNetwork made;
  made.expression = expression;
  if (std::smatch found; std::regex_search(expression, found, coefficient)) made.coefficient = std::stod(found[1]);
  bool is_result = true;
  for (std::sregex_iterator each(expression.begin(), expression.end(), access), end; each != end; ++each) {
    std::vector<std::string> indices;
    for (const char letter : (*each)[2].str())
      if (letter != ',') indices.emplace_back(1, letter);
    const std::string name = (*each)[1];
    if (is_result) {
      made.result = indices;
      is_result = false;
      continue;
    }
    const auto known = std::ranges::find(made.operands, name, &RandomOperand::name);
    made.factors.push_back({static_cast<std::size_t>(known - made.operands.begin()), indices});
    if (known == made.operands.end()) made.operands.push_back(operand(name, indices));
  }
  return made;
}

RandomOperand empty_operand(const std::string& name, const std::vector<std::string>& indices,
                            const std::map<std::string, std::uint64_t>& extents, const Format& format) {
  RandomOperand made{name, {}, format, true, {}};
  for (const std::string& index : indices) made.extents.push_back(extents.at(index));
  return made;
}

std::string reproduction(const RandomNetwork& random) {
  std::string text = fmt::format("WEFT_SEED={} WEFT_COUNT=1   weft run '{}'", random.seed, random.expression);
  for (const RandomOperand& operand : random.operands) {
    text +=
        fmt::format(" {}={}.tns{}{}", operand.name, operand.name, operand.extents.empty() ? "" : ":", shape(operand));
  }
  for (const RandomOperand& operand : random.operands) {
    text += fmt::format(" --format {}:{}:{}", operand.name, operand.format.text(), name(operand.format.scalar));
  }
  for (const RandomOperand& operand : random.operands) {
    text += fmt::format("\n  {}{}{}, entries from 0:", operand.name, operand.pinned ? " pinned" : "",
                        wide_levels(operand.format));
    std::size_t listed = 0;
    for (const auto& [coordinates, value] : operand.entries) {
      if (++listed > 40) break;
      text += fmt::format(" ({}) {};", fmt::join(coordinates, ","), value);
    }
    if (listed > 40) text += fmt::format(" … of {}", operand.entries.size());
  }
  return text;
}

CoordinateMap summed(const RandomOperand& operand) {
  CoordinateMap entries;
  for (const auto& [coordinates, value] : operand.entries) entries[coordinates] += value;
  return entries;
}

CoordinateMap expected_result(const RandomNetwork& random) {
  std::vector<CoordinateMap> entries;
  for (const RandomOperand& operand : random.operands) entries.push_back(summed(operand));
  std::vector<OracleFactor> factors;
  for (const RandomFactor& factor : random.factors) factors.push_back({factor.indices, &entries[factor.operand]});
  return einsum(random.result, factors, random.coefficient);
}

Expected<Network> network_of(const RandomNetwork& random) {
  const auto parsed = parse_expression(random.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<OperandShape> shapes;
  for (const RandomOperand& operand : random.operands) {
    shapes.push_back({operand.name, operand.extents, operand.format.scalar});
  }
  return resolve(*parsed, shapes);
}

Expected<Tensor> tensor_of(const RandomOperand& operand, const Resources& resources) {
  Coordinates coordinates;
  coordinates.extents = operand.extents;
  coordinates.scalar = operand.format.scalar;
  coordinates.count = operand.entries.size();
  for (std::size_t mode = 0; mode < operand.extents.size(); ++mode) {
    const unsigned bits = coordinate_bits(operand.extents[mode]);
    auto crd = Buffer::allocate(operand.entries.size() * (bits / 8), resources.memory, operand.name);
    if (!crd) return std::unexpected(crd.error());
    with_width(bits, [&]<class T>(T) {
      const auto places = crd->as<T>();
      for (std::size_t n = 0; n < operand.entries.size(); ++n) places[n] = static_cast<T>(operand.entries[n].first[mode]);
    });
    coordinates.crd.push_back(std::move(*crd));
  }
  auto values =
      Buffer::allocate(operand.entries.size() * scalar_bytes(operand.format.scalar), resources.memory, operand.name);
  if (!values) return std::unexpected(values.error());
  for (std::size_t n = 0; n < operand.entries.size(); ++n) {
    if (operand.format.scalar == Scalar::f64) {
      values->as<double>()[n] = operand.entries[n].second;
    } else {
      values->as<float>()[n] = static_cast<float>(operand.entries[n].second);
    }
  }
  coordinates.values = std::move(*values);
  return build(std::move(coordinates), operand.format, resources, operand.name);
}

}  // namespace weft::test
