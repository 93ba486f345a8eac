#include "bench/baseline_loop.h"

namespace weft::bench {

void multiply(const Lists& rows, std::span<const double> x, std::span<double> y) {
  for (std::size_t row = 0; row < y.size(); ++row) {
    double sum = 0;
    for (std::uint32_t at = rows.pos[row]; at < rows.pos[row + 1]; ++at) sum += rows.values[at] * x[rows.crd[at]];
    y[row] = sum;
  }
}

void multiply_columns(const Lists& columns, std::span<const std::uint32_t> chosen, std::span<const double> x,
                      std::span<double> y, std::vector<std::uint32_t>& touched) {
  for (const std::uint32_t row : touched) y[row] = 0;
  touched.clear();
  for (std::size_t n = 0; n < chosen.size(); ++n)
    for (std::uint32_t at = columns.pos[chosen[n]]; at < columns.pos[chosen[n] + 1]; ++at) {
      if (y[columns.crd[at]] == 0) touched.push_back(columns.crd[at]);
      y[columns.crd[at]] += columns.values[at] * x[n];
    }
}

std::vector<std::int32_t> search_levels(const Lists& edges) {
  std::vector<std::int32_t> level(edges.pos.size() - 1, -1);
  level[0] = 0;
  std::vector<std::uint32_t> frontier = {0};
  std::vector<std::uint32_t> next;
  for (std::int32_t step = 1; !frontier.empty(); ++step) {
    next.clear();
    for (const std::uint32_t vertex : frontier)
      for (std::uint32_t at = edges.pos[vertex]; at < edges.pos[vertex + 1]; ++at) {
        if (level[edges.crd[at]] >= 0) continue;
        level[edges.crd[at]] = step;
        next.push_back(edges.crd[at]);
      }
    std::swap(frontier, next);
  }
  return level;
}

}  // namespace weft::bench
