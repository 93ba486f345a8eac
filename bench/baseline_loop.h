// What a host writes by hand where it calls weft in a loop: a product with a matrix, a search, in one function each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::bench {

/// Compressed rows, or columns.
struct Lists {
  std::span<const std::uint32_t> pos, crd;
  std::span<const double> values;
};

/// y = M x, M by rows.
void multiply(const Lists& rows, std::span<const double> x, std::span<double> y);

/// y = M x for some columns of M, each times the value beside it; `touched` lists the rows of y that are not 0, which
/// are cleared first.
void multiply_columns(const Lists& columns, std::span<const std::uint32_t> chosen, std::span<const double> x,
                      std::span<double> y, std::vector<std::uint32_t>& touched);

/// Steps from vertex 0 to each vertex, -1 where there is no way: breadth-first, with two frontiers that take turns.
std::vector<std::int32_t> search_levels(const Lists& edges);

}  // namespace weft::bench
