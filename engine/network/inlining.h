// Inlining: an assignment written into the products that read its result.
#pragma once

#include <vector>

#include "engine/network/network.h"

namespace weft {

/// Products of at most so many factors or parenthesised groups become one product without parentheses when an
/// assignment is inlined; of larger ones the inlined product stays a group.
inline constexpr std::size_t most_merged_factors = 6;

/// A network that means the same for the results that remain: each factor that reads a dropped result becomes the
/// factors of its product, with the indices of the access; an index that the dropped assignment sums gets a name and
/// number of its own where its own is taken. Coefficients are multiplied. An open product becomes part of one that is
/// open, too, and stays small, else it is a group, in parentheses, as pinned products are. Assignments that are dropped
/// and never read vanish. Tensors keep their numbers: a dropped result stays declared, as an operand that nothing reads.
/// Assignments with several terms stay, and so does the last. Indices of a network of several assignments get distinct
/// names ("k_2") where extents differ. The network must pass check; a function of its arguments.
Network inlined(const Network& network, const std::vector<TensorId>& dropped);

/// Those of `dropped` that have to be stored for parentheses to mean what they say, for inlined() would move their sums:
/// y = S(i) in (y * U(j)), where no group says that S is summed first, and y(i) = A(i) * B(i) in (y(i) * U(j)), whose
/// group sums i before U is met; and y(j) = (T(i) * (U(i) * V(j))) in z = y(j), whose group sums j before T is met.
/// Where all is finite that is the same.
std::vector<TensorId> summed_in_parentheses(const Network& network, const std::vector<TensorId>& dropped);

/// How often each tensor stands as a factor, by TensorId.
std::vector<std::size_t> times_read(const Network& network);

}  // namespace weft
