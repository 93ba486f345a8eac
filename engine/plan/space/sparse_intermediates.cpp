#include "engine/plan/space/sparse_intermediates.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t most_chosen_alone = 2;
constexpr std::size_t most_ordered_modes = 2;  // of an intermediate between nests, 3 if every order is wanted

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
  return intermediates.size() <= most_chosen_alone && std::ranges::all_of(intermediates, [&](const Restricted& one) {
           return one.modes.size() + one.others.size() <= most_modes;
         });
}

}  // namespace

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
    if (candidates.size() > most_chosen_alone) chosen = all;
    found.push_back(found.front());
    for (std::size_t number = 0; number < candidates.size(); ++number) {
      if ((chosen >> number & 1) != 0) found.back().tensors[candidates[number].tensor].storage = Storage::of_loops;
    }
  }
  return found;
}

}  // namespace weft
