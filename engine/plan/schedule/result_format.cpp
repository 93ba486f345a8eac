#include "engine/plan/schedule/result_format.h"

#include <algorithm>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

// The layout of a result whose first levels are the first `shared` ones of a layout, over these indices, above a dense block.
Format format_at(const Format& layout, std::size_t shared, const std::vector<IndexId>& indices, const std::vector<IndexId>& result,
                 Scalar scalar) {
  Format format{scalar, {}, {layout.levels.begin(), layout.levels.begin() + static_cast<std::ptrdiff_t>(shared)}};
  IndexSet added = 0;
  for (std::size_t level = 0; level < shared; ++level) {
    format.mode_order.push_back(static_cast<std::uint32_t>(std::ranges::find(result, indices[level]) - result.begin()));
    added |= one_index(indices[level]);
  }
  for (std::uint32_t mode = 0; mode < result.size(); ++mode)
    if (!contains(added, result[mode])) format.mode_order.push_back(mode);
  format.levels.resize(format.mode_order.size());
  return format;
}

// A factor with the indices of the result, each once; none that is located through its layout.
const TensorAccess* whole_factor(const Network& network, TensorId operand) {
  if (!network.tensors[operand].parts.empty()) return nullptr;
  const Assignment& assignment = network.assignments.front();
  const IndexSet wanted = index_set(assignment.result.indices);
  for (const TensorAccess& factor : assignment.terms.front().factors) {
    const bool same = factor.tensor == operand && factor.indices.size() == assignment.result.indices.size() &&
                      index_set(factor.indices) == wanted;
    if (same) return &factor;
  }
  return nullptr;
}

// Whether all factors but this one are dense and certain, with a place for every coordinate, and no sum over their indices is empty.
bool is_alone_sparse(const Network& network, const TensorAccess& sparse, const std::vector<OperandFacts>& operands) {
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    if (factor == sparse) continue;
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (has_sparse_level(facts.format) || !facts.certain || network.tensors[factor.tensor].has_sums()) return false;
    for (const IndexId index : factor.indices) {
      if (network.indices[index].extent == 0) return false;
    }
  }
  return true;
}

// Whether the levels of the result, up to the last that is not dense, are kinds and indices of the first ones of an operand. Indices are
// by mode.
bool share_levels(const std::vector<IndexId>& operand, const Format& layout, const std::vector<IndexId>& result, const Format& format) {
  const std::size_t levels = appended_levels(format.levels);
  if (levels == 0 || levels > layout.order()) return false;
  for (std::size_t level = 0; level < levels; ++level) {
    if (layout.levels[level].kind != format.levels[level].kind) return false;
    if (operand[layout.mode_order[level]] != result[format.mode_order[level]]) return false;
  }
  return true;
}

}  // namespace

bool has_pattern_of(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const TensorAccess* whole = whole_factor(network, operand);
  return whole != nullptr && is_alone_sparse(network, *whole, operands);
}

std::optional<Format> pattern_format(const Network& network, TensorId operand, const Format& layout) {
  const TensorAccess* whole = whole_factor(network, operand);
  if (whole == nullptr) return std::nullopt;
  const Assignment& assignment = network.assignments.front();
  return format_at(layout, layout.order(), by_level(whole->indices, layout), assignment.result.indices,
                   network.tensors[assignment.result.tensor].scalar);
}

std::optional<Format> leading_format(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const Assignment& assignment = network.assignments.front();
  const TensorDeclaration& result = network.tensors[assignment.result.tensor];
  const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
  const auto factor = std::ranges::find(factors, operand, &TensorAccess::tensor);
  if (factor == factors.end() || std::ranges::count(factors, operand, &TensorAccess::tensor) != 1) return std::nullopt;
  if (!network.tensors[operand].parts.empty() || !result.parts.empty()) return std::nullopt;
  const Format& layout = facts_of(operands, operand).format;
  const std::vector<IndexId> indices = by_level(factor->indices, layout);
  const std::vector<IndexId>& wanted = assignment.result.indices;
  if (members(index_set(indices)).size() != indices.size() || members(index_set(wanted)).size() != wanted.size()) return std::nullopt;
  std::size_t shared = 0;
  while (shared < indices.size() && contains(index_set(wanted), indices[shared])) ++shared;
  const std::vector<Level> leading(layout.levels.begin(), layout.levels.begin() + static_cast<std::ptrdiff_t>(shared));
  shared = appended_levels(leading);
  if (shared == 0 || !is_compressed(layout.levels[shared - 1].kind)) return std::nullopt;
  if (shared == indices.size() && shared == wanted.size()) return std::nullopt;
  for (std::size_t level = 0; level < indices.size(); ++level) {
    const LevelKind kind = layout.levels[level].kind;
    if (network.indices[indices[level]].extent == 0 || (!is_dense(kind) && !is_compressed(kind)) || layout.levels[level].strided)
      return std::nullopt;
    if (level >= shared && !is_dense(kind) && contains(index_set(wanted), indices[level])) return std::nullopt;
  }
  if (!is_alone_sparse(network, *factor, operands)) return std::nullopt;
  return format_at(layout, shared, indices, wanted, result.scalar);
}

bool keeps_order(const Format& one, const Format& other) {
  const auto has_entries_alone = [](const Format& format) {
    const std::size_t dense = leading_dense_levels(format.levels);
    if (format.layout != nullptr || dense == format.order()) return false;
    for (std::size_t level = dense; level < format.order(); ++level) {
      const LevelKind kind = format.levels[level].kind;
      const bool goes_on = level > dense && !has_one_entry(format.levels[level - 1].kind, kind);
      if (!is_compressed(kind) && !begins_chain(kind) && !(is_per_parent(kind) && goes_on)) return false;
    }
    return true;
  };
  return one.mode_order == other.mode_order && has_entries_alone(one) && has_entries_alone(other);
}

bool is_bound_beside(const Schedule& schedule, std::size_t writer, std::uint32_t operand) {
  const ScheduledStatement& writing = schedule.statements[writer];
  const ScheduledTensor& result = schedule.tensors[writing.target.tensor];
  const ScheduledTensor& shared = schedule.tensors[operand];
  const std::size_t levels = appended_levels(result.format.levels);
  for (std::size_t number = 0; number <= writer; ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (const ScheduledAccess& factor : statement.factors) {
      if (factor.tensor != operand || !share_levels(factor.indices, shared.format, writing.target.indices, result.format)) continue;
      const std::vector<BoundLevel> bound = bind_levels(factor.indices, shared.format, statement.loops);
      const std::size_t last = bound[levels - 1].loop;
      const bool goes_on = levels < bound.size() && bound[levels].loop == last;
      if (!goes_on && last < shared_loops(schedule, number, writer)) return true;
    }
  }
  return false;
}

namespace {

// A dense first level has a position for every coordinate, which costs less than a coordinate per entry if most have one.
constexpr double rows_per_entry = 1;

const TensorDeclaration& result_of(const Network& network) {
  return network.tensors[network.assignments.front().result.tensor];
}

// The first operand whose pattern the result provably has and could share.
std::optional<TensorId> shared_pattern(const Network& network, const std::vector<OperandFacts>& operands) {
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (facts.computed || facts.copied) continue;
    if (!facts.format.all_dense() && has_pattern_of(network, factor.tensor, operands)) {
      return factor.tensor;
    }
  }
  return std::nullopt;
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
    const bool sparse = indices.size() > 1 && sparse_factors(network, operands) > 0;
    return dense_ways(requested->second, sparse ? result_estimate(problem).restricted() : 0, problem);
  }
  const ResultFormat dense{dense_format(result.extents.size(), result.scalar)};
  // The order of workspaces is a question about dense ones.
  const bool orders = options.objective == Objective::workspace_order;
  if (!asked && orders) return {dense};
  if (!asked && (result.extents.empty() || sparse_factors(network, operands) == 0)) return {dense};
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

bool may_be_computed(const Format& format) {
  return std::ranges::all_of(format.levels, [](const Level& level) {
    return is_appendable(level.kind);
  });
}

bool may_be_delivered(const Format& computed, const Format& delivered) {
  const auto end = delivered.mode_order.end();
  const auto block = end - static_cast<std::ptrdiff_t>(delivered.order() - appended_levels(delivered.levels));
  for (std::size_t level = appended_levels(computed.levels); level < computed.order(); ++level) {
    if (std::find(block, end, computed.mode_order[level]) == end) return false;
  }
  return true;
}

Format computed_format(const Format& requested) {
  Format format = requested;
  for (Level& level : format.levels) {
    level = Level{is_dense(level.kind) ? LevelKind::dense : LevelKind::compressed};
  }
  return format;
}

}  // namespace weft
