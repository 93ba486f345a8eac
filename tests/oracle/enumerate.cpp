#include "tests/oracle/enumerate.h"

#include <algorithm>
#include <iterator>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/space/alternatives.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

// Loop orders and fusion depths, statement by statement.
bool each_nest_from(const Contractions& contractions, LoopNests& nests, const std::function<bool(const LoopNests&)>& visit) {
  const std::size_t number = nests.loops.size();
  if (number == contractions.steps.size()) return visit(nests);
  std::vector<IndexId> loops = members(indices_of(contractions.steps[number]));
  do {
    std::size_t deepest = 0;
    if (number > 0) {
      const std::vector<IndexId>& before = nests.loops[number - 1];
      const auto differ = std::mismatch(loops.begin(), loops.end(), before.begin(), before.end());
      deepest = static_cast<std::size_t>(differ.first - loops.begin());
    }
    for (std::size_t fused = 0; fused <= deepest; ++fused) {
      nests.loops.push_back(loops);
      nests.fused.push_back(static_cast<std::uint32_t>(fused));
      const bool more = each_nest_from(contractions, nests, visit);
      nests.loops.pop_back();
      nests.fused.pop_back();
      if (!more) return false;
    }
  } while (std::next_permutation(loops.begin(), loops.end()));
  return true;
}

class Enumeration {
 public:
  Enumeration(const Problem& problem, std::size_t limit)
      : network_(problem.network), operands_(problem.operands), options_(problem.options), limit_(limit) {}

  std::vector<Schedule> run() {
    const Term& term = network_.assignments[0].terms[0];
    std::vector<std::uint32_t> convertible;
    for (std::uint32_t factor = 0; factor < term.factors.size(); ++factor) {
      if (may_be_converted(facts_of(operands_, term.factors[factor].tensor))) convertible.push_back(factor);
    }
    const std::vector<ResultFormat> formats = result_formats(Problem{network_, operands_, options_});
    for (const ContractionTree& tree : choose_trees(Problem{network_, operands_, options_}).trees) {
      for (const std::vector<std::uint32_t>& order : step_orders(tree, limit_)) {
        for (std::uint64_t converted = 0; converted < std::uint64_t{1} << convertible.size(); ++converted) {
          std::vector<Contractions> variants;
          for (const ResultFormat& format : formats) {
            Contractions plain = contractions_of(network_, tree, order, operands_, format);
            std::ranges::move(contraction_variants(std::move(plain), Problem{network_, operands_, options_}, true),
                              std::back_inserter(variants));
          }
          for (const Contractions& contractions : variants) {
            for (const double fill_limit : dense_fill_limits) {
              AccessPaths paths(contractions.tensors.size());
              for (std::size_t number = 0; number < convertible.size(); ++number) {
                const bool chosen = (converted >> number & 1) != 0 && contractions.tensors.back().like != convertible[number];
                if (chosen) paths[convertible[number]] = AccessPath::of_loops(fill_limit);
              }
              append(contractions, CostModel(contractions, Problem{network_, operands_, options_}, paths), paths);
              if (schedules_.size() == limit_) return std::move(schedules_);
              if (converted == 0) break;
            }
          }
        }
      }
    }
    return std::move(schedules_);
  }

 private:
  // As long as there are fewer than the limit.
  void append(const Contractions& contractions, const CostModel& model, const AccessPaths& paths) {
    for_each_nest(contractions, [&](const LoopNests& nests) {
      Schedule completed = complete(contractions, nests, network_, model, paths, operands_);
      if (check(completed, Problem{network_, operands_, options_})) schedules_.push_back(std::move(completed));
      return schedules_.size() < limit_;
    });
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  std::size_t limit_;
  std::vector<Schedule> schedules_;
};

}  // namespace

void for_each_nest(const Contractions& contractions, const std::function<bool(const LoopNests&)>& visit) {
  LoopNests nests;
  each_nest_from(contractions, nests, visit);
}

std::vector<Schedule> enumerate_schedules(const Problem& problem, std::size_t limit) {
  const auto& [network, operands, options] = problem;
  if (!check_plannable(Problem{network, operands, options})) return {};
  return Enumeration(Problem{network, operands, options}, limit).run();
}

}  // namespace weft
