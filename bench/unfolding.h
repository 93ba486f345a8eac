// Unfolding: a sparse tensor as a matrix, with groups of its modes as rows and columns, for hand-written products.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/problem.h"
#include "frontend/parse.h"
#include "weft/tensor.h"

namespace weft::bench {

/// Numbers for the coordinates of a group of modes: those of a single mode are their own numbers, tuples of several are
/// ranked among the ones that occur.
struct Numbering {
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> tuples;  ///< linear, ascending; unused for a single mode

  std::uint64_t count() const { return extents.size() == 1 ? extents[0] : tuples.size(); }
  std::uint64_t linear(std::uint64_t number) const { return extents.size() == 1 ? number : tuples[number]; }
};

/// Compressed rows, columns ascending in each.
struct Rows {
  std::vector<std::uint32_t> pos, crd;
  std::vector<double> values;
  std::uint64_t columns = 0;

  std::uint64_t count() const { return pos.size() - 1; }
  std::uint64_t length(std::uint64_t row) const { return pos[row + 1] - pos[row]; }
};

/// The factors of a product with two or more sparse factors as matrices. Every factor after the first shares indices
/// with the one before it, which become its rows.
struct Unfolding {
  std::vector<Rows> factors;
  Numbering rows;     ///< of the first factor, and of the result
  Numbering columns;  ///< of the last factor, and of the result
  std::vector<std::uint32_t> row_modes, column_modes;  ///< of the result
};

/// Factors `first` and up of the only assignment. Input error if linear tuples or positions do not fit.
Expected<Unfolding> unfold(const ParsedAssignment& assignment, std::size_t first,
                           const std::map<std::string, Tensor>& operands, const Resources& resources);

}  // namespace weft::bench
