// Drains of hashed workspaces into results, by one call.
#pragma once

#include "engine/codegen/generate.h"

namespace weft {

/// Loops over the modes of a key, directly inside each other, that append what a hashed workspace holds to the last levels of an output
/// and do nothing else: `for l: drive w(sort), append A { for m: drive w, append A { A += w } }`.
struct Generator::Drain {
  loop::AccessId workspace = 0;
  loop::Step appends;  ///< of the first mode
};

}  // namespace weft
