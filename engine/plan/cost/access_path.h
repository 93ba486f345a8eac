// AccessPath: how the loops reach the entries of one occurrence of an operand. As SQLite's WhereLoop: a way in, and what setting it up
// takes; the search chooses one per occurrence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/format.h"

namespace weft {

struct OperandFacts;

/// A dense level costs memory for every combination of coordinates, and visits the empty ones where it drives; it turns
/// every search into a lookup. Dense where it is cheap, where it is nearly free and where it is affordable are priced,
/// the first of them always: MTTKRP of 2000^3 with 2e6 entries takes 18.9 ms with compressed levels, 28.9 ms with a
/// dense one of 2.5 combinations per stored one; four sparse tensors want the lookups.
inline constexpr double dense_fill_limits[] = {4, 1.5, 16};

/// Of an operand that is converted.
inline constexpr std::size_t most_convertible_modes = 12;

struct AccessPath {
  enum class Way : std::uint8_t {
    stored,      ///< in the layout that the schedule names: nothing to set up
    of_loops,    ///< converted: levels in the order of the loops around it, leading ones dense as far as `fill_limit` allows
    transposed,  ///< a dense operand converted: mode `last` becomes the one whose neighbours are adjacent
    opened,      ///< the first `levels` levels dense, so that a search becomes a table lookup; all arrays below them stay
    marked,      ///< a mark for every coordinate of the last level, which is then looked up instead of searched
    chained,     ///< converted: its modes in the order in which it has them, the levels below the first a chain; entries keep their places
  };
  Way way = Way::stored;
  double fill_limit = 0;   ///< of_loops, chained: combinations of coordinates that a dense level may have per stored one
  /// of_loops, three modes or more: all levels below the first are a chain (u, q, …), whose entries one loop walks over. Fibers of a few
  /// entries cost more for finding their ends than for their entries (lower/flat_walks.h).
  bool chained = false;
  std::uint32_t last = 0;    ///< transposed
  std::uint32_t levels = 0;  ///< opened

  static AccessPath of_loops(double fill_limit = dense_fill_limits[0]) { return {.way = Way::of_loops, .fill_limit = fill_limit}; }
  static AccessPath chain_of_loops(double fill_limit) { return {.way = Way::of_loops, .fill_limit = fill_limit, .chained = true}; }
  static AccessPath chained_in_order(double fill_limit) { return {.way = Way::chained, .fill_limit = fill_limit}; }
  static AccessPath transposed(std::uint32_t last) { return {.way = Way::transposed, .last = last}; }
  static AccessPath opened(std::uint32_t levels) { return {.way = Way::opened, .levels = levels}; }
  static AccessPath marked() { return {.way = Way::marked}; }

  /// Which layout it is becomes known with the order of the loops.
  bool follows_loops() const { return way == Way::of_loops; }
  bool converts() const { return way != Way::stored; }
  bool operator==(const AccessPath&) const = default;
};

/// One per tensor of a schedule; those that are no operands are as they are stored, and so is everything where it is empty.
using AccessPaths = std::vector<AccessPath>;

inline AccessPath path_of(const AccessPaths& paths, std::size_t tensor) { return paths.empty() ? AccessPath{} : paths[tensor]; }

/// The layout that a path has which does not follow the loops.
Format layout_of(const AccessPath& path, const OperandFacts& operand);

/// The layout of a path `chained`: the first level dense where that is affordable, a chain below. Nothing unless the operand has three
/// modes or more, and compressed levels below a first one that is dense or compressed.
std::optional<Format> chained_format(const OperandFacts& operand, double fill_limit);

}  // namespace weft
