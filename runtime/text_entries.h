// Entries of a tensor in text: lines of 1-based coordinates and a value, parsed in parallel into columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text_reader.h"
#include "weft/tensor.h"

namespace weft {

/// What the lines look like.
struct EntryRules {
  enum class Values { real, integer, none };                   ///< none: every entry is 1
  enum class Symmetry { general, symmetric, skew_symmetric };  ///< all but general: order 2, lower triangle given

  std::size_t order = 0;
  Values values = Values::real;
  Symmetry symmetry = Symmetry::general;
  char comment = '#';                  ///< begins lines to ignore, as its first character that is no blank
  std::vector<std::uint64_t> extents;  ///< by mode; coordinates beyond are errors. Empty: any up to 2^63 - 1
  std::string extents_origin;          ///< "the shape", "the size line": who to blame
  Scalar scalar = Scalar::f64;
};

/// Entries before the blocks that parsed them are joined.
struct ParsedEntries {
  struct Block {
    Buffer columns;           ///< values, then one column of coordinates (from 0) per mode, of count elements each
    std::uint64_t count = 0;  ///< stored entries with their mirror images
    bool wide = false;        ///< coordinates of 64 bits, else 32
  };
  std::vector<Block> blocks;           ///< in file order
  std::uint64_t lines = 0;             ///< lines that hold an entry
  std::vector<std::uint64_t> extents;  ///< largest coordinate + 1 per mode; 0 without entries
  std::uint64_t count() const;         ///< entries with their mirror images
};

/// Parses the rest of the reader's file.
Expected<ParsedEntries> parse_entries(TextReader& reader, const EntryRules& rules, const Resources& resources);

/// Joins the blocks, freeing them. Coordinates get 32 bits where extents[m] <= 2^32. `extents`: by mode, at least those
/// of the entries.
Expected<Coordinates> join_entries(ParsedEntries entries, std::vector<std::uint64_t> extents, Scalar scalar,
                                   const Resources& resources, const std::string& path);

/// What is wrong with a line, for the error message; the line is known to break the rules.
std::string entry_defect(std::string_view line, const EntryRules& rules);

/// The same for a coordinate (from 0; the largest number stands for coordinate 0 of the file) outside its extent, and
/// for an entry of a symmetric file outside the triangle it holds.
std::string range_defect(std::uint64_t coordinate, std::size_t mode, const EntryRules& rules);
std::string triangle_defect(std::uint64_t row, std::uint64_t column, const EntryRules& rules);

/// Text from a file for a message: in single quotes, shortened, without what would spoil a terminal or a JSON report.
std::string quoted(std::string_view text);

/// Line, from 1, of the entry with the given number, from 0, in text of whole lines; 0 if it has fewer.
std::uint64_t line_of_entry(std::string_view text, std::uint64_t entry, char comment);

}  // namespace weft
