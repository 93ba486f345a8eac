#include "oracle/contracted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "frontend/parse.h"
#include "oracle/sparse_result.h"

namespace weft::test {
namespace {

using Names = std::vector<std::string>;

/// Contracts one node after the other; what an inner node makes is a factor of its parent.
class TreeContraction {
 public:
  TreeContraction(const ContractionTree& tree, const Names& result, const std::vector<OracleFactor>& factors, double coefficient)
      : tree_(tree), result_(result), factors_(factors), coefficient_(coefficient), made_(tree.nodes.size()) {}

  CoordinateMap run() {
    const auto root = static_cast<std::uint32_t>(tree_.nodes.size() - 1);
    if (tree_.nodes.back().children.empty()) return einsum(result_, {factors_[tree_.nodes.back().factor]}, coefficient_);
    contract(root);
    return std::move(made_[root]);
  }

 private:
  std::set<std::uint32_t> leaves(std::uint32_t number) const {
    const ContractionTree::Node& node = tree_.nodes[number];
    std::set<std::uint32_t> found;
    if (node.children.empty()) found.insert(node.factor);
    for (const std::uint32_t child : node.children) found.merge(leaves(child));
    return found;
  }

  Names kept(std::uint32_t number) const {
    const std::set<std::uint32_t> inside = leaves(number);
    std::set<std::string> below;
    std::set<std::string> beside(result_.begin(), result_.end());
    for (std::uint32_t factor = 0; factor < factors_.size(); ++factor) {
      std::set<std::string>& side = inside.contains(factor) ? below : beside;
      side.insert(factors_[factor].indices.begin(), factors_[factor].indices.end());
    }
    Names names;
    std::ranges::set_intersection(below, beside, std::back_inserter(names));
    return names;
  }

  OracleFactor contract(std::uint32_t number) {
    const ContractionTree::Node& node = tree_.nodes[number];
    if (node.children.empty()) return factors_[node.factor];
    std::vector<OracleFactor> children;
    for (const std::uint32_t child : node.children) children.push_back(contract(child));
    const bool root = number + 1 == tree_.nodes.size();
    const Names names = root ? result_ : kept(number);
    made_[number] = einsum(names, children, root ? coefficient_ : 1);
    return {names, &made_[number]};
  }

  const ContractionTree& tree_;
  const Names& result_;
  const std::vector<OracleFactor>& factors_;
  double coefficient_;
  std::vector<CoordinateMap> made_;
};

/// "((b * a) * c)" of these factors from `begin` to `end`.
std::string random_tree(const Names& factors, std::size_t begin, std::size_t end, Dice& dice) {
  if (end - begin == 1) return factors[begin];
  Names parts;
  for (std::size_t at = begin; at < end;) {
    const std::size_t most = std::min(end - at, end - begin - 1);
    const std::size_t next = at + (dice.percent(50) ? 1 : 1 + dice.below(most));
    parts.push_back(random_tree(factors, at, next, dice));
    at = next;
  }
  return fmt::format("({})", fmt::join(parts, " * "));
}

std::string assignment_text(const std::string& result, const Names& indices, double coefficient, const std::string& product) {
  const std::string number = coefficient == 1 ? "" : fmt::format("{} * ", coefficient);
  return fmt::format("{}({}) = {}{}", result, fmt::join(indices, ","), number, product);
}

/// What the parentheses of the text say.
ContractionTree tree_of(const std::string& expression, std::size_t assignment) {
  return parse_expression(expression)->assignments[assignment].terms.front().pinned;
}

CoordinateMap operand_entries(const RandomOperand& operand) {
  CoordinateMap entries = stored(summed(operand), operand.format, operand.extents);
  if (operand.extents.empty()) entries.try_emplace({}, 0);  // a scalar has its one value
  return entries;
}

}  // namespace

CoordinateMap contracted(const ContractionTree& tree, const std::vector<std::string>& result,
                         const std::vector<OracleFactor>& factors, double coefficient) {
  return TreeContraction(tree, result, factors, coefficient).run();
}

RandomNetwork pinned(RandomNetwork random, std::uint64_t seed) {
  Dice dice(seed ^ 0x7EE5);
  dice.shuffle(random.factors);
  Names factors;
  for (const RandomFactor& factor : random.factors) {
    factors.push_back(fmt::format("{}({})", random.operands[factor.operand].name, fmt::join(factor.indices, ",")));
  }
  random.expression = assignment_text("R", random.result, random.coefficient, random_tree(factors, 0, factors.size(), dice));
  return random;
}

RandomForest pinned(RandomForest random, std::uint64_t seed) {
  Dice dice(seed ^ 0x7EE5);
  Names texts;
  for (RandomForest::Assigned& assigned : random.assignments) {
    dice.shuffle(assigned.factors);
    Names factors;
    for (const RandomForest::Factor& factor : assigned.factors) {
      factors.push_back(fmt::format("{}({})", factor.tensor, fmt::join(factor.indices, ",")));
    }
    texts.push_back(assignment_text(assigned.name, assigned.indices, assigned.coefficient, random_tree(factors, 0, factors.size(), dice)));
  }
  random.expression = fmt::format("{}", fmt::join(texts, "; "));
  return random;
}

void spoil(std::vector<RandomOperand>& operands, std::uint64_t seed) {
  Dice dice(seed ^ 0xBAD);
  static const std::vector<double> values = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                             -std::numeric_limits<double>::infinity()};
  bool any = false;
  for (RandomOperand& operand : operands) {
    if (operand.entries.empty() || (any && dice.percent(50))) continue;
    for (std::uint64_t count = 1 + dice.below(3); count > 0; --count) {
      operand.entries[dice.below(operand.entries.size())].second = dice.pick(values);
    }
    any = true;
  }
}

CoordinateMap contracted_result(const RandomNetwork& random) {
  std::vector<CoordinateMap> entries;
  for (const RandomOperand& operand : random.operands) entries.push_back(operand_entries(operand));
  std::vector<OracleFactor> factors;
  for (const RandomFactor& factor : random.factors) factors.push_back({factor.indices, &entries[factor.operand]});
  return contracted(tree_of(random.expression, 0), random.result, factors, random.coefficient);
}

std::map<std::string, CoordinateMap> contracted_results(const RandomForest& random) {
  std::map<std::string, CoordinateMap> known;
  for (const RandomOperand& operand : random.operands) known[operand.name] = operand_entries(operand);
  std::map<std::string, CoordinateMap> results;
  for (std::size_t number = 0; number < random.assignments.size(); ++number) {
    const RandomForest::Assigned& assigned = random.assignments[number];
    std::vector<OracleFactor> factors;
    for (const RandomForest::Factor& factor : assigned.factors) factors.push_back({factor.indices, &known.at(factor.tensor)});
    CoordinateMap result = contracted(tree_of(random.expression, number), assigned.indices, factors, assigned.coefficient);
    const auto format = random.formats.find(assigned.name);
    if (format != random.formats.end()) result = stored(result, format->second, assigned.extents);
    results[assigned.name] = known[assigned.name] = std::move(result);
  }
  return results;
}

CoordinateMap comparable(CoordinateMap values) {
  for (auto& [coordinates, value] : values) {
    if (std::isnan(value)) value = 1e300;
  }
  return values;
}

}  // namespace weft::test
