// Exposure: a network whose tensors stand in layouts, as one over the levels of these: what is planned and compiled is plain.
//
//   y(i) = B(i,j) * x(j), B as (i,j) -> (i/3:d, j/3:s, i%3:d, j%3:d)
//   y(i_0,i_1) = B(i_0,j_0,i_1,j_1) * x(j_0,j_1), with i = 3*i_0 + i_1 and j = 3*j_0 + j_1
//
// An index is cut into parts where a layout has levels of its quotients and remainders; every tensor over it then has modes for
// the parts, dense ones as another view of the same elements. Slots are indices of their own, summed like any other; those directly
// above the coordinates that they number are one compressed level with these, of which each fiber has as many entries as slots.
//
//   y(i) = B(i,j) * x(j), B as (j-i:s, i:d)
//   y(i) = B(B_0,i) * x(B_0,i), with j = B_0 + i - 3
//
// An index that a layout alone says by others (of diagonals, bands, starts) is replaced by these, which all other tensors over it have
// to bear: dense operands, whose elements x(d,i) are those of x at d + i - 3, one place behind the other for both modes, with zeros
// around them.
//
//   y(i) = B(i,j) * x(j), B as (j-i:s unordered, j:d)
//   y(i) = B(B_0,i) * x(B_0,i), with j = B_0 + i - 3
//
// Of two levels whose last is a dense mode either mode may be the one that is said by the others: B is then read as two compressed levels
// over the places inside of the matrix, whose values stay where they are; the coordinates of a fiber, and the places of its values, follow
// each other.
//
//   y(i) = A(i,j) * x(j), A as (i,j) -> (i:d, j:s unordered), or as (i,j) -> (*:d, i:q unordered, j:q unordered)
//
// Coordinates that fall, or come in no order, are read as they stand where no order is asked of them: beside one dense factor, into a
// result that is dense or has none of their modes.
//
// Layouts with other levels (bounds that vary), and such that other tensors contradict, are read through a plain copy; results in them
// are converted from a plain one.
//
//   y(i) = A(i,j) * B(i,j) * x(j), B as (i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d), A as (i:d, j:s)
//   y(i) = A(i,j) * B(i/4,j/4,i%4,j%4) * x(j)
//
//   y(i) = A(i,j) * B(i,j) * x(j), B as (i,j) -> (j-i:s, i:d), A as (i:d, j:s), 7 by 9
//   y(i) = A(i,j) * B(j-i+6,i) * x(j)
//
//   y(i) = A(i,j) * B(i,j) * x(j), B as (i,j) -> (i/4:d, b:s, i%4:d, j-b:d(4)), A as (i:d, j:s)
//   y(i) = A(i,j) * B(i/4,cover(j,4),i%4,j-cover(j,4)) * x(j)
//
//   y(i) = B(i,j) * x(j), B as (i,j) -> (i/3:d, j/3:s, i%3:d, j%3:d), x as (j:s)
//   y(i_0,i_1) = B(i_0,j_0,i_1,j_1) * x(3*j_0 + j_1)
//
// A sparse operand in a plain format need not be laid out anew for the digits of its indices: it is read as it stands, and looked up at the
// sum of these.
//
// Where others walk its indices, an operand in blocks, diagonals, bands or triangles, or whose coordinates fall, may be located through its
// layout instead: its levels are parts or sums of indices that stay whole, or the start that covers one, and nothing beyond an extent is
// looked up.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/network/network.h"
#include "weft/layout.h"

namespace weft {

/// A level of an operand with a layout.
struct LevelOf {
  TensorId operand = 0;
  std::uint32_t level = 0;
  auto operator<=>(const LevelOf&) const = default;
};

/// What a mode of an exposed tensor is: mode / divisor % modulus of the tensor as given, or the coordinate of a level, an index of
/// its own.
struct ModePart {
  std::uint32_t mode = 0;
  std::uint64_t divisor = 1;
  std::uint64_t modulus = 0;  ///< 0: no remainder is taken
  bool own = false;           ///< a level of the tensor itself: slots, starts, diagonals
  std::optional<LevelOf> counts = {};  ///< that level of another: the mode is a sum of such, `distance` for each of its coordinates
  std::int64_t distance = 1;
  bool operator==(const ModePart&) const = default;

  IndexPart of_mode() const { return {divisor, modulus}; }
};

/// Coordinates of a mode that is a sum of levels: from `least` to `most`, and `first` where all levels are at 0.
struct ModeReach {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t first = 0;
  bool operator==(const ModeReach&) const = default;
};

/// A tensor as the planned network sees it.
struct ExposedTensor {
  /// What its modes there are; empty: as they were given. A located mode that is a sum has `sums` there, its own index being that of
  /// the part's mode.
  std::vector<ModePart> parts;
  std::vector<ModeSum> sums = {};  ///< by level; empty: there are none
  std::uint64_t falling = 0;       ///< of a located operand, bit n: coordinates of level n fall
  std::uint64_t scanned = 0;       ///< likewise: they come in no order, and are found by a look at each
  /// Of the modes that are sums of another's levels.
  std::map<std::uint32_t, ModeReach> reach = {};
  /// Operands: what they are laid out in before; levels in the order of `parts`, or a plain format where there are none.
  /// Nothing: they are read as they are.
  std::optional<Format> read_in;
  /// Results: how they are handed over, whatever they are computed in; nothing: as computed, with the modes as given.
  std::optional<Format> handed_over;
  /// Operands of two parts: read in compressed levels, of the places inside of the tensor alone, whose values are found through places.
  bool placed = false;
  /// Operands: coordinates below the first level fall, or come in no order; nothing that reads them depends on it.
  bool unordered = false;
  /// Dense operands: elements beyond the extents are never read, as the other factor is placed, and so are none around them.
  bool inside = false;
  bool located = false;  ///< operands: `parts` are of whole indices, which others walk
  /// Located operands in a plain format, below loops over digits of their indices: a level is looked up at the sum of its digits,
  /// 4*j_0 + j_1, below a dense level of one coordinate for each of these but the last, which `parts` has them for.
  bool at_digits = false;
  bool asked = false;  ///< of results: for a plain format, which one at the positions of an operand has too

  /// Whether a level is there for a digit alone, above the one that is looked up at the sum with it.
  bool stands_above(std::size_t level) const { return at_digits && parts[level].divisor != 1; }
  bool operator==(const ExposedTensor&) const = default;
};

/// What decides about an exposure, by tensor of the network.
struct StoredAs {
  std::optional<Format> format;                    ///< of an operand; of a result, where one is asked for
  std::vector<std::uint64_t> level_extents = {};   ///< of an operand with a layout
  std::optional<TensorId> like = {};               ///< of a result at the positions of an operand
};

struct Exposure {
  Network given;
  Network network;
  std::vector<ExposedTensor> tensors;  ///< by TensorId, which both networks share
  /// Operands whose values have to be finite: blocks reach beyond an extent, and what stands there is multiplied with them.
  std::set<TensorId> finite;
  /// "i = 3*i_0 + i_1", of every index that is cut or replaced; "B located at (i/4, i%4)".
  std::vector<std::string> definitions;
  /// Operands are read otherwise than by cutting because that is cheaper.
  bool by_choice = false;
  /// Results have to be dense: there are places where others have entries that the tensor has none for.
  bool dense_results = false;

  bool is_exposed(TensorId tensor) const { return !tensors[tensor].parts.empty(); }
  /// The format of a result as the planned network has to compute it, of one that was asked for; nothing: as that is.
  std::optional<Format> computed_in(TensorId result) const;
};

/// How far levels may be exposed.
enum class Exposing : std::uint8_t {
  all,
  whole_blocks,  ///< only cuts, and only where extents are multiples of the parts, so that nothing stands beyond them
  none,          ///< all through plain copies
  copies,        ///< the same, where levels would be exposed else
};

/// Nothing where no tensor has a layout. `stored`: one per tensor. `located`: of the operands that may_be_located(), those to be located
/// through their layouts, and of those that may_be_at_digits(), those to be looked up there; others that would cut an index of the former
/// are read through plain copies. Pure.
std::optional<Exposure> exposed(const Network& network, const std::vector<StoredAs>& stored, Exposing exposing = Exposing::all,
                                const std::set<TensorId>& located = {});

/// Operands whose levels are quotients and remainders of their modes, or sums of these, in products with another sparse factor over one of
/// their indices: reading them otherwise than by cutting, or through a copy, may pay, unless both are full of the same blocks.
std::set<TensorId> may_be_located(const Network& network, const std::vector<StoredAs>& stored);

/// Sparse operands in plain formats over an index that others cut, which may be looked up at sums of digits instead of being laid out anew.
std::set<TensorId> may_be_at_digits(const Network& network, const std::vector<StoredAs>& stored);

/// The levels of slots that are one compressed level each with the singleton below: of (i:d, *:d, j:q) the second.
std::vector<std::uint32_t> slots_of_fibers(const Layout& layout);

/// A plain format to read a tensor of these extents in whose layout is not exposed, or to compute one in: dense where every coordinate has
/// a place, and over rows unless there are far more of them than the layout has places for.
Format plain_format(const Format& format, std::span<const std::uint64_t> extents);

/// A layout of other modes: what held mode m holds modes[m]. Plain formats stay.
Format with_modes(Format format, const std::vector<std::uint32_t>& modes);

/// The format of a tensor with these parts, stored in `levels` over them: a layout whose levels are the parts.
Format format_over(const std::vector<ModePart>& parts, const Format& levels, std::size_t modes);

}  // namespace weft
