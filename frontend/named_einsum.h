// Einsum with names, "X = ij,j->i A x": where in a text they stand.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/text/span.h"
#include "frontend/parse.h"

namespace weft {

struct NamedEinsum {
  std::optional<Span> target;  ///< the name of the result; without it that is "out"
  Span einsum;
  std::vector<Span> operands;  ///< names of all operands, or none; an operand may stand twice
};

/// "X = ij,j->i A x", where names of operands may be left out (they come with the operands then), and "X =" too if there are names.
/// Nothing if the text is no such thing: index notation, or einsum without names. The last words are names where such operands are given,
/// or where they have letters that no operand has as an index: in "ab,bc->ac a b" those are names if a and b are given, in
/// "ij,jk -> i k" letters of the result if they are not, and in "ij,jk->ik A B" names in any case.
std::optional<NamedEinsum> named_einsum(std::string_view text, const IsGiven& is_given);

}  // namespace weft
