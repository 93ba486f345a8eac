// A bound on what an alternative takes, before anything is decided about its loops.
#include <algorithm>
#include <bit>
#include <limits>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/estimate/joins.h"

namespace weft {
namespace {

constexpr double rounding = 0.95;  // statistics are rounded, so that densities do not fall with every index that is bound

}  // namespace

// Every statement runs its innermost loop, whichever that is, once per combination of its other indices: at least those
// that the sparse factors of all statements let through, for others may have shared the loops outside, and filtered them.
// A loop that another statement may share has no price of its own, only a body; nor has one where joins were counted, whose
// steps depend on what shares the loops outside. Times of nests are concave in their work,
// so that all of it in one nest takes no longer.
double CostModel::least_ns() const {
  const double least_ratio = least_joined(options_);
  const auto entries = [&](IndexSet bound) {
    double count = combinations(bound) * least_ratio;
    for (const Placed& statement : statements_) {
      if (statement.model->leaves_out) count *= std::min(1.0, models_->density(statement.number, bound));
    }
    return count;
  };
  double work = 0;
  double between = 0;  // storing intermediates there, and starting the nests that read them
  bool any_loops = false;
  for (std::size_t number = 0; number < statements_.size(); ++number) {
    const StatementRange alone{number, number};
    const IndexSet own = indices(number);
    const auto within = [&](std::size_t other) { return other < statements_.size() && (own & ~indices(other)) == 0; };
    if (!statements_[number].model->compressed.empty()) between += workspace(number, 0).ns + options_.machine.start_serial;
    if (own == 0) continue;
    any_loops = true;
    if (joined() || within(number - 1) || within(number + 1)) {
      work += entries(own) * statements_[number].model->least_body_ns;
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (IndexSet open = own; open != 0; open &= open - 1) {
      const auto index = static_cast<IndexId>(std::countr_zero(open));
      const IndexSet outside = own & ~one_index(index);
      const double times = entries(outside);
      double ns = price(outside, index, alone, 0).ns;
      const bool appends = result_ != nullptr && number + 1 == statements_.size();
      if (appends) ns = std::min(ns, price({outside, true}, index, alone, 0).ns);
      const StatementModels::Statement& model = *statements_[number].model;
      for (const Batch batch : {model.last_batch(index), model.column != 0 ? Batch::product : Batch::none}) {
        if (batch == Batch::none) continue;
        Outside waiting{outside};
        waiting.batch = batch;
        waiting.batched = static_cast<std::uint32_t>(number);
        ns = std::min(ns, price(waiting, index, alone, 0).ns);
      }
      least = std::min(least, times > 0 ? times * ns : 0);
    }
    work += least;
  }
  if (!any_loops) return 0;
  const Machine& machine = options_.machine;
  return between + rounding * std::min(work + machine.start_serial, work / machine.threads + machine.start_parallel);
}

}  // namespace weft
