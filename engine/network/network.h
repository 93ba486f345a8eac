// Network: a list of assignments, each a result and terms, each a coefficient times a product of factors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/network/contraction_tree.h"
#include "engine/network/index_part.h"
#include "engine/network/mode_sum.h"
#include "weft/error.h"
#include "weft/format.h"

namespace weft {

using IndexId = std::uint32_t;   ///< position in Network::indices
using TensorId = std::uint32_t;  ///< position in Network::tensors

struct Index {
  std::string name;
  std::uint64_t extent = 0;
  bool operator==(const Index&) const = default;
};

/// A named tensor: an operand, or the result of an assignment. One with parts is located through its layout, under loops over the
/// indices that it has parts or sums of: B(i/4,j/4,i%4,j%4) is accessed as B(i,j,i,j), B(j-i+6,i) as B(j,i).
struct TensorDeclaration {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< by mode
  Scalar scalar = Scalar::f64;
  bool is_result = false;
  std::vector<IndexPart> parts = {};  ///< of an operand, by mode; empty: whole indices
  std::vector<ModeSum> sums = {};     ///< likewise; a mode with a sum has no part
  std::uint64_t falling = 0;  ///< bit m: coordinates of mode m fall in a fiber, which is gone over from its last entry on
  std::uint64_t unordered = 0;  ///< likewise: they come in no order, so that it is located, at the whole index too, by a look at each
  bool operator==(const TensorDeclaration&) const = default;

  bool is_sum(std::size_t mode) const { return mode < sums.size() && !sums[mode].is_whole(); }
  /// Whether it leaves out what lies beyond the range of a sum: B(i,j-i+6) has no place left of a band.
  bool has_sums() const { return std::ranges::any_of(sums, [](const ModeSum& sum) { return !sum.is_whole(); }); }
  bool is_cover(std::size_t mode) const { return mode < sums.size() && sums[mode].cover.has_value(); }
  bool falls(std::size_t mode) const { return mode < 64 && (falling >> mode & 1) != 0; }
  bool is_unordered(std::size_t mode) const { return mode < 64 && (unordered >> mode & 1) != 0; }
  bool is_located(std::size_t mode) const {
    return is_sum(mode) || (mode < parts.size() && !parts[mode].is_whole()) || is_unordered(mode);
  }
  /// What stands behind a mode in text: " desc".
  const char* order_text(std::size_t mode) const { return falls(mode) ? " desc" : is_unordered(mode) ? " unordered" : ""; }
};

/// A tensor with the index of each of its modes. An index may repeat (a diagonal) except in a result.
struct TensorAccess {
  TensorId tensor = 0;
  std::vector<IndexId> indices;
  bool operator==(const TensorAccess&) const = default;
};

/// coefficient * product of the factors, summed over every index that is not in the result.
struct Term {
  double coefficient = 1;
  std::vector<TensorAccess> factors;  ///< in the order of the text; leaf f of the tree is factors[f]
  ContractionTree pinned;             ///< what the text's parentheses say
  /// The root of `pinned` is a free product: the planner may refine that node, and sum a factor of it first over what only that
  /// one has. False for "(A * B * C)", and for a root of two children where anything is in parentheses: "(A * B)", "(T * C) * B".
  bool open = true;
  bool operator==(const Term&) const = default;
};

struct Assignment {
  TensorAccess result;
  std::vector<Term> terms;
  bool operator==(const Assignment&) const = default;
};

struct Network {
  // Compiled once, in network.cpp, and not in every file that copies one.
  Network();
  Network(const Network&);
  Network(Network&&) noexcept;
  Network& operator=(const Network&);
  Network& operator=(Network&&) noexcept;
  ~Network();

  std::vector<Index> indices;
  std::vector<TensorDeclaration> tensors;
  std::vector<Assignment> assignments;
  bool operator==(const Network&) const = default;
};

/// What a mode of an access is of indices: "j", "j/4%2", "j-i+6".
std::string located_text(const Network& network, const TensorAccess& access, std::size_t mode);
/// The same with the names of the indices by mode.
std::string located_text(const TensorDeclaration& tensor, std::size_t mode, const std::function<std::string(std::size_t)>& name);

/// Checks what the types cannot: ids in range, extents of accesses equal those of their indices, no index twice in a
/// result, every result index in every term, results assigned once and before use, trees over exactly the factors,
/// names unique (of indices: within an assignment). Input errors. Extents are compared, never multiplied.
Expected<void> check(const Network& network);

/// Index notation, one assignment a line: "A(i,r) = 2 * T(i,j,k) * B(j,r) * C(k,r)", parentheses where pinned. Equal
/// networks print alike. The text parses back to an equal network if it is numbered as resolve (frontend/resolve.h)
/// does and the leaves of every tree stand in the order of the factors. The network must pass check.
std::string print(const Network& network);

}  // namespace weft
