#include "engine/plan/space/partial_sums.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "engine/plan/schedule/check.h"
#include "engine/plan/space/sparse_intermediates.h"

namespace weft {
namespace {

constexpr std::size_t most_chosen_freely = 3;

struct Sum {
  std::size_t step = 0;
  std::size_t factor = 0;
  IndexSet kept = 0;
};

// Operands with indices of their own. One that is alone in its step is not co-iterated.
std::vector<Sum> possible_sums(const Contractions& contractions) {
  std::vector<Sum> found;
  for (std::size_t number = 0; number < contractions.steps.size(); ++number) {
    const Contraction& step = contractions.steps[number];
    for (std::size_t factor = 0; factor < step.factors.size() && step.factors.size() > 1; ++factor) {
      const ScheduledAccess& access = step.factors[factor];
      if (contractions.tensors[access.tensor].role != TensorRole::operand) continue;
      IndexSet others = index_set(step.target.indices);
      for (std::size_t other = 0; other < step.factors.size(); ++other) {
        if (other != factor) others |= index_set(step.factors[other].indices);
      }
      const IndexSet own = index_set(access.indices);
      if ((own & ~others) != 0) found.push_back({number, factor, own & others});
    }
  }
  return found;
}

Scalar widest(const Contractions& contractions) {
  const bool wide = std::ranges::find(contractions.tensors, Scalar::f64, &ContractedTensor::scalar) != contractions.tensors.end();
  return wide ? Scalar::f64 : Scalar::f32;
}

Contractions summed(Contractions contractions, const Network& network, const std::vector<Sum>& sums, std::uint64_t chosen, bool first) {
  std::size_t inserted = 0;
  for (std::size_t number = 0; number < sums.size(); ++number) {
    if ((chosen >> number & 1) == 0) continue;
    const Sum& sum = sums[number];
    const std::size_t reader = sum.step + inserted;
    std::string name = intermediate_name(network, contractions);
    ContractedTensor made = ContractedTensor::workspace(std::move(name), members(sum.kept), widest(contractions));
    insert_step(contractions, first ? inserted : reader, reader, sum.factor, std::move(made));
    ++inserted;
  }
  return contractions;
}

}  // namespace

std::vector<Contractions> with_partial_sums(Contractions plain, const Network& network, const PlanOptions& options) {
  const bool given = options.tree.has_value() || !network.assignments.front().terms.front().open;
  const std::vector<Sum> sums = given || options.strict_fp ? std::vector<Sum>() : possible_sums(plain);
  std::vector<Contractions> found;
  found.push_back(std::move(plain));
  if (sums.empty() || sums.size() > 63) return found;
  const std::uint64_t all = (std::uint64_t{1} << sums.size()) - 1;
  const auto choose = [&](std::uint64_t chosen) {
    found.push_back(summed(found.front(), network, sums, chosen, false));
    const bool later = std::ranges::any_of(sums, [&](const Sum& sum) {
      return sum.step > 0 && (chosen >> (&sum - sums.data()) & 1) != 0;
    });
    if (later) found.push_back(summed(found.front(), network, sums, chosen, true));
  };
  if (sums.size() <= most_chosen_freely) {
    for (std::uint64_t chosen = 1; chosen <= all; ++chosen) choose(chosen);
  } else {
    for (std::size_t one = 0; one < sums.size(); ++one) choose(std::uint64_t{1} << one);
    choose(all);
  }
  return found;
}

std::vector<Contractions> contraction_variants(Contractions plain, const Problem& problem, bool every_order, bool unfused) {
  const auto& [network, operands, options] = problem;
  std::vector<Contractions> found;
  for (Contractions& one : with_partial_sums(std::move(plain), network, options)) {
    const bool for_dense_results = unfused || annihilates_any(one, operands);
    std::ranges::move(with_sparse_intermediates(std::move(one), every_order, for_dense_results), std::back_inserter(found));
  }
  return found;
}

}  // namespace weft
