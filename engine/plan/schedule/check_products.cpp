#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"

namespace weft {
namespace {

// The first factor that is accessed in the same way: occurrences that cannot be told apart stand for each other.
std::size_t representative(const Term& term, std::size_t factor) {
  return static_cast<std::size_t>(std::find(term.factors.begin(), term.factors.end(), term.factors[factor]) -
                                  term.factors.begin());
}

// Shapes of trees by number: factors have their own, and groups of the same shapes, in whatever order, have the same.
class Shapes {
 public:
  explicit Shapes(const Term& term) : term_(term) {}

  std::size_t leaf(std::size_t factor) const { return representative(term_, factor); }

  std::size_t group(std::vector<std::size_t> parts) {
    std::ranges::sort(parts);
    const auto known = std::ranges::find(groups_, parts);
    const auto place = static_cast<std::size_t>(known - groups_.begin());
    if (known == groups_.end()) groups_.push_back(std::move(parts));
    return term_.factors.size() + place;
  }

  std::size_t of(const ContractionTree& tree) {
    std::vector<std::size_t> shapes;
    shapes.reserve(tree.nodes.size());
    for (const ContractionTree::Node& node : tree.nodes) {
      std::vector<std::size_t> parts;
      parts.reserve(node.children.size());
      for (const std::uint32_t child : node.children) parts.push_back(shapes[child]);
      shapes.push_back(parts.empty() ? leaf(node.factor) : group(std::move(parts)));
    }
    return shapes.back();
  }

 private:
  const Term& term_;
  std::vector<std::vector<std::size_t>> groups_;
};

// A tensor of the schedule, as far as its statements were read.
struct KnownTensor {
  bool written = false;
  bool read = false;
  std::size_t shape = 0;
  std::vector<std::size_t> leaves;
};

class ProductChecker {
 public:
  ProductChecker(const Schedule& schedule, const Network& network)
      : schedule_(schedule),
        network_(network),
        assignment_(network.assignments[0]),
        term_(assignment_.terms[0]),
        used_(term_.factors.size(), false),
        shapes_(term_),
        known_(schedule.tensors.size()) {}

  Expected<void> check_all() {
    double coefficient = 1;
    for (std::size_t number = 0; number < schedule_.statements.size(); ++number) {
      coefficient *= schedule_.statements[number].coefficient;
      if (auto done = check_statement(number); !done) return done;
    }
    for (std::size_t factor = 0; factor < term_.factors.size(); ++factor) {
      if (!used_[factor]) {
        return illegal(fmt::format("factor {} of the expression ({}) is in no statement", factor + 1,
                                   network_.tensors[term_.factors[factor].tensor].name));
      }
    }
    for (std::size_t tensor = 0; tensor < schedule_.tensors.size(); ++tensor) {
      const ScheduledTensor& declared = schedule_.tensors[tensor];
      if (declared.role == TensorRole::operand ? !known_[tensor].read : !known_[tensor].written) {
        return illegal(fmt::format("{} is declared but never {}", declared.name,
                                   declared.role == TensorRole::operand ? "read" : "written"));
      }
      if (declared.role == TensorRole::intermediate && !known_[tensor].read)
        return illegal(fmt::format("intermediate {} is never read", declared.name));
      if (declared.role != TensorRole::result) continue;
      // A single factor has no contraction: its tree is the leaf itself.
      const std::size_t expected = shapes_.of(schedule_.tree);
      if (known_[tensor].shape != (term_.factors.size() == 1 ? shapes_.group({expected}) : expected)) {
        return illegal(fmt::format("the statements do not contract in the order of the tree {}",
                                   weft::print(schedule_.tree, factor_names(network_))));
      }
    }
    if (coefficient != term_.coefficient)
      return illegal(fmt::format("the coefficients multiply to {}, the expression has {}", coefficient, term_.coefficient));
    return {};
  }

 private:
  Expected<void> check_statement(std::size_t number) {
    const ScheduledStatement& statement = schedule_.statements[number];
    if (auto done = check_target(number); !done) return done;
    std::vector<std::size_t> parts;
    parts.reserve(statement.factors.size());
    std::vector<std::size_t> below;
    below.reserve(term_.factors.size());
    for (const ScheduledAccess& factor : statement.factors) {
      if (factor.tensor >= schedule_.tensors.size()) return illegal(number, "a factor is not declared");
      if (auto done = check_factor(number, factor, parts, below); !done) return done;
    }
    IndexSet factors = 0;
    for (const ScheduledAccess& factor : statement.factors) factors |= index_set(factor.indices);
    const IndexSet target = index_set(statement.target.indices);
    for (const IndexId index : members(target & ~factors)) {
      return illegal(number, fmt::format("index {} of {} is in no factor", network_.indices[index].name,
                                         schedule_.tensors[statement.target.tensor].name));
    }
    IndexSet outside = index_set(assignment_.result.indices);
    for (std::size_t factor = 0; factor < term_.factors.size(); ++factor) {
      const bool inside = std::find(below.begin(), below.end(), factor) != below.end();
      if (!inside) outside |= index_set(term_.factors[factor].indices);
    }
    for (const IndexId index : members(factors & ~target & outside)) {
      return illegal(number, fmt::format("index {} is summed here but needed later", network_.indices[index].name));
    }
    KnownTensor& made = known_[statement.target.tensor];
    made.written = true;
    // A copy of an operand for lookups, or its sum over what only it has, contracts nothing.
    const bool copy = schedule_.tensors[statement.target.tensor].role == TensorRole::intermediate && parts.size() == 1;
    made.shape = copy ? parts.front() : shapes_.group(std::move(parts));
    made.leaves = std::move(below);
    return {};
  }

  Expected<void> check_target(std::size_t number) {
    const ScheduledAccess& target = schedule_.statements[number].target;
    if (target.tensor >= schedule_.tensors.size()) return illegal(number, "the target is not declared");
    const ScheduledTensor& tensor = schedule_.tensors[target.tensor];
    if (tensor.role == TensorRole::operand) return illegal(number, fmt::format("operand {} must not be written", tensor.name));
    if (known_[target.tensor].written) return illegal(number, fmt::format("{} is written twice", tensor.name));
    const std::vector<IndexId>& modes =
        tensor.role == TensorRole::result ? assignment_.result.indices : tensor.modes;
    if (target.indices != modes) return illegal(number, fmt::format("{} is not written with its own indices", tensor.name));
    return {};
  }

  Expected<void> check_factor(std::size_t number, const ScheduledAccess& access, std::vector<std::size_t>& parts,
                              std::vector<std::size_t>& below) {
    const ScheduledTensor& tensor = schedule_.tensors[access.tensor];
    KnownTensor& known = known_[access.tensor];
    if (tensor.role == TensorRole::result) return illegal(number, fmt::format("result {} must not be read", tensor.name));
    if (tensor.role == TensorRole::intermediate) {
      if (!known.written) return illegal(number, fmt::format("{} is read before it is written", tensor.name));
      if (known.read) return illegal(number, fmt::format("{} is read twice", tensor.name));
      if (access.indices != tensor.modes) return illegal(number, fmt::format("{} is not read with its own indices", tensor.name));
      parts.push_back(known.shape);
      below.insert(below.end(), known.leaves.begin(), known.leaves.end());
      known.read = true;
      return {};
    }
    for (std::size_t factor = 0; factor < term_.factors.size(); ++factor) {
      if (used_[factor] || term_.factors[factor].tensor != tensor.tensor ||
          term_.factors[factor].indices != access.indices) {
        continue;
      }
      used_[factor] = true;
      known.read = true;
      parts.push_back(shapes_.leaf(factor));
      below.push_back(factor);
      return {};
    }
    return illegal(number, fmt::format("{} is no factor of the expression, or stands in a statement already",
                                       print_access(schedule_, access, network_)));
  }

  const Schedule& schedule_;
  const Network& network_;
  const Assignment& assignment_;
  const Term& term_;
  std::vector<bool> used_;  // per factor of the term
  Shapes shapes_;
  std::vector<KnownTensor> known_;  // per tensor of the schedule
};

}  // namespace

Expected<void> check_products(const Schedule& schedule, const Network& network) {
  const auto exist = [&](const ScheduledAccess& access) {
    return std::ranges::all_of(access.indices, [&](IndexId index) { return index < network.indices.size(); });
  };
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    if (!exist(statement.target) || !std::ranges::all_of(statement.factors, exist))
      return illegal(number, "an access has an index that the expression lacks");
  }
  if (auto done = check(schedule.tree, network.assignments[0].terms[0].factors.size()); !done) return done;
  return ProductChecker(schedule, network).check_all();
}

}  // namespace weft
