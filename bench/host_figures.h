// The lines of `weft-bench hosts`: calls timed in turn, what stands beside them, the first error of any.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "weft/engine.h"

namespace weft::bench {

/// The first error of the calls that are timed.
class Errors {
 public:
  template <class T>
  bool good(const Expected<T>& result) {
    if (!result && first_) first_ = std::unexpected(result.error());
    return result.has_value();
  }
  void wrong(const std::string& what) {
    if (first_) first_ = internal_error(what + " is wrong");
  }
  const Expected<void>& first() const { return first_; }

 private:
  Expected<void> first_;
};

struct HostFigure {
  double us = 0;      ///< median of a call
  double spread = 0;  ///< half the distance of the quartiles over it
  double best = 0;    ///< the fastest round's, which a busy machine disturbs least
};

/// Times of a call each: rounds of `calls` calls, all variants in turn.
std::vector<HostFigure> microseconds(const std::vector<std::function<void()>>& variants, int calls, double seconds = 1);

HostFigure figure_of(const Timing& timing, int calls);

/// "name   us   spread   best   ratio of medians, of the fastest x what", the ratios to `beside`.
void print_line(const std::string& name, const HostFigure& figure, const std::string& what = {},
                const HostFigure& beside = {});
void print_head(const std::string& what);

/// With caches in memory alone.
Engine engine_with(unsigned threads);

bool same_values(const Tensor& tensor, std::span<const double> values);

/// Calls from a host's first ones to those over large operands.
Expected<void> host_calls(unsigned threads, Errors& errors);
Expected<void> tiny_host_calls(Errors& errors);
/// ALS sweeps, the first compile of a decomposition's kernels, a search.
Expected<void> host_methods(const std::string& data, unsigned threads, Errors& errors);
/// Threads of a host on one engine and on one each; many kernels on one tensor.
Expected<void> host_sharing(Errors& errors);
/// Filter, split and append of a tensor.
Expected<void> host_pieces(Errors& errors);
/// The threads of host_sharing() alone.
Expected<void> threads_on_engines(Errors& errors);

}  // namespace weft::bench
