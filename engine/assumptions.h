// What a kernel assumes of the tensors it is bound to, checked on these very tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/compiled_state.h"
#include "weft/tensor.h"

namespace weft {

/// Operands of other extents than the network has, and how the first of them differs.
struct OtherExtents {
  std::map<TensorId, std::vector<std::uint64_t>> extents;
  std::string why;
};
/// Input error for an operand of another order.
Expected<OtherExtents> other_extents(const Network& network, const std::map<std::string, Tensor>& operands);

/// A fact of a nest that does not hold for `tensors` (by position in Schedule::tensors), or values that are not finite, of those of
/// which it matters (CompiledNetwork::State::finite; all beside an operand of BoundNetwork::State::other_entries, as its absent entries
/// annihilate NaN and stored zeros do not) and that the host did not vouch for. Facts about extents are about the
/// network, and that a result has the positions of an operand is so by how results are made. Only tensors that were replaced are looked at.
std::optional<std::string> broken_assumption(const std::vector<CompiledNest>& nests, const Network& network, const Schedule& schedule,
                                             const std::vector<bool>& finite, const std::vector<bool>& other_entries,
                                             const std::vector<Tensor>& tensors, const Threads& threads, const Replaced& replaced,
                                             const std::set<std::string>& assume_finite);

/// An operand in another format than a kernel was made for, which may have other entries as the kernel reads it, beside values that are not
/// finite. Formats that list their entries hold the same ones.
std::optional<std::string> changed_entries(const Network& network, const std::map<std::string, Format>& made_for,
                                           const std::map<std::string, Tensor>& operands, const Threads& threads,
                                           const std::set<std::string>& assume_finite);

/// A tensor that is stored in other kinds of levels, or with other index widths, than the nest reads, and which. Of what is not
/// an operand this is a mistake of weft's: nothing else can be done about it.
std::optional<std::string> other_widths(const LoweredNest& nest, const Schedule& schedule, const std::vector<Tensor>& tensors,
                                        bool operands_only);

}  // namespace weft
