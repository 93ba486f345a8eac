#include "engine/plan/space/alternatives.h"

#include <algorithm>
#include <iterator>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/space/partial_sums.h"
#include "engine/plan/space/trees.h"

namespace weft {

namespace {

// Statements with every format of the result, and every choice of sparse intermediates on the way to it.
std::vector<Schedule> all_statements(const Network& network, const ContractionTree& tree, const std::vector<OperandFacts>& operands,
                                     const PlanOptions& options, std::size_t most) {
  std::vector<Schedule> found;
  for (const std::vector<std::uint32_t>& order : statement_orders(tree, most)) {
    for (const ResultFormat& format : result_formats(Problem{network, operands, options})) {
      std::ranges::move(statement_variants(statements_of(network, tree, order, operands, format), Problem{network, operands, options}, true),
                        std::back_inserter(found));
    }
  }
  return found;
}

// Loop orders and fusion depths, statement by statement.
bool each_nest_from(Schedule& schedule, std::size_t number, const std::function<bool(const Schedule&)>& visit) {
  if (number == schedule.statements.size()) return visit(schedule);
  std::vector<IndexId> loops = members(indices_of(schedule.statements[number]));
  do {
    std::size_t deepest = 0;
    if (number > 0) {
      const std::vector<IndexId>& before = schedule.statements[number - 1].loops;
      const auto differ = std::mismatch(loops.begin(), loops.end(), before.begin(), before.end());
      deepest = static_cast<std::size_t>(differ.first - loops.begin());
    }
    for (std::size_t fused = 0; fused <= deepest; ++fused) {
      schedule.statements[number].loops = loops;
      schedule.statements[number].fused = static_cast<std::uint32_t>(fused);
      if (!each_nest_from(schedule, number + 1, visit)) return false;
    }
  } while (std::next_permutation(loops.begin(), loops.end()));
  return true;
}

}  // namespace

void for_each_nest(Schedule statements, const std::function<bool(const Schedule&)>& visit) {
  each_nest_from(statements, 0, visit);
}

AlternativeChoice all_alternatives(const Problem& problem, std::size_t most) {
  const auto& [network, operands, options] = problem;
  AlternativeChoice choice;
  const TreeChoice trees = choose_trees(problem);
  choice.complete = trees.complete;
  for (const ContractionTree& tree : trees.trees) {
    for (Schedule& statements : all_statements(network, tree, operands, options, most)) {
      Alternative alternative;
      alternative.schedule = std::move(statements);
      std::vector<std::size_t> convertible;
      for (std::size_t number = 0; number < alternative.schedule.tensors.size(); ++number) {
        const ScheduledTensor& tensor = alternative.schedule.tensors[number];
        const bool shared = alternative.schedule.tensors.back().like == number;
        if (tensor.role == TensorRole::operand && !shared && may_be_converted(facts_of(operands, tensor.tensor))) {
          convertible.push_back(number);
        }
      }
      for (std::uint64_t converted = 0; converted < std::uint64_t{1} << std::min<std::size_t>(convertible.size(), 20);
           ++converted) {
        std::vector<std::size_t> chosen;
        for (std::size_t number = 0; number < convertible.size(); ++number) {
          if ((converted >> number & 1) != 0) chosen.push_back(convertible[number]);
        }
        for (const double fill_limit : dense_fill_limits) {
          if (choice.alternatives.size() == most) {
            choice.complete = false;
            return choice;
          }
          alternative.paths.assign(alternative.schedule.tensors.size(), {});
          for (const std::size_t number : chosen) alternative.paths[number] = AccessPath::of_loops(fill_limit);
          choice.alternatives.push_back(alternative);
          if (converted == 0) break;
        }
      }
    }
  }
  return choice;
}

}  // namespace weft
