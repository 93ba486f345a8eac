// Sizes at which loops take another form in the code. Lowering and code generation go by them, and so do prices: of the planner, which sees
// neither.
#pragma once

#include <cstdint>

namespace weft {

/// Elements of a row, if known, that vector loops are unrolled for: what is summed over it stays in registers.
constexpr std::uint64_t register_elements = 128;
/// Bytes of the rows and tiles that a nest sums in registers: half of 32 registers of 64 bytes, the other half is for factors.
constexpr std::uint64_t register_row_bytes = 1024;
/// Longer rows, up to so many elements, are summed in blocks: of longer ones the parts that a block takes of other rows come too far apart.
constexpr std::uint64_t blocked_elements = 512;

/// Iterations of a loop that is written out, and vectors and scalars of all that is.
constexpr std::uint64_t written_iterations = 8;
/// Rows side by side whose products are vectors, at least. Three rows take longer so: SpMV of nsjac as `sell(3)` 0.157 ms for 0.129, as
/// `sell(5)` 0.115 for 0.128.
constexpr std::uint64_t fewest_lanes = 4;
constexpr std::uint64_t written_parts = 64;

/// Entries of a fiber that are looped over without a loop, and searched one by one.
constexpr std::uint64_t short_fiber_entries = 4;
/// Entries of a run of equal coordinates from which on what its loops save is worth finding its end: between 10.9
/// a run (rows of 16: 1.57 ns an entry flat, 2.18 nested) and 20 a run, where trials did not tell them apart.
constexpr double long_run_entries = 16;

/// Rows and terms of a product of dense matrices, where known, below which loops take no longer than tiles; rows for which columns are
/// transposed.
constexpr std::uint64_t least_tile_rows = 4;
constexpr std::uint64_t least_tile_terms = 8;
constexpr std::uint64_t transposed_tile_rows = 8;

/// Entries of a fiber that one search compares with a vector of coordinates, without a step.
constexpr double compared_at_once = 16;

}  // namespace weft
