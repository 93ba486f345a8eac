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
  std::size_t statement = 0;
  std::size_t factor = 0;
  IndexSet kept = 0;
};

// Operands with indices of their own. One that is alone in its statement is not co-iterated.
std::vector<Sum> possible_sums(const Schedule& schedule) {
  std::vector<Sum> found;
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (std::size_t factor = 0; factor < statement.factors.size() && statement.factors.size() > 1; ++factor) {
      const ScheduledAccess& access = statement.factors[factor];
      if (schedule.tensors[access.tensor].role != TensorRole::operand) continue;
      IndexSet others = index_set(statement.target.indices);
      for (std::size_t other = 0; other < statement.factors.size(); ++other) {
        if (other != factor) others |= index_set(statement.factors[other].indices);
      }
      const IndexSet own = index_set(access.indices);
      if ((own & ~others) != 0) found.push_back({number, factor, own & others});
    }
  }
  return found;
}

Scalar widest(const Schedule& schedule) {
  const bool wide = std::ranges::any_of(schedule.tensors, [](const ScheduledTensor& tensor) {
    return tensor.format.scalar == Scalar::f64;
  });
  return wide ? Scalar::f64 : Scalar::f32;
}

// Before statement number `place`; the result stays the last tensor.
void insert(Schedule& schedule, const Network& network, const Sum& sum, std::size_t reader, std::size_t place) {
  const auto made = static_cast<std::uint32_t>(schedule.tensors.size() - 1);
  const std::vector<IndexId> modes = members(sum.kept);
  ScheduledTensor tensor{intermediate_name(network, schedule.tensors), TensorRole::intermediate, 0, modes,
                         dense_format(modes.size(), widest(schedule)), false};
  schedule.tensors.insert(schedule.tensors.begin() + made, std::move(tensor));
  for (ScheduledStatement& statement : schedule.statements) {
    if (statement.target.tensor >= made) ++statement.target.tensor;
  }
  ScheduledStatement summing;
  summing.target = {made, modes};
  summing.factors = {schedule.statements[reader].factors[sum.factor]};
  schedule.statements[reader].factors[sum.factor] = {made, modes};
  schedule.statements.insert(schedule.statements.begin() + static_cast<std::ptrdiff_t>(place), std::move(summing));
}

Schedule summed(Schedule schedule, const Network& network, const std::vector<Sum>& sums, std::uint64_t chosen, bool first) {
  std::size_t inserted = 0;
  for (std::size_t number = 0; number < sums.size(); ++number) {
    if ((chosen >> number & 1) == 0) continue;
    const std::size_t reader = sums[number].statement + inserted;
    insert(schedule, network, sums[number], reader, first ? inserted : reader);
    ++inserted;
  }
  return schedule;
}

}  // namespace

std::vector<Schedule> with_partial_sums(Schedule statements, const Network& network, const PlanOptions& options) {
  const bool given = options.tree.has_value() || !network.assignments.front().terms.front().open;
  const std::vector<Sum> sums = given || options.strict_fp ? std::vector<Sum>() : possible_sums(statements);
  std::vector<Schedule> found;
  found.push_back(std::move(statements));
  if (sums.empty() || sums.size() > 63) return found;
  const std::uint64_t all = (std::uint64_t{1} << sums.size()) - 1;
  const auto choose = [&](std::uint64_t chosen) {
    found.push_back(summed(found.front(), network, sums, chosen, false));
    const bool later = std::ranges::any_of(sums, [&](const Sum& sum) {
      return sum.statement > 0 && (chosen >> (&sum - sums.data()) & 1) != 0;
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

std::vector<Schedule> statement_variants(Schedule statements, const Problem& problem, bool every_order, bool unfused) {
  const auto& [network, operands, options] = problem;
  std::vector<Schedule> found;
  for (Schedule& one : with_partial_sums(std::move(statements), network, options)) {
    const bool for_dense_results = unfused || annihilates_any(one, operands);
    std::ranges::move(with_sparse_intermediates(std::move(one), every_order, for_dense_results), std::back_inserter(found));
  }
  return found;
}

}  // namespace weft
