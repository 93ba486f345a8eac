#include "engine/plan/space/alternatives.h"

#include <algorithm>
#include <iterator>

#include "engine/plan/schedule/result_format.h"
#include "engine/plan/space/access_paths.h"
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
      Schedule statements = statements_of(network, tree, order, operands, format);
      std::ranges::move(statement_variants(std::move(statements), Problem{network, operands, options}, true), std::back_inserter(found));
    }
  }
  return found;
}

}  // namespace

AlternativeChoice all_alternatives(const Problem& problem, std::size_t most) {
  AlternativeChoice choice;
  const TreeChoice trees = choose_trees(problem);
  choice.complete = trees.complete;
  const PathSpace space(problem);
  for (const ContractionTree& tree : trees.trees) {
    for (const Schedule& statements : all_statements(problem.network, tree, problem.operands, problem.options, most)) {
      // Every subset of the occurrences that may be converted.
      const std::uint64_t all = space.converted_in(statements);
      std::uint64_t converted = 0;
      do {
        for (const double fill_limit : dense_fill_limits) {
          if (choice.alternatives.size() == most) {
            choice.complete = false;
            return choice;
          }
          choice.alternatives.push_back({statements, space.paths(statements, {converted, fill_limit})});
          if (converted == 0) break;
        }
        converted = (converted - all) & all;
      } while (converted != 0);
    }
  }
  return choice;
}

}  // namespace weft
