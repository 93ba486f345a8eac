// What a compiled network tells of itself.
#include "engine/compiled_state.h"

namespace weft {

std::string_view word(KernelOrigin origin) {
  switch (origin) {
    case KernelOrigin::memory: return "memory";
    case KernelOrigin::disk: return "disk";
    case KernelOrigin::compiled: break;
  }
  return "compiled";
}

const Network& CompiledNetwork::network() const { return state_->given; }
const Plan& CompiledNetwork::plan() const { return state_->plan; }
const std::vector<CompiledNest>& CompiledNetwork::nests() const { return state_->nests; }
Specialization CompiledNetwork::grade() const { return state_->grade; }
std::vector<std::string> CompiledNetwork::finite_operands() const {
  std::vector<std::string> names;
  for (std::size_t number = 0; number < state_->finite.size(); ++number) {
    if (state_->finite[number]) names.push_back(state_->given.tensors[state_->plan.schedule.tensors[number].tensor].name);
  }
  return names;
}
const CompilePhases& CompiledNetwork::phases() const { return state_->phases; }

}  // namespace weft
