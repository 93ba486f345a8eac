// Sparse matrix times dense matrix, and times a vector, over compressed rows.
#include <algorithm>
#include <memory>

#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/gather.h"

namespace weft::bench {
namespace {

struct SpmmOperands {
  Csf csf;
  Tensor owner;
  const double* factor = nullptr;
};
using SpmmShared = std::shared_ptr<const SpmmOperands>;

template <int R, bool Fetched>
struct SpmmRows {
  static constexpr int rank = R;
  static void root(const SpmmOperands& given, std::uint32_t root, double* __restrict result) {
    const Csf& csf = given.csf;
    const std::uint32_t last = csf.pos[1][csf.roots] - 1;
    Row<R> sum;
    sum.clear();
    for (std::uint32_t at = csf.pos[1][root]; at < csf.pos[1][root + 1]; ++at) {
      if constexpr (Fetched) fetch_row<R>(given.factor + std::size_t{csf.crd[1][std::min(at + fetched_ahead, last)]} * R);
      sum.add_scaled(csf.values[at], given.factor + std::size_t{csf.crd[1][at]} * R);
    }
    sum.store(result);
  }
};

// Four sums at once hide the latency of the additions.
struct SpmmFourSums {
  static constexpr int rank = 1;
  static void root(const SpmmOperands& given, std::uint32_t root, double* __restrict result) {
    const Csf& csf = given.csf;
    double sum[4] = {};
    std::uint32_t at = csf.pos[1][root];
    const std::uint32_t last = csf.pos[1][root + 1];
    for (; at + 4 <= last; at += 4)
      for (std::uint32_t n = 0; n < 4; ++n) sum[n] += csf.values[at + n] * given.factor[csf.crd[1][at + n]];
    for (; at < last; ++at) sum[0] += csf.values[at] * given.factor[csf.crd[1][at]];
    *result = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
};

// Eight elements of the vector at a time, into two vectors of sums; the last entries are masked.
struct SpmmGathered {
  static constexpr int rank = 1;
  static void root(const SpmmOperands& given, std::uint32_t root, double* __restrict result) {
    const Csf& csf = given.csf;
    const double* const values = csf.values;
    const std::uint32_t* const crd = csf.crd[1];
    std::uint32_t at = csf.pos[1][root];
    const std::uint32_t last = csf.pos[1][root + 1];
    Vector sum{};
    Vector other{};
    for (; at + 16 <= last; at += 16) {
      sum += loaded(values + at) * gathered(given.factor, crd + at);
      other += loaded(values + at + 8) * gathered(given.factor, crd + at + 8);
    }
    for (; at < last; at += 8) add_gathered(sum, values + at, given.factor, crd + at, std::min(last - at, 8U));
    *result = lane_sum(sum + other);
  }
};

template <typename Kernel>
BaselineRun spmm_kernel(const SpmmShared& given) {
  return [given](const Threads& threads, double* result) {
    const Csf& csf = given->csf;
    threads.for_each(csf.chunks.size() - 1, [&](std::size_t chunk, unsigned) {
      clear_rows_between(csf, chunk, Kernel::rank, result);
      for (std::uint32_t root = csf.chunks[chunk]; root < csf.chunks[chunk + 1]; ++root)
        Kernel::root(*given, root, result + std::size_t{csf.crd[0][root]} * Kernel::rank);
    });
  };
}

template <int R>
std::vector<BaselineVariant> spmm_of_rank(const SpmmShared& given) {
  return {{"rows", spmm_kernel<SpmmRows<R, false>>(given)}, {"rows, fetched", spmm_kernel<SpmmRows<R, true>>(given)}};
}

}  // namespace

Expected<std::vector<BaselineVariant>> make_spmm_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                           const Resources& resources) {
  auto csf = make_csf(operands.at("T"), 0, resources);
  if (!csf) return std::unexpected(csf.error());
  const bool vector = problem.baseline == Baseline::spmv;
  auto given = std::make_shared<SpmmOperands>();
  given->csf = std::move(*csf);
  given->owner = operands.at(vector ? "x" : "B");
  given->factor = given->owner.values().as<const double>().data();
  if (vector) {
    return std::vector<BaselineVariant>{{"four sums", spmm_kernel<SpmmFourSums>(given)}, {"gathered", spmm_kernel<SpmmGathered>(given)}};
  }
  if (problem.rank == 16) return spmm_of_rank<16>(given);
  if (problem.rank == 32) return spmm_of_rank<32>(given);
  if (problem.rank == 64) return spmm_of_rank<64>(given);
  return input_error("the hand-written SpMM has rank 16, 32 or 64");
}

}  // namespace weft::bench
