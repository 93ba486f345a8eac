#include "bench/baseline.h"

#include <algorithm>
#include <cstring>

namespace weft::bench {

Expected<BaselineRun> make_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                    const Resources& resources) {
  switch (problem.baseline) {
    case Baseline::mttkrp:
      return make_mttkrp_baseline(problem, operands, resources);
    case Baseline::spmm:
    case Baseline::spmv:
      return make_spmm_baseline(problem, operands, resources);
    case Baseline::four_sparse:
      return make_four_sparse_baseline(operands, resources);
    case Baseline::none:
      break;
  }
  return BaselineRun();
}

void clear(double* result, std::size_t count, const Threads& threads) {
  constexpr std::size_t block = std::size_t{1} << 16;
  if (count <= block || threads.count() == 1) {
    std::memset(result, 0, count * sizeof(double));
    return;
  }
  const std::size_t blocks = (count + block - 1) / block;
  threads.for_each(blocks, [&](std::size_t n, unsigned) {
    std::memset(result + n * block, 0, std::min(block, count - n * block) * sizeof(double));
  });
}

}  // namespace weft::bench
