#include "engine/plan/schedule/result_format.h"

#include <algorithm>

#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/shared_pattern.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

// A dense first level has a position for every coordinate, which costs less than a coordinate per entry if most have one.
constexpr double rows_per_entry = 1;

const TensorDeclaration& result_of(const Network& network) {
  return network.tensors[network.assignments.front().result.tensor];
}

bool has_sparse_factor(const Network& network, const std::vector<OperandFacts>& operands) {
  return std::ranges::any_of(network.assignments.front().terms.front().factors, [&](const TensorAccess& factor) {
    return has_sparse_level(facts_of(operands, factor.tensor).format);
  });
}

// The requested pattern, or the one that the result provably has.
std::optional<ResultFormat> like_format(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const auto pattern = options.result_patterns.find(result_of(network).name);
  std::optional<TensorId> operand;
  if (pattern == options.result_patterns.end()) {
    operand = shared_pattern(network, operands);
  } else {
    const auto named = std::ranges::find(network.tensors, pattern->second, &TensorDeclaration::name);
    operand = static_cast<TensorId>(named - network.tensors.begin());
  }
  if (!operand) return std::nullopt;
  auto format = pattern_format(network, *operand, facts_of(operands, *operand).format);
  if (!format) return std::nullopt;
  if (format->all_dense()) {
    for (Level& level : format->levels) level.strided = false;  // rows of the operand may lie apart in the host's memory, its own do not
    return ResultFormat{*format};
  }
  return ResultFormat{*format, {}, operand};
}

// The leading levels of an operand, where the result provably has entries there and nowhere else.
std::optional<ResultFormat> leading_like_format(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (facts.computed || facts.copied) continue;
    if (const auto format = leading_format(network, factor.tensor, operands)) return ResultFormat{*format, {}, factor.tensor};
  }
  return std::nullopt;
}

// A dense result whose rows lie along an index that sparse factors restrict is written here and there, a line of the cache for each
// element: with the unrestricted modes last instead, and converted, it is written row by row. R(k,j) = X(i,k) * M(i,j) is computed by j.
std::vector<ResultFormat> dense_ways(const Format& wanted, IndexSet restricted, const Problem& problem) {
  const PlanOptions& options = problem.options;
  std::vector<ResultFormat> ways{{wanted}};
  const std::vector<IndexId>& indices = problem.network.assignments.front().result.indices;
  if (!options.reorders_results || options.objective == Objective::workspace_order || indices.size() < 2) return ways;
  if (index_set(indices) == one_index(indices.front())) return ways;  // R(i,i): a diagonal
  if (!contains(restricted, indices[wanted.mode_order.back()])) return ways;
  Format by_rows = wanted;
  std::ranges::stable_partition(by_rows.mode_order, [&](std::uint32_t mode) { return contains(restricted, indices[mode]); });
  if (by_rows.mode_order != wanted.mode_order) ways.push_back({by_rows, wanted});
  return ways;
}

}  // namespace

Format sparse_result_format(const ProductEstimate& product, const std::vector<IndexId>& indices,
                            std::vector<std::uint32_t> mode_order, IndexSet block, Scalar scalar) {
  Format format = sparse_format(indices.size(), scalar);
  format.mode_order = std::move(mode_order);
  std::size_t compressed = format.order();
  while (compressed > 1 && contains(block, indices[format.mode_order[compressed - 1]])) {
    format.levels[--compressed].kind = LevelKind::dense;
  }
  if (compressed < 2) return format;
  const double rows = product.extent(indices[format.mode_order.front()]);
  if (rows <= rows_per_entry * product.distinct(index_set(indices))) format.levels.front().kind = LevelKind::dense;
  return format;
}

Format in_order_of_loops(const ProductEstimate& product, const std::vector<IndexId>& indices, IndexSet block,
                         const std::vector<IndexId>& loops, Scalar scalar) {
  std::vector<std::uint32_t> order;
  for (const IndexSet modes : {index_set(indices) & ~block, block}) {
    for (const IndexId index : loops) {
      if (!contains(modes, index)) continue;
      order.push_back(static_cast<std::uint32_t>(std::ranges::find(indices, index) - indices.begin()));
    }
  }
  return sparse_result_format(product, indices, std::move(order), block, scalar);
}

std::vector<ResultFormat> result_formats(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const TensorDeclaration& result = result_of(network);
  const std::vector<IndexId>& indices = network.assignments.front().result.indices;
  const auto requested = options.result_formats.find(result.name);
  const bool asked = requested != options.result_formats.end();
  if (options.result_patterns.contains(result.name)) {
    const auto like = like_format(problem);
    return {like ? *like : ResultFormat{dense_format(result.extents.size(), result.scalar)}};
  }
  if (asked && requested->second.all_dense()) {
    const bool sparse = indices.size() > 1 && has_sparse_factor(network, operands);
    return dense_ways(requested->second, sparse ? result_estimate(problem).restricted() : 0, problem);
  }
  const ResultFormat dense{dense_format(result.extents.size(), result.scalar)};
  // The order of workspaces is a question about dense ones.
  const bool orders = options.objective == Objective::workspace_order;
  if (!asked && orders) return {dense};
  if (!asked && (result.extents.empty() || !has_sparse_factor(network, operands))) return {dense};
  const ProductEstimate product = result_estimate(problem);
  if (!asked && product.fill(index_set(indices)) >= sparse_fill) return dense_ways(dense.format, product.restricted(), problem);

  // Shared positions cost nothing: where they are possible nothing is cheaper.
  const auto like = like_format(problem);
  if (like && like->like && (!asked || same_layout(like->format, requested->second))) return {*like};
  const auto leading = leading_like_format(problem);
  const IndexSet unrestricted = index_set(indices) & ~product.restricted();
  if (!asked) {
    std::vector<ResultFormat> ways{
        {sparse_result_format(product, indices, dense.format.mode_order, unrestricted, result.scalar)}};
    if (indices.size() > 1) {
      ways.push_back(unrestricted == index_set(indices) ? dense : ResultFormat{{}, {}, {}, Storage::of_loops, unrestricted});
    }
    if (leading) ways.push_back(*leading);
    return ways;
  }
  const Format plain = computed_format(requested->second);
  std::vector<ResultFormat> ways{
      {plain, same_layout(plain, requested->second) ? std::optional<Format>{} : requested->second}};
  if (leading && same_layout(leading->format, requested->second)) ways.push_back(*leading);
  if (indices.size() < 2) return ways;
  const IndexSet block = index_set(by_level(indices, requested->second, appended_levels(requested->second.levels), indices.size()));
  ways.push_back({{}, requested->second, {}, Storage::of_loops, block});
  return ways;
}

ResultFormat plainest_result_format(const Problem& problem) {
  return result_formats(problem).front();
}

void set_result_format(Contractions& contractions, const Network& network, const ResultFormat& chosen) {
  ContractedTensor& result = contractions.tensors.back();
  result.storage = chosen.storage;
  result.layout = chosen.format;
  result.scalar = chosen.storage == Storage::stored ? chosen.format.scalar : result_of(network).scalar;
  result.block = chosen.block;
  result.delivered = chosen.delivered;
  result.like.reset();
  if (!chosen.like) return;
  const std::vector<TensorAccess>& factors = network.assignments.front().terms.front().factors;
  for (std::uint32_t factor = 0; factor < factors.size() && !result.like; ++factor) {
    const bool same = factors[factor].tensor == *chosen.like &&
                      share_levels(factors[factor].indices, contractions.tensors[factor].layout,
                                   network.assignments.front().result.indices, chosen.format);
    if (same) result.like = factor;
  }
}

}  // namespace weft
