// Workspaces with a key: what filling and draining one takes, and which kind is the cheapest.
#pragma once

#include "engine/plan/machine.h"
#include "weft/format.h"

namespace weft {

/// Of one filling: expected figures.
struct KeyedWorkspace {
  double keys = 1;       ///< combinations of coordinates of the key
  double entries = 0;    ///< distinct ones that are touched
  double inserts = 0;    ///< accumulations
  double block = 1;      ///< values per entry
  double scalar_bytes = 8;
  double fillings = 1;   ///< in a run, by all threads
  double runs = 1;       ///< with the same memory
  bool one_mode = true;  ///< else no bitmap, and keys are made of several coordinates
  bool ordered = true;   ///< drained in order
};

struct KeyedPrice {
  LevelKind kind = LevelKind::accumulator;
  double ns = 0;     ///< resetting, filling and draining it once
  double bytes = 0;  ///< of one thread
};

KeyedPrice keyed_price(const Machine& machine, const KeyedWorkspace& workspace, LevelKind kind);

/// The cheapest of accumulator, bitmap and hash table.
KeyedPrice cheapest_keyed(const Machine& machine, const KeyedWorkspace& workspace);

}  // namespace weft
