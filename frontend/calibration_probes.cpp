#include "frontend/calibration_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft {
namespace {

std::string spmm_schedule() {
  return "schedule\n tree (M * W)\n layout M ss:0,1 f64\n layout W dd:0,1 f64\n result O dd:0,1 f64\n"
         " O[i,h] += M[i,j] * W[j,h] loops i,j,h vector h\n parallel i serial\n";
}

constexpr std::uint64_t gathering_rows = 2000;  // of the matrix that says what is gathered

// A table of so many bytes; a cache that is said to hold next to nothing, or more than any does, leaves one that can be made.
std::uint64_t table_length(double bytes, double entry_bytes) {
  constexpr double most_bytes = 256.0 * 1024 * 1024;
  constexpr double least_length = 16;
  return static_cast<std::uint64_t>(std::max(least_length, std::min(bytes, most_bytes) / entry_bytes));
}

// Where a small first cache leaves few columns there are fewer entries: at most four fifths of the coordinates have one.
std::string gathering(std::uint64_t columns, std::uint64_t entries) {
  return fmt::format("sparse({}x{},nnz={})", gathering_rows, columns, std::min(entries, gathering_rows * columns * 4 / 5));
}

Probe rows(const std::string& what, double bytes, std::uint64_t entries) {
  const std::uint64_t count = table_length(bytes, 32 * sizeof(double));
  return {what, "O(i,h) = M(i,j) * W(j,h)",
          {{"M", gathering(count, entries)}, {"W", fmt::format("uniform({}x32)", count)}},
          spmm_schedule()};
}

Probe elements(const std::string& what, double bytes, std::uint64_t entries) {
  const std::uint64_t count = table_length(bytes, sizeof(double));
  return {what, "y(i) = M(i,j) * x(j)",
          {{"M", gathering(count, entries)}, {"x", fmt::format("uniform({})", count)}},
          "schedule\n tree (M * x)\n layout M ss:0,1 f64\n layout x d:0 f64\n result y d:0 f64\n"
          " y[i] += M[i,j] * x[j] loops i,j\n parallel i serial\n"};
}

Probe meeting(const std::string& what, const std::string& how, std::uint64_t left, std::uint64_t right) {
  return {what, "t() = A(i,j) * B(i,j)",
          {{"A", fmt::format("sparse(1000x4000,nnz={},seed=1)", left)}, {"B", fmt::format("sparse(1000x4000,nnz={},seed=2)", right)}},
          "schedule\n tree (A * B)\n layout A ds:0,1 f64 converted\n layout B ds:0,1 f64 converted\n result t f64\n"
          " t[] += A[i,j] * B[i,j] loops i,j\n" + how + " parallel i serial\n"};
}

}  // namespace

std::vector<Probe> calibration_probes(const Machine& machine) {
  const std::array<double, 3>& cache = machine.cache_bytes;
  // Beside the second cache the third may be the smaller one. Where the largest is as large as a table may be, no table lies
  // beyond it and the constants of memory stay as they are.
  const double memory = 3 * *std::ranges::max_element(cache);
  const std::string products = "O(i,h) = X(i,k) * W(k,h)";
  const std::string fibers = "y(i) = T(i,j,k) * b(j) * c(k)";
  const std::string fibers_schedule =
      "schedule\n tree (T * b * c)\n layout T sss:0,1,2 f64\n layout b d:0 f64\n layout c d:0 f64\n result y d:0 f64\n"
      " y[i] += T[i,j,k] * b[j] * c[k] loops i,j,k\n parallel i serial\n";
  return {
      {"vector arithmetic", products, {{"X", "uniform(1000x64)"}, {"W", "uniform(64x32)"}},
       "schedule\n tree (X * W)\n layout X dd:0,1 f64\n layout W dd:0,1 f64\n result O dd:0,1 f64\n"
       " O[i,h] += X[i,k] * W[k,h] loops i,k,h vector h\n parallel i serial\n"},
      rows("rows from the first cache", 0.5 * cache[0], 100'000),
      rows("rows from the second cache", 0.6 * cache[1], 100'000),
      rows("rows from the third cache", 0.3 * cache[2], 200'000),
      rows("rows from memory", memory, 200'000),
      elements("elements from the first cache", 0.5 * cache[0], 200'000),
      elements("elements from the second cache", 0.5 * cache[1], 400'000),
      elements("elements from the third cache", 0.25 * cache[2], 400'000),
      elements("elements from memory", memory, 400'000),
      {"dot products", "y(i) = M(i,j) * A(i,k) * B(j,k)",
       {{"M", "sparse(2000x100,nnz=50000)"}, {"A", "uniform(2000x16)"}, {"B", "uniform(100x16)"}},
       "schedule\n tree (M * A * B)\n layout M ss:0,1 f64\n layout A dd:0,1 f64\n layout B dd:0,1 f64\n result y d:0 f64\n"
       " y[i] += M[i,j] * A[i,k] * B[j,k] loops i,j,k vector k\n parallel i serial\n"},
      {"short fibers", fibers, {{"T", "sparse(200x400x200,nnz=60000)"}, {"b", "uniform(400)"}, {"c", "uniform(200)"}}, fibers_schedule},
      {"single entries", fibers, {{"T", "sparse(200x2000x2000,nnz=60000)"}, {"b", "uniform(2000)"}, {"c", "uniform(2000)"}},
       fibers_schedule},
      {"whole extents", "t() = X(i,j) * y(j)", {{"X", "uniform(1000x64)"}, {"y", "uniform(64)"}},
       "schedule\n tree (X * y)\n layout X dd:0,1 f64\n layout y d:0 f64\n result t f64\n t[] += X[i,j] * y[j] loops j,i\n"
       " parallel j serial\n"},
      {"a dense level of a sparse tensor", "t() = A(i,j) * x(i)", {{"A", "sparse(20000x100,nnz=10000)"}, {"x", "uniform(20000)"}},
       "schedule\n tree (A * x)\n layout A ds:0,1 f64 converted\n layout x d:0 f64\n result t f64\n"
       " t[] += A[i,j] * x[i] loops i,j\n parallel i serial\n"},
      meeting("merging", "", 100'000, 100'000),
      meeting("searching", "  meet j: drive A@1.1, search B@1.2\n", 4'000, 200'000),
      meeting("searching short fibers", "  meet j: drive A@1.1, search B@1.2\n", 10'000, 20'000),
      meeting("galloping", "  meet j: drive A@1.1, gallop B@1.2\n", 20'000, 200'000),
      meeting("galloping short fibers", "  meet j: drive A@1.1, gallop B@1.2\n", 10'000, 20'000),
      {"clearing a workspace", "O(i,h) = M(i,j) * X(j,k) * W(k,h)",
       {{"M", "sparse(2000x100,nnz=4000)"}, {"X", "uniform(100x256)"}, {"W", "uniform(256x8)"}},
       "schedule\n tree ((M * X) * W)\n layout M ss:0,1 f64\n layout X dd:0,1 f64\n layout W dd:0,1 f64\n"
       " intermediate x[i,k] dd:0,1 f64\n result O dd:0,1 f64\n x[i,k] += M[i,j] * X[j,k] loops i,j,k vector k\n"
       " O[i,h] += x[i,k] * W[k,h] loops i,k,h fused 1 vector h\n parallel i serial\n"},
      {"a nest", "t() = x(i) * y(i)", {{"x", "uniform(8)"}, {"y", "uniform(8)"}},
       "schedule\n tree (x * y)\n layout x d:0 f64\n layout y d:0 f64\n result t f64\n t[] += x[i] * y[i] loops i vector i\n"
       " parallel i serial\n"},
  };
}

}  // namespace weft
