// lower(): from a Schedule to the list of loop Programs it stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/loop/program.h"
#include "engine/lower/caches.h"
#include "engine/plan/schedule/schedule.h"
#include "runtime/adjacency.h"
#include "weft/specialization.h"

namespace weft {

/// Which loop of the schedule a loop of a program is: loop `depth` of the statement, or of one that shares it.
struct LoopOrigin {
  std::uint32_t statement = ~0u;  ///< ~0u: lowering added the loop
  std::uint32_t depth = 0;
  bool operator==(const LoopOrigin&) const = default;
};

/// One root loop nest. Its inputs and outputs are tensors of the schedule: operands (converted where the schedule says
/// so), intermediates that live between nests (dense, over all their modes), or the result.
struct LoweredNest {
  loop::Program program;
  std::vector<std::uint32_t> tensors;  ///< per storage of the program: position in Schedule::tensors; workspaces: ~0u
  std::vector<IndexId> indices;        ///< per index of the program: of the network
  std::vector<double> coefficients;    ///< words c0, c1, …
  /// Per word: the result (position in Schedule::tensors) into which the product goes that it stands before; ~0u: none.
  std::vector<std::uint32_t> scaled = {};
  std::vector<LoopOrigin> loops;       ///< per loop of the program, in the order of its text
};

/// What programs may know beside the formats.
struct LoweringFacts {
  Specialization grade = Specialization::profiled;  ///< automatic means profiled
  std::vector<std::vector<bool>> full;  ///< by tensor of the schedule and level; empty: not known to be full
  struct Fiber {
    std::uint64_t maximum = 0;  ///< entries of a fiber; 0: many
    bool exact = false;         ///< of every fiber
  };
  std::vector<std::vector<Fiber>> fibers;  ///< by tensor of the schedule and level: those that are short
  /// By tensor of the schedule and level: mean number of entries with equal coordinates up to there; 0 or empty: not known.
  std::vector<std::vector<double>> runs = {};
  /// The same of entries of a fiber, empty fibers left out.
  std::vector<std::vector<double>> means = {};
  /// By tensor of the schedule: width of the places that its values are read through (loop::Storage::place_bits); 0 or empty: none.
  std::vector<std::uint8_t> place_bits = {};
  /// By tensor of the schedule: how coordinates of the last level follow each other (loop::AdjacentFact); empty: none do.
  std::vector<Adjacency> adjacent = {};
  std::vector<std::optional<std::uint64_t>> patterns;  ///< by tensor of the schedule: digests of what may be baked in
  /// Results, by name, whose sums have a coefficient word, 1 or not, so that runs may scale them; and dense results whose
  /// elements need not lie side by side but along the last level: the other levels have strides.
  std::set<std::string> scaled = {};
  std::set<std::string> strided = {};
  CacheBytes caches = {};
};

/// Nests in the order they run. `finite` tells per schedule tensor whether it is known to hold no NaN or Inf (becomes
/// a fact). The schedule must have passed check().
Expected<std::vector<LoweredNest>> lower(const Schedule& schedule, const Network& network,
                                         const std::vector<bool>& finite, const LoweringFacts& more = {});

}  // namespace weft
