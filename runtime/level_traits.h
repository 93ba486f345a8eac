// LevelTraits: the properties of each kind of level, in one table. Code asks it instead of comparing kinds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "weft/format.h"

namespace weft {

/// A kind of level by what follows from how it stores coordinates; the enumeration itself says only which one it is.
struct LevelTraits {
  LevelKind kind;
  char letter;            ///< of formats
  std::string_view word;  ///< of loop programs
  // Which coordinates there are.
  bool sparse;   ///< some of the extent; else all of them
  bool ordered;  ///< those of a fiber are visited from the least to the greatest
  bool unique;   ///< each once; else once per entry of the chain of levels below it
  bool gaps;     ///< there are positions without an entry (gaps.h)
  // Where they stand.
  bool by_extent;  ///< position = parent * extent + coordinate
  bool per_parent; ///< one entry at each position above
  bool packed;     ///< a fiber's entries side by side, pos tells where
  bool slots;      ///< of a hash table, pos tells where
  bool bits;       ///< a bit per coordinate tells which there are
  bool listed;     ///< marks, and a list of the touched coordinates
  bool lengths;    ///< packed, but coordinates count from 0: pos alone tells which there are
  // Where the kind may stand, beside operands: all of them but those that are listed.
  bool appendable;  ///< results of kernels have it, in the order of their levels
  bool workspace;   ///< workspaces inside a nest have it
  bool key;         ///< there, its key may have several modes
};

/// Indexed by LevelKind.
inline constexpr std::array<LevelTraits, 8> level_kinds{{
    {.kind = LevelKind::dense, .letter = 'd', .word = "dense",
     .sparse = false, .ordered = true, .unique = true, .gaps = false,
     .by_extent = true, .per_parent = false, .packed = false, .slots = false, .bits = false, .listed = false, .lengths = false,
     .appendable = true, .workspace = true, .key = false},
    {.kind = LevelKind::compressed, .letter = 's', .word = "compressed",
     .sparse = true, .ordered = true, .unique = true, .gaps = false,
     .by_extent = false, .per_parent = false, .packed = true, .slots = false, .bits = false, .listed = false, .lengths = false,
     .appendable = true, .workspace = false, .key = false},
    {.kind = LevelKind::compressed_nonunique, .letter = 'u', .word = "nonunique",
     .sparse = true, .ordered = true, .unique = false, .gaps = false,
     .by_extent = false, .per_parent = false, .packed = true, .slots = false, .bits = false, .listed = false, .lengths = false,
     .appendable = false, .workspace = false, .key = false},
    {.kind = LevelKind::singleton, .letter = 'q', .word = "singleton",
     .sparse = true, .ordered = true, .unique = false, .gaps = false,
     .by_extent = false, .per_parent = true, .packed = false, .slots = false, .bits = false, .listed = false, .lengths = false,
     .appendable = false, .workspace = false, .key = false},
    {.kind = LevelKind::hashed, .letter = 'h', .word = "hashed",
     .sparse = true, .ordered = false, .unique = true, .gaps = true,
     .by_extent = false, .per_parent = false, .packed = false, .slots = true, .bits = false, .listed = false, .lengths = false,
     .appendable = false, .workspace = true, .key = true},
    {.kind = LevelKind::bitmap, .letter = 'b', .word = "bitmap",
     .sparse = true, .ordered = true, .unique = true, .gaps = true,
     .by_extent = true, .per_parent = false, .packed = false, .slots = false, .bits = true, .listed = false, .lengths = false,
     .appendable = false, .workspace = true, .key = false},
    {.kind = LevelKind::accumulator, .letter = 'a', .word = "accumulator",
     .sparse = true, .ordered = false, .unique = true, .gaps = false,
     .by_extent = true, .per_parent = false, .packed = false, .slots = false, .bits = false, .listed = true, .lengths = false,
     .appendable = false, .workspace = true, .key = true},
    {.kind = LevelKind::variable, .letter = 'v', .word = "variable",
     .sparse = true, .ordered = true, .unique = true, .gaps = false,
     .by_extent = false, .per_parent = false, .packed = true, .slots = false, .bits = false, .listed = false, .lengths = true,
     .appendable = false, .workspace = false, .key = false},
}};

consteval bool is_table_of_kinds() {
  for (std::size_t number = 0; number < level_kinds.size(); ++number) {
    const LevelTraits& each = level_kinds[number];
    if (static_cast<std::size_t>(each.kind) != number || (each.bits && !each.by_extent)) return false;
    if (each.by_extent + each.per_parent + each.packed + each.slots != 1) return false;  // one place for each entry
    for (std::size_t before = 0; before < number; ++before)
      if (level_kinds[before].letter == each.letter || level_kinds[before].word == each.word) return false;
  }
  return true;
}
static_assert(is_table_of_kinds());

/// Whether it is one of them: a host may have made it of any number.
constexpr bool is_known(LevelKind kind) { return static_cast<std::size_t>(kind) < level_kinds.size(); }

constexpr const LevelTraits& traits(LevelKind kind) { return level_kinds[static_cast<std::size_t>(kind)]; }

/// Whether a kind has a property: a set of kinds made by the compiler, so that it costs what a comparison does.
template <bool LevelTraits::* property>
constexpr bool has(LevelKind kind) {
  constexpr std::uint32_t set = [] {
    std::uint32_t kinds = 0;
    for (const LevelTraits& each : level_kinds) kinds |= std::uint32_t{each.*property} << static_cast<unsigned>(each.kind);
    return kinds;
  }();
  // Numbers that are no kind have no property.
  return ((set >> std::min(static_cast<unsigned>(kind), 31U)) & 1) != 0;
}

constexpr bool is_sparse(LevelKind kind) { return has<&LevelTraits::sparse>(kind); }
constexpr bool is_dense(LevelKind kind) { return !is_sparse(kind); }
constexpr bool is_dense(const Level& level) { return is_dense(level.kind); }
constexpr bool is_ordered(LevelKind kind) { return has<&LevelTraits::ordered>(kind); }
constexpr bool is_unique(LevelKind kind) { return has<&LevelTraits::unique>(kind); }
constexpr bool has_gaps(LevelKind kind) { return has<&LevelTraits::gaps>(kind); }
constexpr bool is_by_extent(LevelKind kind) { return has<&LevelTraits::by_extent>(kind); }
constexpr bool is_per_parent(LevelKind kind) { return has<&LevelTraits::per_parent>(kind); }
constexpr bool is_packed(LevelKind kind) { return has<&LevelTraits::packed>(kind); }
constexpr bool has_slots(LevelKind kind) { return has<&LevelTraits::slots>(kind); }
constexpr bool has_bits(LevelKind kind) { return has<&LevelTraits::bits>(kind); }
constexpr bool is_listed(LevelKind kind) { return has<&LevelTraits::listed>(kind); }
constexpr bool has_lengths(LevelKind kind) { return has<&LevelTraits::lengths>(kind); }
constexpr bool is_appendable(LevelKind kind) { return has<&LevelTraits::appendable>(kind); }
constexpr bool is_of_workspaces(LevelKind kind) { return has<&LevelTraits::workspace>(kind); }
constexpr bool may_be_key(LevelKind kind) { return has<&LevelTraits::key>(kind); }

/// Packed, each coordinate once; packed, and the chain goes on below.
constexpr bool is_compressed(LevelKind kind) { return is_packed(kind) && is_unique(kind); }
constexpr bool begins_chain(LevelKind kind) { return is_packed(kind) && !is_unique(kind); }
/// A singleton below a level that is none of its chain: of {dense, singleton} the second has one entry at each position.
constexpr bool has_one_entry(LevelKind above, LevelKind kind) {
  return is_per_parent(kind) && !begins_chain(above) && !is_per_parent(above);
}
/// The level has an array pos: where the entries, or slots, of each fiber are.
constexpr bool has_pos(LevelKind kind) { return is_packed(kind) || has_slots(kind); }
/// The level stores coordinates as numbers.
constexpr bool has_coordinates(LevelKind kind) { return is_sparse(kind) && !has_bits(kind) && !has_lengths(kind); }

}  // namespace weft
