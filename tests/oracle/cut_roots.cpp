#include "engine/plan/schedule/check.h"
#include "oracle/cut_roots.h"

namespace weft::test {

Schedule with_cut_roots(Schedule schedule, const BuiltNetwork& built, const PlanOptions& options) {
  for (RootReduction& root : schedule.roots) {
    const RootReduction planned = root;
    for (const RootReduction reduction : {RootReduction::private_copies, RootReduction::owner, planned}) {
      root = reduction;
      if (check(schedule, Problem{built.network, built.facts, options})) break;
    }
  }
  return schedule;
}

Schedule with_counted_roots(Schedule schedule, const BuiltNetwork& built, const PlanOptions& options) {
  for (RootReduction& root : schedule.roots) {
    const RootReduction planned = root;
    root = RootReduction::counted;
    if (!check(schedule, Problem{built.network, built.facts, options})) root = planned;
  }
  return schedule;
}

}  // namespace weft::test
