#include "engine/plan/space/alternatives.h"

#include <algorithm>
#include <iterator>

#include "engine/plan/schedule/result_format.h"
#include "engine/plan/space/access_paths.h"
#include "engine/plan/space/partial_sums.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

// With every format of the result, and every choice of sparse intermediates on the way to it.
std::vector<Contractions> all_contractions(const Problem& problem, const ContractionTree& tree, std::size_t most) {
  std::vector<Contractions> found;
  for (const std::vector<std::uint32_t>& order : step_orders(tree, most)) {
    for (const ResultFormat& format : result_formats(problem)) {
      Contractions plain = contractions_of(problem.network, tree, order, problem.operands, format);
      std::ranges::move(contraction_variants(std::move(plain), problem, true), std::back_inserter(found));
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
    for (const Contractions& contractions : all_contractions(problem, tree, most)) {
      // Every subset of the occurrences that may be converted.
      const std::uint64_t all = space.converted_in(contractions);
      std::uint64_t converted = 0;
      do {
        for (const double fill_limit : dense_fill_limits) {
          if (choice.alternatives.size() == most) {
            choice.complete = false;
            return choice;
          }
          choice.alternatives.push_back({contractions, space.paths(contractions, {converted, fill_limit})});
          if (converted == 0) break;
        }
        converted = (converted - all) & all;
      } while (converted != 0);
    }
  }
  return choice;
}

double least_conversion_ns(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options, const std::set<TensorId>& without) {
  std::set<TensorId> converted = without;
  double ns = 0;
  for (std::size_t number = 0; number < alternative.paths.size(); ++number) {
    const TensorId tensor = alternative.contractions.tensors[number].tensor;
    if (!alternative.paths[number].converts() || !converted.insert(tensor).second) continue;
    ns += conversion_ns(facts_of(operands, tensor), options.machine);
  }
  return ns / std::max(1.0, options.calls);
}

}  // namespace weft
