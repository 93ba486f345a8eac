// Hand-written kernels: what an expert would write in C++ for one expression, compiled for this machine.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "bench/problem.h"
#include "weft/tensor.h"

namespace weft::bench {

/// Clears the result and computes it.
using BaselineRun = std::function<void(const Threads& threads, double* result)>;

/// The kernel of the problem over these operands, with its layouts built. Empty if the problem has none. Input error
/// for ranks other than 16, 32 and 64, for which the kernels are instantiated.
Expected<BaselineRun> make_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                    const Resources& resources);

Expected<BaselineRun> make_mttkrp_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                           const Resources& resources);
Expected<BaselineRun> make_spmm_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                         const Resources& resources);
Expected<BaselineRun> make_four_sparse_baseline(const std::map<std::string, Tensor>& operands,
                                                const Resources& resources);

/// Zeroes `count` elements with all threads.
void clear(double* result, std::size_t count, const Threads& threads);

}  // namespace weft::bench
