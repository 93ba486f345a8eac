#include "oracle/pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace weft::test {
namespace {

constexpr std::size_t most_modes = 4;

/// Kinds of the levels from `level` on, all ways.
void add_formats(Format& format, std::size_t level, std::vector<Format>& found) {
  if (level == format.order()) {
    found.push_back(format);
    return;
  }
  for (const LevelKind kind : {LevelKind::dense, LevelKind::compressed}) {
    format.levels[level].kind = kind;
    add_formats(format, level + 1, found);
  }
  // Coordinates from here on: two levels at least, unless there is only one left; then other levels, or none.
  std::size_t end = level;
  for (; end < format.order(); ++end) {
    format.levels[end].kind = end == level ? LevelKind::compressed_nonunique : LevelKind::singleton;
    if (end > level && end + 1 < format.order() && level == 0) {
      for (const LevelKind below : {LevelKind::dense, LevelKind::compressed}) {
        Format mixed = format;
        for (std::size_t rest = end + 1; rest < format.order(); ++rest) mixed.levels[rest].kind = below;
        found.push_back(mixed);
      }
    }
  }
  found.push_back(format);
}

/// The numbers of the contraction and of the two formats.
struct Choice {
  ContractedPair contraction;
  std::size_t left = 0;
  std::size_t right = 0;
};

std::size_t left_order(const ContractedPair& c) { return c.kept + c.left + c.summed; }
std::size_t right_order(const ContractedPair& c) { return c.kept + c.right + c.summed; }

std::uint64_t pairs_of(const ContractedPair& c) {
  return operand_formats(left_order(c)).size() * operand_formats(right_order(c)).size();
}

Choice choice(std::uint64_t number) {
  const std::vector<ContractedPair> all = contracted_pairs();
  const ContractedPair& contraction = all[number % all.size()];
  // A step without common divisor visits every pair once.
  const std::uint64_t count = pairs_of(contraction);
  std::uint64_t step = count * 618 / 1000 + 1;
  while (std::gcd(step, count) != 1) ++step;
  const std::uint64_t place = number / all.size() % count * step % count;
  const std::size_t rights = operand_formats(right_order(contraction)).size();
  return {contraction, place / rights, place % rights};
}

class PairDrawing {
 public:
  explicit PairDrawing(std::uint64_t number) : dice_(number), choice_(choice(number)) { random_.seed = number; }

  RequestedNetwork draw() {
    const ContractedPair& c = choice_.contraction;
    const std::vector<std::string> kept = names(c.kept), left = names(c.left), right = names(c.right),
                                   summed = names(c.summed);
    f32_ = dice_.percent(20);
    has_ones_ = dice_.percent(15);
    operand({kept, left, summed}, operand_formats(left_order(c))[choice_.left]);
    operand({kept, right, summed}, operand_formats(right_order(c))[choice_.right]);
    random_.result = shuffled({kept, left, right});
    if (dice_.percent(20)) random_.coefficient = dice_.percent(50) ? -1 : 2;
    random_.expression =
        fmt::format("R({}) = {}T0({}) * T1({})", fmt::join(random_.result, ","),
                    random_.coefficient == 1 ? "" : fmt::format("{} * ", random_.coefficient),
                    fmt::join(random_.factors[0].indices, ","), fmt::join(random_.factors[1].indices, ","));
    RequestedNetwork requested{std::move(random_), std::nullopt, std::nullopt};
    const std::uint64_t what = dice_.below(100);
    if (what < 30) requested.pattern = lends_pattern(requested.random);
    if (!requested.pattern && what < 90)
      requested.format = random_result_format(requested.random.result.size(), f32_ ? Scalar::f32 : Scalar::f64, dice_);
    return requested;
  }

 private:
  std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> result;
    for (; count > 0; --count) {
      result.push_back(fmt::format("{}", static_cast<char>('i' + static_cast<char>(extents_.size()))));
      const std::uint64_t what = dice_.below(100);
      extents_[result.back()] = what < 2 ? 0 : what < 10 ? 1 : 2 + dice_.below(6);
    }
    return result;
  }

  std::vector<std::string> shuffled(const std::vector<std::vector<std::string>>& groups) {
    std::vector<std::string> indices;
    for (const auto& group : groups) indices.insert(indices.end(), group.begin(), group.end());
    dice_.shuffle(indices);
    return indices;
  }

  void operand(const std::vector<std::vector<std::string>>& groups, Format format) {
    RandomFactor factor{random_.operands.size(), shuffled(groups)};
    RandomOperand operand;
    operand.name = fmt::format("T{}", random_.operands.size());
    std::uint64_t space = 1;
    for (const std::string& index : factor.indices) {
      operand.extents.push_back(extents_[index]);
      space *= extents_[index];
    }
    operand.format = std::move(format);
    operand.format.scalar = f32_ ? Scalar::f32 : Scalar::f64;
    dice_.shuffle(operand.format.mode_order);
    widen(operand.format, dice_);
    if (dice_.percent(50)) leave_gaps(operand.format, operand.extents, dice_);
    operand.pinned = dice_.percent(70);
    if (space > 0 && !dice_.percent(4)) entries(operand, space);
    random_.operands.push_back(std::move(operand));
    random_.factors.push_back(std::move(factor));
  }

  void entries(RandomOperand& operand, std::uint64_t space) {
    const bool crowded = dice_.percent(30);  // few rows have all the entries: first, last and others are empty
    const std::uint64_t most = std::min<std::uint64_t>(space, 120);
    const std::uint64_t count = 1 + dice_.below(dice_.percent(40) ? most : (most + 4) / 5);
    for (std::uint64_t n = 0; n < count; ++n) {
      std::vector<std::uint64_t> at;
      for (const std::uint64_t extent : operand.extents)
        at.push_back(crowded && dice_.percent(70) ? extent / 2 : dice_.below(extent));
      const bool repeats = std::ranges::any_of(operand.entries, [&](const auto& entry) { return entry.first == at; });
      if (repeats && (has_ones_ || dice_.percent(80))) continue;
      double value = static_cast<double>(1 + dice_.below(f32_ ? 1 : 3));
      if (dice_.percent(45)) value = -value;
      if (dice_.percent(5)) value = 0;
      operand.entries.emplace_back(std::move(at), has_ones_ ? 1 : value);
    }
  }

  Dice dice_;
  Choice choice_;
  RandomNetwork random_;
  std::map<std::string, std::uint64_t> extents_;
  bool f32_ = false;
  bool has_ones_ = false;
};

}  // namespace

std::vector<ContractedPair> contracted_pairs() {
  std::vector<ContractedPair> found;
  for (std::size_t kept = 0; kept <= most_modes; ++kept)
    for (std::size_t left = 0; kept + left <= most_modes; ++left)
      for (std::size_t right = 0; kept + left + right <= most_modes; ++right)
        for (std::size_t summed = 0; kept + std::max(left, right) + summed <= most_modes; ++summed)
          found.push_back({kept, left, right, summed});
  return found;
}

std::vector<Format> operand_formats(std::size_t order) {
  std::vector<Format> found;
  Format format = sparse_format(order);
  if (order == 0) return {format};
  add_formats(format, 0, found);
  return found;
}

RequestedNetwork pair(std::uint64_t number) { return PairDrawing(number).draw(); }

}  // namespace weft::test
