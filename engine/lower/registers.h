// Rows that several loops add to are kept in registers: workspaces the schedule does not speak of.
#pragma once

#include "engine/lower/nest.h"

namespace weft {

/// Where a statement adds a vector over r to a target under loops that the target does not have, as in
/// `for i: for k: for r: C[i,r] += A * B`, the row is summed in a workspace of constant extent, which code generation
/// keeps in registers: `for i: with c[r]: { for k: for r: c += A * B; for r: C += c }`. The root loop stays outermost.
/// Only while all such rows of the nest fit into the registers together.
Nest with_register_rows(Nest nest, const Network& network);

/// Where a vector loop sums into one entry at the positions of an operand, as the one over r in S[i,j] += M[i,j] * A[i,r] * B[j,r], the
/// sum is one of registers, which the entry gets as a whole: `for j: with s: { for r: s += M * A * B; S += s }`. Entries that are visited
/// once are then stored, and need not be cleared before (codegen/begun.h).
Nest with_register_sums(Nest nest);

/// As with_register_rows, whatever the extents: rows of which code generation keeps a window in registers. Tiles and sums of whole
/// vectors need extents.
Nest with_windowed_rows(Nest nest);

}  // namespace weft
