// MTTKRP of any order up to five in the root mode of a CSF: the factored algorithm of Smith, Ravindran, Sidiropoulos and
// Karypis, "SPLATT" (IPDPS 2015), with every partial row in registers.
#include <array>

#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/row.h"

namespace weft::bench {
namespace {

using Factors = std::array<const double*, highest_csf_order>;  // by level

// The sum over the entries below position `parent`, of which level `Level` is the first.
template <int R, int Level, int Order>
inline Row<R> below(const Csf& csf, const Factors& factors, std::uint32_t parent) {
  Row<R> sum;
  sum.clear();
  const std::uint32_t end = csf.pos[Level][parent + 1];
  for (std::uint32_t position = csf.pos[Level][parent]; position < end; ++position) {
    const double* row = factors[Level] + std::size_t{csf.crd[Level][position]} * R;
    if constexpr (Level == Order - 1)
      sum.add_scaled(csf.values[position], row);
    else
      sum.add_product(below<R, Level + 1, Order>(csf, factors, position), row);
  }
  return sum;
}

template <int R, int Order>
BaselineRun kernel(Csf csf, const Factors& factors, std::vector<Tensor> owners) {
  return [csf = std::move(csf), factors, owners = std::move(owners)](const Threads& threads, double* result) {
    clear(result, csf.owner.extents()[csf.owner.format().mode_order[0]] * R, threads);
    threads.for_each(csf.chunks.size() - 1, [&](std::size_t chunk, unsigned) {
      for (std::uint32_t root = csf.chunks[chunk]; root < csf.chunks[chunk + 1]; ++root)
        below<R, 1, Order>(csf, factors, root).store(result + std::size_t{csf.crd[0][root]} * R);
    });
  };
}

template <int R>
Expected<BaselineRun> of_order(Csf csf, const Factors& factors, std::vector<Tensor> owners) {
  if (csf.order == 3) return kernel<R, 3>(std::move(csf), factors, std::move(owners));
  if (csf.order == 4) return kernel<R, 4>(std::move(csf), factors, std::move(owners));
  if (csf.order == 5) return kernel<R, 5>(std::move(csf), factors, std::move(owners));
  return input_error("the hand-written MTTKRP has order 3 to 5");
}

}  // namespace

Expected<BaselineRun> make_mttkrp_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                           const Resources& resources) {
  auto csf = make_csf(operands.at("T"), problem.mode, resources);
  if (!csf) return std::unexpected(csf.error());
  Factors factors{};
  std::vector<Tensor> owners;
  for (std::size_t level = 1; level < csf->order; ++level) {
    owners.push_back(operands.at("F" + std::to_string(csf->owner.format().mode_order[level])));
    factors[level] = owners.back().values().as<const double>().data();
  }
  if (problem.rank == 16) return of_order<16>(std::move(*csf), factors, std::move(owners));
  if (problem.rank == 32) return of_order<32>(std::move(*csf), factors, std::move(owners));
  if (problem.rank == 64) return of_order<64>(std::move(*csf), factors, std::move(owners));
  return input_error("the hand-written MTTKRP has rank 16, 32 or 64");
}

}  // namespace weft::bench
