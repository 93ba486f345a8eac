#include "engine/plan/space/convertible_accesses.h"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/cost/cost_model.h"
#include "engine/plan/schedule/binding.h"

namespace weft {
namespace {

constexpr std::size_t most_free_modes = 12;

}  // namespace

ConvertibleAccesses::ConvertibleAccesses(const Problem& problem)
    : network_(problem.network), operands_(problem.operands), options_(problem.options) {
  const Term& term = problem.network.assignments.front().terms.front();
  for (std::uint32_t factor = 0; factor < term.factors.size(); ++factor) {
    const OperandFacts& facts = facts_of(problem.operands, term.factors[factor].tensor);
    if (!may_be_converted(facts) || facts.format.order() > most_free_modes || factor >= AlternativeModels::most_factors) continue;
    factors_.push_back(factor);
  }
}

const TensorAccess& ConvertibleAccesses::access(std::size_t number) const {
  return network_.assignments.front().terms.front().factors[factors_[number]];
}

double ConvertibleAccesses::conversions_ns(std::uint64_t choice, bool shared) const {
  std::set<TensorId> converted;
  double ns = 0;
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    const TensorId tensor = access(number).tensor;
    if ((choice >> number & 1) == 0 || (!converted.insert(tensor).second && shared)) continue;
    ns += conversion_ns(facts_of(operands_, tensor), options_.machine) / std::max(1.0, options_.calls);
  }
  return ns;
}

bool ConvertibleAccesses::differs(std::uint64_t choice, std::size_t fill_limit) const {
  const auto [low, high] = std::minmax(dense_fill_limits[0], dense_fill_limits[fill_limit]);
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    if ((choice >> number & 1) == 0) continue;
    const TensorAccess& read = access(number);
    const Statistics& statistics = facts_of(operands_, read.tensor).statistics;
    const ModeSet all = (ModeSet{1} << read.indices.size()) - 1;
    for (ModeSet modes = 1; modes < all; ++modes) {
      double combinations = 1;
      for (const IndexId mode : members(modes)) combinations *= static_cast<double>(network_.indices[read.indices[mode]].extent);
      const double distinct = statistics.distinct(modes);
      if (combinations > low * distinct && combinations <= high * distinct) return true;
    }
  }
  return false;
}

std::vector<bool> ConvertibleAccesses::freed(const Schedule& statements, std::uint64_t choice) const {
  std::vector<bool> free(statements.tensors.size(), false);
  const std::optional<std::uint32_t> like = statements.tensors.back().like;
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    free[factors_[number]] = (choice >> number & 1) != 0 && like != factors_[number];
  }
  return free;
}

}  // namespace weft
