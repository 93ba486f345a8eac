#include "bench/layout_kernels.h"

#include <algorithm>

namespace weft::bench {
namespace {

using Multiply = std::function<void(std::span<const double>, std::span<double>)>;

struct Arrays {
  std::span<const std::uint32_t> pos;
  std::span<const std::uint32_t> crd;
  std::span<const double> values;
  std::uint64_t rows = 0;
};

Arrays arrays_of(const Tensor& matrix) {
  return {matrix.levels()[1].pos.as<const std::uint32_t>(), matrix.levels()[1].crd.as<const std::uint32_t>(),
          matrix.values().as<const double>(), matrix.extents()[0]};
}

/// Blocks of `high` by `wide`, one behind the other: sums of a row of blocks in registers, `columns` of them at a time.
template <std::uint64_t high, std::uint64_t wide, std::uint64_t columns>
void multiply_blocks(const Arrays& a, const double* x, std::span<double> y) {
  constexpr std::uint64_t strip = columns == 1 ? 1 : 8;
  for (std::uint64_t row = 0; row + 1 < a.pos.size(); ++row) {
    for (std::uint64_t first = 0; first < columns; first += strip) {
      double sums[high][strip] = {};
      for (std::uint32_t p = a.pos[row]; p < a.pos[row + 1]; ++p) {
        const double* block = &a.values[p * high * wide];
        for (std::uint64_t c = 0; c < wide; ++c) {
          const double* from = x + (a.crd[p] * wide + c) * columns + first;
          for (std::uint64_t r = 0; r < high; ++r)
            for (std::uint64_t lane = 0; lane < strip; ++lane) sums[r][lane] += block[r * wide + c] * from[lane];
        }
      }
      for (std::uint64_t r = 0; r < high && row * high + r < a.rows; ++r)
        std::copy_n(sums[r], strip, &y[(row * high + r) * columns + first]);
    }
  }
}

/// Pieces of diagonals below each other: a strip of y in registers.
template <std::uint64_t high>
void multiply_strips(const Arrays& a, const double* x, std::span<double> y) {
  for (std::uint64_t strip = 0; strip + 1 < a.pos.size(); ++strip) {
    double sums[high] = {};
    for (std::uint32_t p = a.pos[strip]; p < a.pos[strip + 1]; ++p) {
      const double* piece = &a.values[p * high];
      const double* from = x + strip * high + a.crd[p] + 1 - a.rows;  // the first diagonal is 1 - rows
      for (std::uint64_t r = 0; r < high; ++r) sums[r] += piece[r] * from[r];
    }
    std::copy_n(sums, std::min(high, a.rows - strip * high), &y[strip * high]);
  }
}

/// Rows side by side, as many as a vector has lanes: `sell(8)`.
void multiply_lanes(const Tensor& matrix, const double* x, std::span<double> y) {
  constexpr std::uint64_t lanes = 8;
  const auto pos = matrix.levels()[1].pos.as<const std::uint32_t>();
  const auto crd = matrix.levels()[3].crd.as<const std::uint32_t>();
  const auto values = matrix.values().as<const double>();
  for (std::uint64_t slice = 0; slice + 1 < pos.size(); ++slice) {
    double sums[lanes] = {};
    for (std::uint64_t p = std::uint64_t{pos[slice]} * lanes; p < std::uint64_t{pos[slice + 1]} * lanes; p += lanes)
      for (std::uint64_t lane = 0; lane < lanes; ++lane) sums[lane] += values[p + lane] * x[crd[p + lane]];
    std::copy_n(sums, std::min(lanes, y.size() - slice * lanes), &y[slice * lanes]);
  }
}

/// As many entries in each row: `ell`.
void multiply_slots(const Tensor& matrix, const double* x, std::span<double> y) {
  const std::uint64_t slots = matrix.level_extents()[1];
  const auto crd = matrix.levels()[2].crd.as<const std::uint32_t>();
  const auto values = matrix.values().as<const double>();
  for (std::uint64_t row = 0; row < y.size(); ++row) {
    double sums[4] = {};
    std::uint64_t p = row * slots;
    for (; p + 4 <= (row + 1) * slots; p += 4)
      for (std::uint64_t n = 0; n < 4; ++n) sums[n] += values[p + n] * x[crd[p + n]];
    for (; p < (row + 1) * slots; ++p) sums[0] += values[p] * x[crd[p]];
    y[row] = sums[0] + sums[1] + (sums[2] + sums[3]);
  }
}

/// Two of each four columns: `nm(2,4)`, coordinates of one byte.
void multiply_pairs(const Tensor& matrix, const double* x, std::span<double> y) {
  const std::uint64_t groups = matrix.level_extents()[1];
  const auto crd = matrix.levels()[3].crd.as<const std::uint8_t>();
  const auto values = matrix.values().as<const double>();
  for (std::uint64_t row = 0; row < y.size(); ++row) {
    double sums[4] = {};
    for (std::uint64_t group = 0; group < groups; ++group) {
      const std::uint64_t p = 2 * (row * groups + group);
      for (std::uint64_t n = 0; n < 2; ++n) sums[2 * (group % 2) + n] += values[p + n] * x[4 * group + crd[p + n]];
    }
    y[row] = sums[0] + sums[1] + (sums[2] + sums[3]);
  }
}

/// Runs without a gap: `vbl`.
void multiply_runs(const Tensor& matrix, const double* x, std::span<double> y) {
  const auto pos = matrix.levels()[1].pos.as<const std::uint32_t>();
  const auto starts = matrix.levels()[1].crd.as<const std::uint32_t>();
  const auto ends = matrix.levels()[2].pos.as<const std::uint32_t>();
  const auto values = matrix.values().as<const double>();
  for (std::uint64_t row = 0; row < y.size(); ++row) {
    double sums[8] = {};
    double rest = 0;
    for (std::uint32_t run = pos[row]; run < pos[row + 1]; ++run) {
      const double* const from = x + starts[run] - ends[run];
      std::uint32_t p = ends[run];
      for (; p + 8 <= ends[run + 1]; p += 8)
        for (std::uint32_t n = 0; n < 8; ++n) sums[n] += values[p + n] * from[p + n];
      for (; p < ends[run + 1]; ++p) rest += values[p] * from[p];
    }
    for (const double sum : sums) rest += sum;
    y[row] = rest;
  }
}

template <void multiply(const Tensor&, const double*, std::span<double>)>
Multiply over_levels(const Tensor& matrix) {
  return [matrix](std::span<const double> padded, std::span<double> y) {
    multiply(matrix, padded.data() + padding(matrix.extents()[0]), y);
  };
}

template <std::uint64_t high, std::uint64_t wide>
Multiply blocks(const Arrays& a, std::uint64_t columns) {
  return [a, columns](std::span<const double> padded, std::span<double> y) {
    const double* const x = padded.data() + padding(a.rows) * columns;
    if (columns == 1) {
      multiply_blocks<high, wide, 1>(a, x, y);
    } else {
      multiply_blocks<high, wide, 32>(a, x, y);
    }
  };
}

template <std::uint64_t high>
Multiply strips(const Arrays& a) {
  return [a](std::span<const double> padded, std::span<double> y) { multiply_strips<high>(a, padded.data() + padding(a.rows), y); };
}

}  // namespace

std::optional<Multiply> by_hand(const Tensor& matrix, const std::string& layout, std::uint64_t columns) {
  if (matrix.format().scalar != Scalar::f64 || (columns != 1 && columns != 32)) return std::nullopt;
  if (columns == 1 && layout == "sell(8)") return over_levels<multiply_lanes>(matrix);
  if (columns == 1 && layout == "ell") return over_levels<multiply_slots>(matrix);
  if (columns == 1 && layout == "nm(2,4)") return over_levels<multiply_pairs>(matrix);
  if (columns == 1 && layout == "vbl") return over_levels<multiply_runs>(matrix);
  if (layout == "sell(8)" || layout == "ell" || layout == "nm(2,4)" || layout == "vbl") return std::nullopt;
  const Arrays a = arrays_of(matrix);
  if (layout == "csr") return blocks<1, 1>(a, columns);
  if (layout == "bcsr(2,1)") return blocks<2, 1>(a, columns);
  if (layout == "bcsr(2,2)") return blocks<2, 2>(a, columns);
  if (layout == "bcsr(3,1)") return blocks<3, 1>(a, columns);
  if (layout == "bcsr(3,3)") return blocks<3, 3>(a, columns);
  if (layout == "bcsr(4,1)") return blocks<4, 1>(a, columns);
  if (layout == "bcsr(4,4)") return blocks<4, 4>(a, columns);
  if (layout == "bcsr(8,8)") return blocks<8, 8>(a, columns);
  if (columns != 1 || a.rows < 64) return std::nullopt;  // strips of fewer rows have fewer places
  if (layout == "dia(8)") return strips<8>(a);
  if (layout == "dia(16)") return strips<16>(a);
  if (layout == "dia(64)") return strips<64>(a);
  return std::nullopt;
}

}  // namespace weft::bench
