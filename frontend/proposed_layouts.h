// Layouts that are proposed for operands whose formats no user has pinned: blocks, strips of diagonals and slices of rows, where they are
// full; dense vectors; the levels of sparse results, and those that the loops of a plan ask for. Which of them are taken is a joint
// choice (joint_layouts.h).
#pragma once

#include <string>
#include <vector>

#include "frontend/preparation.h"

namespace weft {

/// An operand otherwise than it is given: "blocks of 3 by 3, some 98 % full".
struct ProposedLayout {
  Format format;
  std::string words;
  double conversion_ns = 0;  ///< a call's part of it, as conversions are priced
  /// It is taken where it costs no more than this part of what else there is: prices may be off, more so where much of what is stored is no
  /// entry.
  double worth = 1;
};

struct ProposedLayouts {
  std::string operand;
  std::vector<ProposedLayout> layouts;  ///< those that have been preferred longest first
};

/// A request that is planned with its tensors as they stand. Refers to its parts.
struct PlannedRequest {
  const EngineOptions& engine;
  const Machine& machine;
  const NamedFacts& operands;
  const EvaluateOptions& options;
  const Prepared& prepared;
};

/// Whether a place of an operand without an entry adds nothing to any result of a plan: they are dense, and zeros meet finite values alone.
bool may_have_places(const Prepared& prepared, const NamedFacts& operands, const std::string& name, const Threads& threads);

/// The levels of a sparse result that could share them. Of matrices blocks of which three quarters are full, at most two sizes, strips of
/// diagonals and slices of eight rows, of vectors a place for every coordinate. None for calls that are over before layouts are looked at;
/// and none with places without an entry where a result, or something between, is stored sparse, or where another operand is not finite:
/// they would change results.
Expected<std::vector<ProposedLayouts>> proposed_layouts(const PlannedRequest& request);

}  // namespace weft
