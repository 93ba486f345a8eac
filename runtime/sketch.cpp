#include "runtime/sketch.h"

#include <cmath>
#include <limits>

namespace weft {
namespace {

/// sigma(x) = x + sum over k >= 1 of x^(2^k) 2^(k-1): the weight of registers never touched.
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double factor = 1;
  double sum = x;
  for (double before = -1; before != sum;) {
    x *= x;
    before = sum;
    sum += x * factor;
    factor += factor;
  }
  return sum;
}

/// tau(x) = (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 2^-k) / 3: the weight of saturated registers.
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double factor = 1;
  double rest = 1 - x;
  for (double before = -1; before != rest;) {
    x = std::sqrt(x);
    before = rest;
    factor *= 0.5;
    rest -= (1 - x) * (1 - x) * factor;
  }
  return rest / 3;
}

}  // namespace

double Sketch::estimate() const {
  std::array<double, ranks + 2> count{};
  for (std::uint8_t rank : registers_) ++count[rank];
  const auto size = static_cast<double>(registers_.size());
  double z = size * tau(1 - count[ranks + 1] / size);
  for (unsigned k = ranks; k >= 1; --k) z = 0.5 * (z + count[k]);
  z += size * sigma(count[0] / size);
  return size * size / (2 * std::log(2.0) * z);
}

}  // namespace weft
