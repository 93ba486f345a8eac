#include "engine/loop/rules.h"

namespace weft::loop {

Expected<void> verify(const Program& program) {
  // Later rules may take for granted what earlier ones checked.
  constexpr Expected<void> (*rules[])(const Program&) = {
      check_definitions, check_binding,   check_facts, check_like,         check_capability, check_completeness,
      check_life_cycle, check_reset, check_append_order, check_unordered,  check_finger,
      check_parallel,   check_vector, check_flat,        check_batch,      check_coverage,
      check_presence,   check_built};
  for (const auto rule : rules)
    if (Expected<void> checked = rule(program); !checked) return checked;
  return {};
}

}  // namespace weft::loop
