#include "oracle/einsum.h"

#include <algorithm>
#include <optional>

namespace weft::test {
namespace {

using Coordinates = std::vector<std::uint64_t>;

/// One factor in the order of the join: its entries by the coordinates of the indices that are known before it.
struct JoinedFactor {
  std::vector<std::size_t> known;  ///< numbers of indices
  std::vector<std::size_t> new_ones;
  std::map<Coordinates, std::vector<std::pair<Coordinates, double>>> entries;  ///< known to (new, value)
};

class Join {
 public:
  Join(const std::vector<std::string>& result, const std::vector<OracleFactor>& factors, double coefficient)
      : coefficient_(coefficient) {
    std::multimap<std::size_t, const OracleFactor*> by_size;
    for (const OracleFactor& factor : factors) by_size.emplace(factor.entries->size(), &factor);
    for (const auto& sized : by_size) add(*sized.second);
    for (const std::string& name : result) result_.push_back(number_of(name));
    values_.resize(names_.size());
  }

  CoordinateMap run() {
    descend(0, coefficient_);
    return std::move(sums_);
  }

 private:
  std::size_t number_of(const std::string& name) {
    const auto place = std::ranges::find(names_, name);
    if (place != names_.end()) return static_cast<std::size_t>(place - names_.begin());
    names_.push_back(name);
    return names_.size() - 1;
  }

  void add(const OracleFactor& factor) {
    const std::size_t names_before = names_.size();
    JoinedFactor joined;
    std::vector<std::size_t> numbers;
    for (const std::string& name : factor.indices) numbers.push_back(number_of(name));
    for (std::size_t number = 0; number < names_.size(); ++number) {
      if (std::ranges::find(numbers, number) == numbers.end()) continue;
      (number < names_before ? joined.known : joined.new_ones).push_back(number);
    }
    for (const auto& [coordinates, value] : *factor.entries) {
      if (const auto of_index = by_index(numbers, coordinates)) {
        Coordinates known, new_ones;
        for (const std::size_t number : joined.known) known.push_back((*of_index)[number]);
        for (const std::size_t number : joined.new_ones) new_ones.push_back((*of_index)[number]);
        joined.entries[known].emplace_back(new_ones, value);
      }
    }
    factors_.push_back(std::move(joined));
  }

  /// Nothing off the diagonal of a repeated index.
  std::optional<Coordinates> by_index(const std::vector<std::size_t>& numbers, const Coordinates& coordinates) const {
    Coordinates values(names_.size());
    std::vector<bool> is_set(names_.size());
    for (std::size_t mode = 0; mode < numbers.size(); ++mode) {
      if (is_set[numbers[mode]] && values[numbers[mode]] != coordinates[mode]) return std::nullopt;
      values[numbers[mode]] = coordinates[mode];
      is_set[numbers[mode]] = true;
    }
    return values;
  }

  void descend(std::size_t depth, double product) {
    if (depth == factors_.size()) {
      Coordinates key;
      for (const std::size_t number : result_) key.push_back(values_[number]);
      sums_[key] += product;
      return;
    }
    const JoinedFactor& factor = factors_[depth];
    Coordinates known;
    for (const std::size_t number : factor.known) known.push_back(values_[number]);
    const auto matching = factor.entries.find(known);
    if (matching == factor.entries.end()) return;
    for (const auto& [coordinates, value] : matching->second) {
      for (std::size_t n = 0; n < coordinates.size(); ++n) values_[factor.new_ones[n]] = coordinates[n];
      descend(depth + 1, product * value);
    }
  }

  double coefficient_;
  std::vector<std::string> names_;
  std::vector<JoinedFactor> factors_;
  std::vector<std::size_t> result_;
  Coordinates values_;
  CoordinateMap sums_;
};

}  // namespace

CoordinateMap einsum(const std::vector<std::string>& result, const std::vector<OracleFactor>& factors,
                     double coefficient) {
  return Join(result, factors, coefficient).run();
}

}  // namespace weft::test
