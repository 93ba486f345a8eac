// Hand-written kernels: what an expert would write in C++ for one expression, compiled for this machine.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/problem.h"
#include "weft/tensor.h"

namespace weft::bench {

/// A kernel with everything it reads and writes.
struct BaselineKernel {
  std::function<void(const Threads& threads)> run;  ///< clears the result and computes it
  std::function<Expected<Tensor>()> result;         ///< of the last run
  std::string variant = {};                         ///< "flat, fetched"; empty where there is one way only
  std::function<void()> forget = {};                ///< writes NaN over the result, if runs do not make a new one
};

/// Clears the values of a result whose structure is known beforehand, and computes them.
using BaselineRun = std::function<void(const Threads& threads, double* result)>;
struct BaselineVariant {
  std::string name;
  BaselineRun run;
};

/// The ways in which an expert would write the problem over these operands, with their layouts built, the plainest first: which of them is
/// the fastest depends on the tensor. Empty if the problem has none. Input error for ranks other than 16, 32 and 64, for which the
/// kernels are instantiated.
Expected<std::vector<BaselineKernel>> make_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                     const Resources& resources);

Expected<std::vector<BaselineVariant>> make_mttkrp_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                             const Resources& resources);
Expected<std::vector<BaselineVariant>> make_ttmc_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                           const Resources& resources);
Expected<std::vector<BaselineVariant>> make_spmm_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                           const Resources& resources);
Expected<std::vector<BaselineVariant>> make_four_sparse_baselines(const std::map<std::string, Tensor>& operands,
                                                                  const Resources& resources);

/// Gustavson, "Two fast algorithms for sparse matrices" (TOMS 1978): products, chains of three, masked ones.
Expected<BaselineKernel> make_product_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                               const Resources& resources);
/// Results with the pattern of T, or of its leading modes.
Expected<std::vector<BaselineKernel>> make_pattern_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                             const Resources& resources);

/// Kernels over the values of a tensor whose structure is that of the result; all write into the same one.
std::vector<BaselineKernel> over_values(const std::vector<BaselineVariant>& variants, Tensor result);

/// Zeroes `count` elements with all threads.
void clear(double* result, std::size_t count, const Threads& threads);

}  // namespace weft::bench
