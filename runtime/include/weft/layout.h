// Layout: which expressions of the modes the levels of a storage hold.
//
//   (i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d)      blocks of 4 by 4: BCSR
//   (i,j) -> (i/4:d, b:s, i%4:d, j-b:d(4))     blocks that begin anywhere: b is a free name, a start chosen by building
//   (i,j) -> (i:d, *:d, j:q)                   ELL: * is a slot, numbered within its parent
//   (i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d) slices of blocks: what stands below j/2 belongs to its slot
//   (i,j) -> (i:d, j:d(..i+1))                 a lower triangle, row by row
//
// A level is VALUE:KIND. A value is a sum of modes and free names with factors, `/n` (floor division) and `%n` (its
// remainder), or `*`. Kinds are the letters, or words, of formats and v (variable), each followed by what else is
// known: d(LO..HI) takes the values of the half-open range, d(n) those of 0..n; s<8> has coordinates of 8 bits; s desc
// and s unordered say in which order coordinates stand, q unordered that those of a slot's singletons come in none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"
#include "weft/format.h"

namespace weft {

class Affine;

/// In which order the coordinates of a fiber stand.
enum class LevelOrder : std::uint8_t { ascending, descending, unordered };

/// Variables of the expressions: the modes, then the free names.
struct LayoutLevel {
  std::shared_ptr<const Affine> value;  ///< null: a slot
  LevelKind kind = LevelKind::dense;
  std::shared_ptr<const Affine> low;   ///< first value of a range; null: that the modes' extents give
  std::shared_ptr<const Affine> high;  ///< behind its last one; null: the same
  std::uint8_t bits = 0;               ///< of coordinates: 8, 16, 32, 64; 0: the least of 32 and 64 that holds them
  LevelOrder order = LevelOrder::ascending;
  bool operator==(const LayoutLevel& other) const;
};

struct Layout {
  std::vector<std::string> modes;
  std::vector<std::string> free;  ///< names of starts
  std::vector<LayoutLevel> levels;
  bool operator==(const Layout&) const = default;

  /// "(i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d)"; parse_layout reads it back. "out of memory" where it cannot be made.
  std::string text() const;
  /// "i/4:d" of a level, without and with what is known of its kind.
  std::string value_text(std::size_t level) const;
  std::string level_text(std::size_t level) const;
};

/// Reads a layout or its name, "bcsr(4,4)". Input errors show the text with a caret: unknown kinds and names, modes
/// that no level has, divisions by 0, bounds of inner levels, singletons without an entry above, names that are no
/// modes or starts, slots without a singleton of modes below. Unsupported: runs of one value (r). Whether positions
/// tell coordinates depends on extents, so it is checked where tensors are built.
Expected<Layout> parse_layout(std::string_view text);

/// The layout of a format: its own, or the plain one with the modes i, j, k, l, …
Layout layout_of(const Format& format);

/// "csr", "bcsr(R,C)": what parse_layout knows by name.
std::span<const std::string_view> layout_names();

}  // namespace weft
