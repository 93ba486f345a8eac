// Text to ParsedExpression: what the text says, before the operands are known.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/network/contraction_tree.h"
#include "engine/text/span.h"
#include "weft/error.h"

namespace weft {

/// Most factors a term may have.
inline constexpr std::size_t most_factors = 16;
/// Highest order of a tensor: sets of modes are 32-bit words (weft/statistics.h).
inline constexpr std::size_t highest_order = 32;

struct ParsedIndex {
  std::string name;
  Span span;
  bool operator==(const ParsedIndex&) const = default;
};

/// A tensor with its indices as written. Order 0: no indices ("s" and "s()" are the same).
struct ParsedAccess {
  std::string name;  ///< empty for an operand of einsum, whose name comes with the operand
  std::vector<ParsedIndex> indices;
  Span span;   ///< name and brackets; of einsum the letters
  Span named;  ///< where the name stands: behind an einsum with names; its letters where it has none
  bool operator==(const ParsedAccess&) const = default;
};

/// Signs and numbers multiplied into one coefficient; factors in the order of the text, whose positions are the leaves
/// of `pinned`. `open` as in Term (engine/network/network.h).
struct ParsedTerm {
  double coefficient = 1;
  std::vector<ParsedAccess> factors;
  ContractionTree pinned;
  bool open = true;
  Span span;
  bool operator==(const ParsedTerm&) const = default;
};

struct ParsedAssignment {
  ParsedAccess result;
  std::vector<ParsedTerm> terms;
  Span span;
  bool operator==(const ParsedAssignment&) const = default;
};

/// `einsum`: operands have no names yet. One with names reads them, as index notation does.
enum class Notation { index, einsum };

struct ParsedExpression {
  std::string text;  ///< what the spans refer to
  Notation notation = Notation::index;
  std::vector<ParsedAssignment> assignments;  ///< at least one; exactly one for einsum, with names or without
  bool operator==(const ParsedExpression&) const = default;
};

/// Whether an operand of this name is given.
using IsGiven = std::function<bool(std::string_view)>;

/// Parses either notation: index notation "A(i,r) = T(i,j,k) * B(j,r)", several assignments separated by ';' or new
/// lines, or einsum "ijk,jr->ir" (a text without '=' that has no brackets or has "->"). The result of einsum is named
/// "out"; without "->" it has the letters that occur once, in ASCII order (numpy's rule). Einsum with names,
/// "X = ijk,jr->ir T B", "ijk,jr->ir T B", "X = ijk,jr->ir": see frontend/named_einsum.h, also for `is_given`.
/// Input errors name the place and carry a picture. Unsupported: sums of terms, "...", more than `most_factors` factors
/// or `highest_order` indices, parentheses nested deeper than `deepest_nesting`. Pure; any thread.
Expected<ParsedExpression> parse_expression(std::string_view text, const IsGiven& is_given = {});

}  // namespace weft
