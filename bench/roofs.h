// Roofs: the most that this machine does of one thing, measured on so many threads: products added in registers, bytes read in order from
// each cache and from memory, rows and elements read from places without any order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"

namespace weft::bench {

/// GB/s by the bytes that are read over and over; in between, and beyond both ends, by the logarithm of the bytes.
struct RateBySize {
  std::vector<std::pair<double, double>> points;  ///< bytes, ascending, and rate
  double at(double bytes) const;
};

struct Roofs {
  unsigned threads = 1;
  double gflops = 0;
  RateBySize stream;
  RateBySize rows;      ///< of 256 bytes
  RateBySize elements;  ///< of 8 bytes, eight at a time
};

/// Takes about half a second; what the machine does for others meanwhile lowers them.
Roofs measure_roofs(const Threads& threads);

/// "1 thread: 59 GFLOP/s; read in order 210 (16 KiB) …", a line.
std::string roofs_line(const Roofs& roofs);

}  // namespace weft::bench
