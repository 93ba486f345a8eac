// Hand-written kernels: what an expert would write in C++ for one expression, compiled for this machine.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "bench/problem.h"
#include "weft/tensor.h"

namespace weft::bench {

/// A kernel with everything it reads and writes; empty if a problem has none.
struct BaselineKernel {
  std::function<void(const Threads& threads)> run;  ///< clears the result and computes it
  std::function<Expected<Tensor>()> result;         ///< of the last run
  explicit operator bool() const { return run != nullptr; }
};

/// Clears the values of a result whose structure is known beforehand, and computes them.
using BaselineRun = std::function<void(const Threads& threads, double* result)>;

/// The kernel of the problem over these operands, with its layouts built. Empty if the problem has none. Input error
/// for ranks other than 16, 32 and 64, for which the kernels are instantiated.
Expected<BaselineKernel> make_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                    const Resources& resources);

Expected<BaselineRun> make_mttkrp_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                           const Resources& resources);
Expected<BaselineRun> make_spmm_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                         const Resources& resources);
Expected<BaselineRun> make_four_sparse_baseline(const std::map<std::string, Tensor>& operands,
                                                const Resources& resources);

/// Gustavson, "Two fast algorithms for sparse matrices" (TOMS 1978): products, chains of three, masked ones.
Expected<BaselineKernel> make_product_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                               const Resources& resources);
/// Results with the pattern of T, or of its leading modes.
Expected<BaselineKernel> make_pattern_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                               const Resources& resources);

/// A kernel over the values of a tensor whose structure is that of the result.
BaselineKernel over_values(BaselineRun run, Tensor result);

/// Zeroes `count` elements with all threads.
void clear(double* result, std::size_t count, const Threads& threads);

}  // namespace weft::bench
