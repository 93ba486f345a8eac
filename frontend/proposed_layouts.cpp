#include "frontend/proposed_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/plan/cost/conversion.h"
#include "runtime/block_fill.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr double least_fill = 0.75;
constexpr double least_group_fill = 0.55;  ///< of groups of rows, where none are that full: several sums over one coordinate
constexpr double least_shared = 1.4;      ///< entries of a group of rows at a coordinate: what an element of another operand is fetched for
constexpr std::uint64_t tallest = 4;      ///< rows of such a group: of six and eight even SpMV takes longer, up to 1.9 times
constexpr double least_strip_fill = 0.4;  ///< a place of a strip, read with its whole vector, takes a third of an entry that is read alone
constexpr double least_gain = 0.95;       ///< of the predicted time,
constexpr double sparse_gain = 0.85;      ///< where much of what is stored is no entry
constexpr std::uint64_t least_entries = 4096;  ///< of a matrix
constexpr double least_ns = 5e5;               ///< of all calls: planning again takes about as long

/// Sorting the entries of an operand, about as long as looking for another layout takes.
double sorting_ns(const OperandFacts& operand, const Machine& machine) {
  return machine.convert_entry * static_cast<double>(operand.stored->nnz());
}

/// Whether the calls take longer than looking for another layout of a sparse operand.
bool is_worth_a_look(const OperandFacts& operand, const Prepared& plain, double calls, const Machine& machine) {
  if (operand.stored == nullptr || operand.format.layout || operand.format.all_dense()) return false;
  return calls * plain.plan.cost.ns > std::max(least_ns, sorting_ns(operand, machine));
}

/// The groups of rows, and the blocks of several columns, that take least for the places they have: the former gather least, the latter
/// store least. The groups whose rows share most: of notredame_www, 4 by 1 and 41 % full, SpMV takes 0.55 of CSR's time. And the strips of
/// diagonals of the fewest vectors, a coordinate counted as one, and slices of rows.
std::vector<BlockFill> best_blocks(std::vector<BlockFill> fills) {
  constexpr double lanes = 8;
  std::vector<BlockFill> strips;
  std::ranges::copy_if(fills, std::back_inserter(strips),
                       [](const BlockFill& each) { return each.pieces == Pieces::strips && each.fill >= least_strip_fill; });
  std::vector<BlockFill> slices;
  std::ranges::copy_if(fills, std::back_inserter(slices),
                       [](const BlockFill& each) { return each.pieces == Pieces::slices && each.fill >= least_group_fill; });
  const auto vectors = [](const BlockFill& each) { return (1 + lanes / static_cast<double>(each.rows)) / each.fill; };
  std::erase_if(fills, [](const BlockFill& each) { return each.pieces != Pieces::blocks; });
  const auto is_group = [](const BlockFill& each) { return each.rows > 1 && each.columns == 1; };
  // A coordinate, and what belongs to a block as a whole, takes as long as some four places.
  const auto time = [](const BlockFill& each) { return (1 + 4.5 / static_cast<double>(each.rows * each.columns)) / each.fill; };
  std::ranges::sort(fills, {}, time);
  std::vector<BlockFill> chosen;
  const auto take = [&](bool groups, double fill) {
    const auto found = std::ranges::find_if(fills, [&](const BlockFill& each) { return is_group(each) == groups && each.fill >= fill; });
    if (found != fills.end()) chosen.push_back(*found);
  };
  take(true, least_fill);
  if (chosen.empty()) take(true, least_group_fill);
  const auto sharing = [&](const BlockFill& each) { return is_group(each) && each.rows <= tallest ? double(each.rows) * each.fill : 0; };
  const auto most = std::ranges::max_element(fills, {}, sharing);
  const auto is_chosen = [&](const BlockFill& each) { return is_group(each) && each.rows == most->rows; };
  if (most != fills.end() && sharing(*most) >= least_shared && std::ranges::none_of(chosen, is_chosen)) chosen.push_back(*most);
  take(false, least_fill);
  if (const auto least = std::ranges::min_element(strips, {}, vectors); least != strips.end()) chosen.push_back(*least);
  chosen.insert(chosen.end(), slices.begin(), slices.end());
  return chosen;
}

/// Blocks and strips of a matrix, for several calls; a vector that is looked up with a place for every coordinate.
Expected<std::vector<ProposedLayout>> layouts_of(const OperandFacts& operand, double calls, const Machine& machine,
                                                 const Resources& resources) {
  std::vector<ProposedLayout> found;
  const Tensor& stored = *operand.stored;
  if (stored.order() == 1) {
    const double bytes = static_cast<double>(stored.extents()[0]) * scalar_bytes(operand.format.scalar);
    const double takes_ns = sorting_ns(operand, machine) + bytes / machine.stream[3];
    found.push_back({dense_format(1, operand.format.scalar), "a dense vector", takes_ns / calls, least_gain});
  }
  if (stored.order() != 2 || calls <= 1 || stored.nnz() < least_entries) return found;
  const auto fills = block_fills(stored, resources);
  if (!fills) return std::unexpected(fills.error());
  for (const BlockFill& block : best_blocks(*fills)) {
    auto format = parse_format(block.layout());
    if (!format) return std::unexpected(format.error());
    format->scalar = operand.format.scalar;
    const bool is_full = block.pieces != Pieces::blocks || block.fill >= least_fill;
    const auto entries = static_cast<double>(stored.nnz());
    const double takes_ns = conversion_ns(stored.format(), entries, *format, entries / block.fill, machine);
    found.push_back({std::move(*format), fmt::format("{}, some {:.0f} % full", block.words(), 100 * block.fill), takes_ns / calls,
                     is_full ? least_gain : sparse_gain});
  }
  return found;
}

/// An operand in the levels of a sparse result, which may share them then: T of R(k,i) = T(i,j,k) by k, i and j, with the kinds of R's
/// levels above. Nothing where another sparse operand decides which entries there are, too.
std::optional<ProposedLayout> in_levels_of_result(const PlannedRequest& request, const std::string& name) {
  const Prepared& prepared = request.prepared;
  const Network& network = prepared.network;
  const OperandFacts& operand = request.operands.at(name);
  const bool one_product = network.assignments.size() == 1 && network.assignments.front().terms.size() == 1;
  if (request.options.calls <= 1 || prepared.exposure || !one_product) return {};
  const auto& tensors = prepared.plan.schedule.tensors;
  const auto result = std::ranges::find(tensors, TensorRole::result, &ScheduledTensor::role);
  if (result == tensors.end() || result->like) return {};
  const Format& levels = result->delivered ? *result->delivered : result->format;
  if (levels.layout || levels.all_dense()) return {};
  const TensorAccess* own = nullptr;
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    const std::string& named = network.tensors[factor.tensor].name;
    const bool is_own = named == name;
    if (is_own ? own != nullptr : has_sparse_level(request.operands.at(named).format)) return {};
    if (is_own) own = &factor;
  }
  if (own == nullptr) return {};
  const std::size_t order = own->indices.size();
  Format format = sparse_format(order, operand.format.scalar);
  format.mode_order.clear();
  std::vector<bool> placed(order, false);
  const auto place = [&](std::size_t mode) {
    format.mode_order.push_back(static_cast<std::uint32_t>(mode));
    placed[mode] = true;
  };
  for (std::size_t level = 0; level < appended_levels(levels.levels); ++level) {
    const IndexId index = network.assignments.front().result.indices[levels.mode_order[level]];
    const auto mode = static_cast<std::size_t>(std::ranges::find(own->indices, index) - own->indices.begin());
    if (mode == order || placed[mode]) return {};
    format.levels[level] = levels.levels[level];
    const LevelKind kind = format.levels[level].kind;
    const bool may_lead = is_dense(kind) || is_compressed(kind);  // levels of others below it (leading_format)
    if (!may_lead && appended_levels(levels.levels) < order) return {};
    place(mode);
  }
  for (std::size_t mode = 0; mode < order; ++mode)
    if (!placed[mode]) place(mode);
  const Format given = operand.stored->format();
  if (same_layout(format, given)) return {};
  const auto entries = static_cast<double>(operand.stored->nnz());
  const double takes_ns = conversion_ns(given, entries, format, entries, request.machine);
  return ProposedLayout{std::move(format), fmt::format("the levels of {}", result->name), takes_ns / request.options.calls, least_gain};
}

/// An operand in the levels that the plan converts it to, on the way to a sparse result: intermediates of three and more factors may be
/// stored in the order of what is given, but their layouts are not known while orders of what is converted are sought.
/// y(j,k,s,i) = T(i,j,k) * B(i) * C(j,s) with T by j, k and i stores T * B by these.
std::optional<ProposedLayout> as_converted(const PlannedRequest& request, const std::string& name) {
  const Prepared& prepared = request.prepared;
  const Network& network = prepared.network;
  const auto& tensors = prepared.plan.schedule.tensors;
  const bool one_product = network.assignments.size() == 1 && network.assignments.front().terms.size() == 1;
  if (request.options.calls <= 1 || prepared.exposure || !one_product) return {};
  if (network.assignments.front().terms.front().factors.size() < 3 || request.operands.at(name).stored->order() < 2) return {};
  const auto is_sparse_result = [](const ScheduledTensor& each) {
    return each.role == TensorRole::result && !each.like && !each.format.all_dense();
  };
  if (std::ranges::none_of(tensors, is_sparse_result)) return {};
  const auto is_this = [&](const ScheduledTensor& each) {
    return each.role == TensorRole::operand && network.tensors[each.tensor].name == name;
  };
  const auto converted = std::ranges::find_if(tensors, is_this);
  if (converted == tensors.end() || converted->opened || std::ranges::count_if(tensors, is_this) != 1) return {};
  const Format given = request.operands.at(name).stored->format();
  if (same_layout(converted->format, given)) return {};
  const auto entries = static_cast<double>(request.operands.at(name).stored->nnz());
  const double takes_ns = conversion_ns(given, entries, converted->format, entries, request.machine);
  return ProposedLayout{converted->format, "the levels that its loops ask for", takes_ns / request.options.calls, least_gain};
}

}  // namespace

bool may_have_places(const Prepared& prepared, const NamedFacts& operands, const std::string& name, const Threads& threads) {
  for (const ScheduledTensor& scheduled : prepared.plan.schedule.tensors) {
    if (scheduled.role == TensorRole::operand) continue;
    if (scheduled.like || scheduled.delivered || !scheduled.format.all_dense()) return false;
    if (!prepared.exposure || scheduled.role != TensorRole::result) continue;
    const std::optional<Format>& handed_over = prepared.exposure->tensors[scheduled.tensor].handed_over;
    if (handed_over && (handed_over->layout || !handed_over->all_dense())) return false;
  }
  return std::ranges::all_of(operands, [&](const auto& operand) {
    const auto& [stored, statistics] = std::tie(operand.second.stored, operand.second.statistics);
    return operand.first == name || (stored != nullptr ? finite_values(*stored, threads) : statistics.finite());
  });
}

Expected<std::vector<ProposedLayouts>> proposed_layouts(const PlannedRequest& request) {
  const auto& [engine, machine, operands, options, plain] = request;
  std::vector<ProposedLayouts> proposed;
  if (engine.strict_fp || options.unfused) return proposed;
  for (const auto& [name, operand] : operands) {
    const bool used = plain.report.operands.contains(name);
    if (!used || !is_worth_a_look(operand, plain, options.calls, machine)) continue;
    const bool changes = std::ranges::find(options.changing, name) != options.changing.end() ||
                         std::ranges::find(options.changing_patterns, name) != options.changing_patterns.end();
    if (changes || options.formats.contains(name)) continue;
    std::vector<ProposedLayout> layouts;
    if (auto shared = in_levels_of_result(request, name)) layouts.push_back(std::move(*shared));
    if (auto asked = as_converted(request, name)) layouts.push_back(std::move(*asked));
    if (may_have_places(plain, operands, name, engine.resources.threads)) {
      auto found = layouts_of(operand, options.calls, machine, engine.resources);
      if (!found) return std::unexpected(found.error());
      std::ranges::move(*found, std::back_inserter(layouts));
    }
    if (!layouts.empty()) proposed.push_back({name, std::move(layouts)});
  }
  return proposed;
}

}  // namespace weft
