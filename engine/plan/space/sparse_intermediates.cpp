#include "engine/plan/space/sparse_intermediates.h"

#include <algorithm>
#include <utility>

#include "engine/plan/cost/sparse_target.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/storage.h"

namespace weft {
namespace {

constexpr std::size_t most_chosen_alone = 2;
constexpr std::size_t most_ordered_modes = 2;  // of an intermediate between nests, 3 if every order is wanted

// Per statement: indices that sparse operands below it restrict.
std::vector<IndexSet> restricted_indices(const Schedule& schedule) {
  std::vector<IndexSet> restricted(schedule.tensors.size());
  std::vector<IndexSet> found;
  for (const ScheduledStatement& statement : schedule.statements) {
    IndexSet all = 0;
    for (const ScheduledAccess& factor : statement.factors) {
      const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
      if (tensor.role != TensorRole::operand) all |= restricted[factor.tensor];
      else if (has_sparse_level(tensor.format)) all |= index_set(factor.indices);
    }
    restricted[statement.target.tensor] = all;
    found.push_back(all);
  }
  return found;
}

// Intermediates that sparse factors restrict, and which of their modes.
struct Restricted {
  std::uint32_t tensor = 0;
  std::vector<std::uint32_t> modes;
  std::vector<std::uint32_t> others;
};

std::vector<Restricted> restricted_intermediates(const Schedule& statements) {
  std::vector<Restricted> found;
  const std::vector<IndexSet> restricted = restricted_indices(statements);
  for (std::size_t number = 0; number < statements.statements.size(); ++number) {
    const ScheduledAccess& target = statements.statements[number].target;
    const bool intermediate = statements.tensors[target.tensor].role == TensorRole::intermediate;
    if (!intermediate || (restricted[number] & index_set(target.indices)) == 0) continue;
    Restricted one{target.tensor, {}, {}};
    for (std::uint32_t mode = 0; mode < target.indices.size(); ++mode) {
      (contains(restricted[number], target.indices[mode]) ? one.modes : one.others).push_back(mode);
    }
    found.push_back(std::move(one));
  }
  return found;
}

// Stored between nests: compressed levels in every order of the restricted modes above a dense block of the others, and of
// all modes.
void append_stored(const Restricted& intermediate, Scalar scalar, std::vector<Format>& ways) {
  const auto append = [&](std::vector<std::uint32_t> compressed, const std::vector<std::uint32_t>& block) {
    std::ranges::sort(compressed);
    do {
      ways.push_back(stored_format(compressed, block, scalar));
    } while (std::ranges::next_permutation(compressed).found);
  };
  append(intermediate.modes, intermediate.others);
  if (intermediate.others.empty()) return;
  std::vector<std::uint32_t> all = intermediate.modes;
  all.insert(all.end(), intermediate.others.begin(), intermediate.others.end());
  append(all, {});
}

bool are_few(const std::vector<Restricted>& intermediates, std::size_t most_modes) {
  return intermediates.size() <= most_chosen_alone && std::ranges::all_of(intermediates, [&](const Restricted& one) {
           return one.modes.size() + one.others.size() <= most_modes;
         });
}

}  // namespace

std::vector<Schedule> with_sparse_intermediates(Schedule statements, bool every_order, bool for_dense_results) {
  const ScheduledTensor& result = statements.tensors[statements.statements.back().target.tensor];
  std::vector<Schedule> found;
  if (!for_dense_results && (!has_sparse_level(result.format) || result.like)) {
    found.push_back(std::move(statements));
    return found;
  }
  const std::vector<Restricted> intermediates = restricted_intermediates(statements);
  const std::size_t most_modes = most_ordered_modes + (every_order ? 1 : 0);
  if (!are_few(intermediates, most_modes)) return with_keyed_intermediates(std::move(statements));
  found.push_back(std::move(statements));
  for (const Restricted& intermediate : intermediates) {
    const Format dense = found.front().tensors[intermediate.tensor].format;
    std::vector<Format> ways{keyed_format(dense.order(), dense.scalar)};
    append_stored(intermediate, dense.scalar, ways);
    const std::size_t before = found.size();
    for (const Format& way : ways) {
      for (std::size_t number = 0; number < before; ++number) {
        found.push_back(found[number]);
        found.back().tensors[intermediate.tensor].format = way;
      }
    }
  }
  return found;
}

std::vector<Schedule> with_keyed_intermediates(Schedule statements) {
  std::vector<Schedule> found;
  found.push_back(std::move(statements));
  const std::vector<Restricted> candidates = restricted_intermediates(found.front());
  const std::uint64_t all = (std::uint64_t{1} << std::min<std::size_t>(candidates.size(), 63)) - 1;
  for (std::uint64_t chosen = 1; chosen <= all; ++chosen) {
    if (candidates.size() > most_chosen_alone) chosen = all;
    found.push_back(found.front());
    for (std::size_t number = 0; number < candidates.size(); ++number) {
      if ((chosen >> number & 1) == 0) continue;
      Format& format = found.back().tensors[candidates[number].tensor].format;
      format = format_of_loops(format.order(), format.scalar);
    }
  }
  return found;
}

}  // namespace weft
