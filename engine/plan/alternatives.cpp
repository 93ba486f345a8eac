#include "engine/plan/alternatives.h"

#include <algorithm>
#include <iterator>

#include "engine/plan/binding.h"
#include "engine/plan/result_format.h"
#include "engine/plan/sparse_intermediates.h"
#include "engine/plan/trees.h"

namespace weft {

namespace {

// Statements with every format of the result, and every choice of sparse intermediates on the way to it.
std::vector<Schedule> all_statements(const Network& network, const ContractionTree& tree, const std::vector<OperandFacts>& operands,
                                     const PlanOptions& options, std::size_t most) {
  std::vector<Schedule> found;
  for (const std::vector<std::uint32_t>& order : statement_orders(tree, most)) {
    for (const ResultFormat& format : result_formats(network, operands, options)) {
      std::ranges::move(with_sparse_intermediates(statements_of(network, tree, order, operands, format), true), std::back_inserter(found));
    }
  }
  return found;
}

}  // namespace

AlternativeChoice all_alternatives(const Network& network, const std::vector<OperandFacts>& operands,
                                   const PlanOptions& options, std::size_t most) {
  AlternativeChoice choice;
  const TreeChoice trees = choose_trees(network, operands, options);
  choice.complete = trees.complete;
  for (const ContractionTree& tree : trees.trees) {
    for (Schedule& statements : all_statements(network, tree, operands, options, most)) {
      Alternative alternative;
      alternative.schedule = std::move(statements);
      alternative.free.assign(alternative.schedule.tensors.size(), false);
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
        for (std::size_t number = 0; number < convertible.size(); ++number) {
          alternative.free[convertible[number]] = (converted >> number & 1) != 0;
        }
        for (const double room : dense_rooms) {
          if (choice.alternatives.size() == most) {
            choice.complete = false;
            return choice;
          }
          alternative.room = room;
          choice.alternatives.push_back(alternative);
          if (converted == 0) break;
        }
      }
    }
  }
  return choice;
}

}  // namespace weft
