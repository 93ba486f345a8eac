// Demand: what a problem has to compute and to read at least, and how long that takes at the roofs of the machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/problem.h"
#include "bench/roofs.h"

namespace weft::bench {

struct Demand {
  struct Gather {
    double bytes = 0;  ///< read in all, row by row as coordinates say
    double table = 0;  ///< bytes of what the rows are of
    double row = 8;    ///< bytes
  };
  double flops = 0;
  double streamed = 0;  ///< bytes of sparse operands and results, each once
  std::vector<Gather> gathers;
};

/// Rows of a dense factor are read once for each fiber of the CSF with the result's first mode outermost that ends with their index: of
/// A(i,r) = T(i,j,k) * B(j,r) * C(k,r) a row of B for each pair (i,j), and one of C for each entry. Of a product of sparse operands, an
/// entry of 12 bytes is read for each multiplication.
Expected<Demand> demand_of(const Problem& problem, const std::map<std::string, Tensor>& operands, double flops, double result_bytes,
                           const Resources& resources);

/// The roof that lets the problem take no less than `ms`: "flop", "stream", "rows" or "elements".
struct Limit {
  std::string roof;
  double ms = 0;
};
Limit limit_of(const Demand& demand, const Roofs& roofs);

}  // namespace weft::bench
