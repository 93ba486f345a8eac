// Inlining: an assignment written into the products that read its result.
#pragma once

#include <vector>

#include "engine/network/network.h"

namespace weft {

/// Products of at most so many factors or parenthesised groups become one product without parentheses when an
/// assignment is inlined; of larger ones the inlined product stays a group.
inline constexpr std::size_t most_merged_factors = 6;

/// What becomes of an open product that is written into another product. `merged`: part of it if that is open too and
/// stays small, else a group, in parentheses. `spliced`: part of it in any case, so that nothing has to be stored.
enum class Grouping { merged, spliced };

/// A network that means the same for the results that remain: each factor that reads a dropped result becomes the
/// factors of its product, with the indices of the access; an index that the dropped assignment sums gets a name and
/// number of its own where its own is taken. Coefficients are multiplied. Pinned products stay as groups. Assignments that are dropped and never read vanish. Tensors keep
/// their numbers: a dropped result stays declared, as an operand that nothing reads. Assignments with several terms
/// stay, and so does the last. Indices of a network of several assignments get distinct names ("k_2") where extents
/// differ. The network must pass check; a function of its arguments.
Network inlined(const Network& network, const std::vector<TensorId>& dropped, Grouping grouping = Grouping::merged);

/// How often each tensor stands as a factor, by TensorId.
std::vector<std::size_t> times_read(const Network& network);

}  // namespace weft
