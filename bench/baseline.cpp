#include "bench/baseline.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "frontend/parse.h"

namespace weft::bench {
namespace {

// The result of a kernel that computes every element.
Expected<Tensor> dense_result(const Problem& problem, const std::map<std::string, Tensor>& operands, const Resources& resources) {
  const auto parsed = parse_expression(problem.defined_by());
  if (!parsed) return std::unexpected(parsed.error());
  const ParsedAssignment& assignment = parsed->assignments.front();
  std::map<std::string, std::uint64_t> extents;
  for (const ParsedAccess& factor : assignment.terms.front().factors)
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
      extents[factor.indices[mode].name] = operands.at(factor.name).extents()[mode];
  std::vector<std::uint64_t> shape;
  for (const ParsedIndex& index : assignment.result.indices) shape.push_back(extents.at(index.name));
  return dense_zeros(shape, dense_format(shape.size()), resources, "result");
}

Expected<std::vector<BaselineKernel>> over_elements(const Expected<std::vector<BaselineVariant>>& variants, const Problem& problem,
                                                    const std::map<std::string, Tensor>& operands, const Resources& resources) {
  if (!variants) return std::unexpected(variants.error());
  auto result = dense_result(problem, operands, resources);
  if (!result) return std::unexpected(result.error());
  return over_values(*variants, std::move(*result));
}

}  // namespace

std::vector<BaselineKernel> over_values(const std::vector<BaselineVariant>& variants, Tensor result) {
  const auto shared = std::make_shared<Tensor>(std::move(result));
  std::vector<BaselineKernel> kernels;
  for (const auto& [name, run] : variants)
    kernels.push_back({[run, shared](const Threads& threads) { run(threads, shared->writable_values<double>().data()); },
                       [shared]() -> Expected<Tensor> { return *shared; }, name,
                       [shared] { std::ranges::fill(shared->writable_values<double>(), std::nan("")); }});
  return kernels;
}

Expected<std::vector<BaselineKernel>> make_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                     const Resources& resources) {
  switch (problem.baseline) {
    case Baseline::mttkrp:
      return over_elements(make_mttkrp_baselines(problem, operands, resources), problem, operands, resources);
    case Baseline::ttmc:
      return over_elements(make_ttmc_baselines(problem, operands, resources), problem, operands, resources);
    case Baseline::spmm:
    case Baseline::spmv:
      return over_elements(make_spmm_baselines(problem, operands, resources), problem, operands, resources);
    case Baseline::four_sparse:
      return over_elements(make_four_sparse_baselines(operands, resources), problem, operands, resources);
    case Baseline::product:
    case Baseline::product_chain:
    case Baseline::masked_product: {
      auto kernel = make_product_baseline(problem, operands, resources);
      if (!kernel) return std::unexpected(kernel.error());
      return std::vector<BaselineKernel>{std::move(*kernel)};
    }
    case Baseline::sampled:
    case Baseline::sampled_product:
    case Baseline::ttm:
    case Baseline::ttm_chain:
      return make_pattern_baselines(problem, operands, resources);
    case Baseline::none:
      break;
  }
  return std::vector<BaselineKernel>();
}

void clear(double* result, std::size_t count, const Threads& threads) {
  constexpr std::size_t block = std::size_t{1} << 16;
  if (count <= block || threads.count() == 1) {
    std::memset(result, 0, count * sizeof(double));
    return;
  }
  const std::size_t blocks = (count + block - 1) / block;
  threads.for_each(
      blocks, [&](std::size_t n, unsigned) { std::memset(result + n * block, 0, std::min(block, count - n * block) * sizeof(double)); });
}

}  // namespace weft::bench
