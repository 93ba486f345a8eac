// Outputs that a kernel may begin itself: every element belongs to one coordinate of the root loop, whose iterations come in order, so that
// their memory need not be cleared before. Pure functions of the Program, without LLVM: the Signature depends on them too.
//
// A result larger than the caches is then written once where it was written, read and written: TTMc into 14541 x 32 x 32, 119 MB.
// Likewise results at the positions of an operand whose entries are all visited, each once, and dense ones whose elements are, below a root
// loop over any of their modes: their values are stored, not added to zeros. R(n,j,i) below j, 8 x 202 x 974: 1.65 -> 1.39 ms.
#pragma once

#include <vector>

#include "engine/loop/program.h"

namespace weft {

struct BegunOutput {
  loop::StorageId storage = 0;
  /// An iteration writes each of its elements once, so that products are stored; else it begins with zeros.
  bool whole = false;
  /// An iteration begins the elements below one coordinate of the first mode, which lie side by side.
  bool rows = false;
  bool operator==(const BegunOutput&) const = default;
};

/// In the order of their ids.
std::vector<BegunOutput> begun_outputs(const loop::Program& program);

/// Whether the root loop of a program that begins outputs may leave coordinates out.
bool leaves_rows_out(const loop::Program& program);

}  // namespace weft
