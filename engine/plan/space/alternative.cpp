#include "engine/plan/space/alternative.h"

#include <algorithm>

namespace weft {

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
