#include "engine/plan/space/contraction_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"

namespace weft {
namespace {

constexpr std::size_t most_summed_freely = 3;  // operands
constexpr std::size_t most_stored_freely = 2;  // intermediates
constexpr std::size_t most_ordered_modes = 2;  // of an intermediate between nests, 3 if every order is wanted

// An operand to be summed over all of its indices but the kept ones.
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
      for (const ScheduledAccess& other : step.factors) others |= &other == &access ? 0 : index_set(other.indices);
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

// Intermediates that sparse factors restrict, and which of their modes.
struct Restricted {
  std::uint32_t tensor = 0;
  std::vector<std::uint32_t> modes;
  std::vector<std::uint32_t> others;
};

std::vector<Restricted> restricted_intermediates(const Contractions& contractions) {
  std::vector<Restricted> found;
  std::vector<IndexSet> restricted(contractions.tensors.size());  // by the sparse operands that a tensor is made from
  for (const Contraction& step : contractions.steps) {
    const ScheduledAccess& target = step.target;
    IndexSet& all = restricted[target.tensor];
    for (const ScheduledAccess& factor : step.factors) {
      const ContractedTensor& tensor = contractions.tensors[factor.tensor];
      if (tensor.role != TensorRole::operand) all |= restricted[factor.tensor];
      else if (tensor.sparse()) all |= index_set(factor.indices);
    }
    const bool intermediate = contractions.tensors[target.tensor].role == TensorRole::intermediate;
    if (!intermediate || (all & index_set(target.indices)) == 0) continue;
    Restricted one{target.tensor, {}, {}};
    for (std::uint32_t mode = 0; mode < target.indices.size(); ++mode) {
      (contains(all, target.indices[mode]) ? one.modes : one.others).push_back(mode);
    }
    found.push_back(std::move(one));
  }
  return found;
}

// Stored between nests: compressed levels in every order of the restricted modes above a dense block of the others, and of
// all modes.
std::vector<Format> stored_layouts(const Restricted& intermediate, Scalar scalar) {
  std::vector<Format> found;
  const auto append = [&](std::vector<std::uint32_t> compressed, const std::vector<std::uint32_t>& block) {
    std::ranges::sort(compressed);
    do {
      Format& layout = found.emplace_back(sparse_format(compressed.size() + block.size(), scalar));
      layout.mode_order = compressed;
      for (const std::uint32_t mode : block) {
        layout.levels[layout.mode_order.size()].kind = LevelKind::dense;
        layout.mode_order.push_back(mode);
      }
    } while (std::ranges::next_permutation(compressed).found);
  };
  append(intermediate.modes, intermediate.others);
  if (intermediate.others.empty()) return found;
  std::vector<std::uint32_t> all = intermediate.modes;
  all.insert(all.end(), intermediate.others.begin(), intermediate.others.end());
  append(all, {});
  return found;
}

bool are_few(const std::vector<Restricted>& intermediates, std::size_t most_modes) {
  return intermediates.size() <= most_stored_freely && std::ranges::all_of(intermediates, [&](const Restricted& one) {
           return one.modes.size() + one.others.size() <= most_modes;
         });
}

// "M_row" of M[i,j]: a fiber of M is looked up.
std::string name_of_fiber(const Contractions& contractions, const std::string& operand) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::find(contractions.tensors, name, &ContractedTensor::name) != contractions.tensors.end();
  };
  std::string name = operand + "_row";
  for (std::size_t number = 2; taken(name); ++number) name = fmt::format("{}_row{}", operand, number);
  return name;
}

}  // namespace

std::vector<Contractions> plain_contractions(const Problem& problem, const ContractionTree& tree,
                                             const std::vector<std::vector<std::uint32_t>>& orders,
                                             const std::vector<ResultFormat>& formats) {
  std::vector<Contractions> found;
  for (const std::vector<std::uint32_t>& order : orders) {
    for (const ResultFormat& format : formats) found.push_back(contractions_of(problem.network, tree, order, problem.operands, format));
  }
  return found;
}

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
  if (sums.size() <= most_summed_freely) {
    for (std::uint64_t chosen = 1; chosen <= all; ++chosen) choose(chosen);
  } else {
    for (std::size_t one = 0; one < sums.size(); ++one) choose(std::uint64_t{1} << one);
    choose(all);
  }
  return found;
}

std::vector<Contractions> with_sparse_intermediates(Contractions plain, bool every_order, bool for_dense_results) {
  const ContractedTensor& result = result_of(plain);
  std::vector<Contractions> found;
  if (!for_dense_results && (!result.sparse() || result.like)) {
    found.push_back(std::move(plain));
    return found;
  }
  const std::vector<Restricted> intermediates = restricted_intermediates(plain);
  const std::size_t most_modes = most_ordered_modes + (every_order ? 1 : 0);
  if (!are_few(intermediates, most_modes)) return with_keyed_intermediates(std::move(plain));
  found.push_back(std::move(plain));
  for (const Restricted& intermediate : intermediates) {
    const std::size_t before = found.size();
    const auto append = [&](Storage storage, const Format& layout) {
      for (std::size_t number = 0; number < before; ++number) {
        ContractedTensor& tensor = found.emplace_back(found[number]).tensors[intermediate.tensor];
        tensor.storage = storage;
        tensor.layout = layout;
      }
    };
    append(Storage::keyed, {});
    for (const Format& layout : stored_layouts(intermediate, found.front().tensors[intermediate.tensor].scalar)) {
      append(Storage::stored, layout);
    }
  }
  return found;
}

std::vector<Contractions> with_keyed_intermediates(Contractions plain) {
  std::vector<Contractions> found;
  found.push_back(std::move(plain));
  const std::vector<Restricted> candidates = restricted_intermediates(found.front());
  const std::uint64_t all = (std::uint64_t{1} << std::min<std::size_t>(candidates.size(), 63)) - 1;
  for (std::uint64_t chosen = 1; chosen <= all; ++chosen) {
    if (candidates.size() > most_stored_freely) chosen = all;
    found.push_back(found.front());
    for (std::size_t number = 0; number < candidates.size(); ++number) {
      if ((chosen >> number & 1) != 0) found.back().tensors[candidates[number].tensor].storage = Storage::of_loops;
    }
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

std::vector<Contractions> contraction_variants(const Problem& problem, const ContractionTree& tree,
                                               const std::vector<std::vector<std::uint32_t>>& orders,
                                               const std::vector<ResultFormat>& formats, bool every_order, bool unfused) {
  std::vector<Contractions> found;
  for (Contractions& plain : plain_contractions(problem, tree, orders, formats))
    std::ranges::move(contraction_variants(std::move(plain), problem, every_order, unfused), std::back_inserter(found));
  return found;
}

std::optional<Contractions> with_mark_array(const Contractions& contractions, std::size_t step, std::size_t factor) {
  const Contraction& reading = contractions.steps[step];
  const ScheduledAccess& access = reading.factors[factor];
  const ContractedTensor& operand = contractions.tensors[access.tensor];
  const IndexSet indices = index_set(access.indices);
  if (operand.role != TensorRole::operand || !operand.sparse() || access.indices.size() < 2) return std::nullopt;
  if (members(indices).size() < access.indices.size() || is_mark_array_copy(contractions, step)) return std::nullopt;
  if (contractions.tensors.back().like == access.tensor) return std::nullopt;
  bool meets = false;
  for (const ScheduledAccess& other : reading.factors) {
    if (&other == &access) continue;
    const ContractedTensor& read = contractions.tensors[other.tensor];
    // Both factors of A(i,j) * A(i,j) are read by one walk.
    if (read.role == TensorRole::operand && read.tensor == operand.tensor && other.indices == access.indices) return std::nullopt;
    meets = meets || (read.sparse() && (index_set(other.indices) & indices) != 0);
  }
  if (!meets) return std::nullopt;
  ContractedTensor copy = ContractedTensor::workspace(name_of_fiber(contractions, operand.name), access.indices, operand.scalar);
  copy.storage = Storage::of_loops;
  Contractions marked = contractions;
  insert_step(marked, step, step, factor, std::move(copy));
  return marked;
}

bool marks_are_looked_up(const Schedule& schedule) {
  std::set<std::uint32_t> looked_up;
  for (const ScheduledStatement& statement : schedule.statements) {
    for (const Intersection& intersection : statement.intersections) {
      for (const Intersection::Part& part : intersection.parts)
        if (!part.drive) looked_up.insert(schedule.statements[part.statement].factors[part.factor].tensor);
    }
  }
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const std::uint32_t copy = schedule.statements[number].target.tensor;
    if (!is_mark_array_copy(schedule, number)) continue;
    if (!looked_up.contains(copy) || shared_loops(schedule, number, reader_of(schedule, copy)) == 0) return false;
  }
  return true;
}

}  // namespace weft
