// Sparse matrix times dense matrix, and times a vector, over compressed rows.
#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/row.h"

namespace weft::bench {
namespace {

template <int R>
void rows(const Csf& csf, const double* __restrict factor, double* __restrict result, std::uint32_t begin,
          std::uint32_t end) {
  for (std::uint32_t root = begin; root < end; ++root) {
    Row<R> sum;
    sum.clear();
    for (std::uint32_t position = csf.pos[1][root]; position < csf.pos[1][root + 1]; ++position)
      sum.add_scaled(csf.values[position], factor + std::size_t{csf.crd[1][position]} * R);
    sum.store(result + std::size_t{csf.crd[0][root]} * R);
  }
}

// Four sums at once hide the latency of the additions.
template <>
void rows<1>(const Csf& csf, const double* __restrict factor, double* __restrict result, std::uint32_t begin,
             std::uint32_t end) {
  for (std::uint32_t root = begin; root < end; ++root) {
    double sum[4] = {};
    std::uint32_t position = csf.pos[1][root];
    const std::uint32_t last = csf.pos[1][root + 1];
    for (; position + 4 <= last; position += 4)
      for (std::uint32_t n = 0; n < 4; ++n) sum[n] += csf.values[position + n] * factor[csf.crd[1][position + n]];
    for (; position < last; ++position) sum[0] += csf.values[position] * factor[csf.crd[1][position]];
    result[csf.crd[0][root]] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

template <int R>
BaselineRun kernel(Csf csf, Tensor factor) {
  return [csf = std::move(csf), factor = std::move(factor)](const Threads& threads, double* result) {
    clear(result, csf.owner.extents()[0] * R, threads);
    const double* values = factor.values().as<const double>().data();
    threads.for_each(csf.chunks.size() - 1, [&](std::size_t chunk, unsigned) {
      rows<R>(csf, values, result, csf.chunks[chunk], csf.chunks[chunk + 1]);
    });
  };
}

}  // namespace

Expected<BaselineRun> make_spmm_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                         const Resources& resources) {
  auto csf = make_csf(operands.at("T"), 0, resources);
  if (!csf) return std::unexpected(csf.error());
  if (problem.baseline == Baseline::spmv) return kernel<1>(std::move(*csf), operands.at("x"));
  if (problem.rank == 16) return kernel<16>(std::move(*csf), operands.at("B"));
  if (problem.rank == 32) return kernel<32>(std::move(*csf), operands.at("B"));
  if (problem.rank == 64) return kernel<64>(std::move(*csf), operands.at("B"));
  return input_error("the hand-written SpMM has rank 16, 32 or 64");
}

}  // namespace weft::bench
