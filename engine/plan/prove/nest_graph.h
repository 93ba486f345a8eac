// The choices of the interval program as a graph: what may still be cheaper than a bound.
//
// A state says that statements first … last share the loops over a set of indices and are entered so many times; an
// option binds a next index for first … end, which opens the states (bound + index, first, end) and (bound, end + 1,
// last). A nest forest is a choice of one option for every state that is opened, and its time is the sum of the times of
// its options: entries are part of the state, because loops further out may be filtered by statements that are no longer
// there. Only options on whose cheapest completion, by the interval program, the whole stays below the bound are kept
// (bound-based set fixing, planning.md section 5).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/search/interval_program.h"

namespace weft {

struct NestGraph {
  struct State : NestState {
    double entries = 1;  ///< over the run, times the share of a nest that the slowest thread has
    std::vector<std::uint32_t> options;
  };
  struct Option {
    std::uint32_t state = 0;
    IndexId index = 0;
    std::uint32_t end = 0;  ///< last statement of the group
    bool body = false;      ///< statement `first` needs no further loop
    RootReduction reduction = RootReduction::serial;  ///< of a root loop
    double ns = 0;          ///< over the run
    std::optional<std::uint32_t> inside;  ///< state below the loop; none if nothing is left to bind there
    std::optional<std::uint32_t> after;   ///< state of the statements behind the group
  };
  std::vector<State> states;  ///< the first is the root; empty if nothing stays below the bound
  std::vector<Option> options;
  double least = 0;      ///< no forest takes less
  bool complete = true;  ///< all options were looked at: else there were more than `most`
};

/// Options of all forests that take less than `below` nanoseconds, conversions not counted.
NestGraph nest_graph(const CostModel& model, IntervalProgram& program, double below, std::size_t most);

}  // namespace weft
