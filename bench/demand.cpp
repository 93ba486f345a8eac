#include "bench/demand.h"

#include <algorithm>

#include "bench/csf.h"
#include "frontend/parse.h"

namespace weft::bench {
namespace {

constexpr double sparse_entry_bytes = 12;

bool multiplies_sparse(const Problem& problem) {
  return problem.baseline == Baseline::product || problem.baseline == Baseline::product_chain ||
         problem.baseline == Baseline::masked_product;
}

/// Of a factor whose first index is one of T's.
Demand::Gather gather_of(const Tensor& factor, double rows) {
  Demand::Gather gather;
  gather.table = static_cast<double>(factor.bytes());
  gather.row = gather.table / static_cast<double>(factor.extents()[0]);
  gather.bytes = rows * gather.row;
  return gather;
}

}  // namespace

Expected<Demand> demand_of(const Problem& problem, const std::map<std::string, Tensor>& operands, double flops, double result_bytes,
                           const Resources& resources) {
  Demand demand;
  demand.flops = flops;
  demand.streamed = result_bytes;
  double sparse_bytes = 0;
  for (const auto& [name, tensor] : operands)
    if (!tensor.format().all_dense()) sparse_bytes += static_cast<double>(tensor.bytes());
  demand.streamed += sparse_bytes;
  if (multiplies_sparse(problem)) demand.gathers.push_back({flops / 2 * sparse_entry_bytes, sparse_bytes, 10 * sparse_entry_bytes});
  if (multiplies_sparse(problem) || !operands.contains("T")) return demand;

  const auto parsed = parse_expression(problem.defined_by());
  if (!parsed) return std::unexpected(parsed.error());
  const std::vector<ParsedAccess>& factors = parsed->assignments.front().terms.front().factors;
  const auto sparse = std::ranges::find(factors, "T", &ParsedAccess::name);
  if (sparse == factors.end()) return demand;
  const auto csf = make_csf(operands.at("T"), problem.mode, resources);
  if (!csf) return std::unexpected(csf.error());
  for (const ParsedAccess& factor : factors) {
    if (!operands.at(factor.name).format().all_dense()) continue;
    const auto mode = std::ranges::find(sparse->indices, factor.indices.front().name, &ParsedIndex::name) - sparse->indices.begin();
    const auto& order = csf->owner.format().mode_order;
    const auto level = static_cast<std::size_t>(std::ranges::find(order, static_cast<std::uint32_t>(mode)) - order.begin());
    const Demand::Gather gather = gather_of(operands.at(factor.name), static_cast<double>(csf->owner.positions(level)));
    if (level == 0)
      demand.streamed += gather.bytes;
    else
      demand.gathers.push_back(gather);
  }
  return demand;
}

Limit limit_of(const Demand& demand, const Roofs& roofs) {
  double gathered = 0;
  double elements = 0;
  for (const Demand::Gather& gather : demand.gathers) {
    const bool narrow = gather.row < 64;
    const double ms = gather.bytes / (narrow ? roofs.elements : roofs.rows).at(gather.table) * 1e-6;
    (narrow ? elements : gathered) += ms;
  }
  const std::vector<Limit> limits = {{"flop", demand.flops / roofs.gflops * 1e-6},
                                     {"stream", demand.streamed / roofs.stream.at(demand.streamed) * 1e-6},
                                     {"rows", gathered},
                                     {"elements", elements}};
  return std::ranges::max(limits, {}, &Limit::ms);
}

}  // namespace weft::bench
