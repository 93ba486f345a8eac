#include "engine/plan/cost/access_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/plan/cost/co_iteration.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/binding.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

constexpr double most_dense_positions = 1u << 28;

bool may_be_dense(double combinations, double distinct, double fill_limit) {
  return combinations <= most_dense_positions && combinations <= fill_limit * distinct;
}

/// Of all values of a sum over the extents of its indices the share that a mode has coordinates for: 3 of m + n - 1 of a band of three.
double share_in_range(const TensorDeclaration& tensor, std::size_t mode, const ScheduledAccess& access, const Network& network) {
  const ModeSum& sum = tensor.sums[mode];
  double values = 1;
  const auto add = [&](std::size_t at, std::int64_t factor, const IndexPart& part) {
    values += std::abs(static_cast<double>(factor)) * (static_cast<double>(part.extent(network.indices[access.indices[at]].extent)) - 1);
  };
  add(mode, sum.factor, sum.part);
  for (const ModeSum::Other& other : sum.others) add(other.mode, other.factor, other.part);
  return values > 0 ? std::min(1.0, static_cast<double>(tensor.extents[mode]) / values) : 1;
}

/// The other indices of a sum whose steps are each as much as all smaller ones reach, 12*k + 4*J + c of c below 4 and J below 3: none where
/// it is no such.
IndexSet digits_above(const TensorDeclaration& tensor, std::size_t mode, const ScheduledAccess& access, const Network& network) {
  const ModeSum& sum = tensor.sums[mode];
  std::vector<ModeSum::Other> others = sum.others;
  std::ranges::sort(others, {}, &ModeSum::Other::factor);
  if (sum.cover || sum.factor < 1) return 0;
  const auto reach_of = [&](std::size_t at, std::int64_t factor) {
    return static_cast<double>(factor) * (static_cast<double>(network.indices[access.indices[at]].extent) - 1);
  };
  double reach = reach_of(mode, sum.factor);
  IndexSet above = 0;
  for (const ModeSum::Other& other : others) {
    if (tensor.is_cover(other.mode) || static_cast<double>(other.factor) < reach) return 0;
    reach += reach_of(other.mode, other.factor);
    above |= one_index(access.indices[other.mode]);
  }
  return above;
}

bool counts_from_start(const TensorDeclaration& tensor, std::size_t mode) {
  return tensor.is_sum(mode) && std::ranges::any_of(tensor.sums[mode].others, [&](const ModeSum::Other& other) {
           return tensor.is_cover(other.mode);
         });
}

}  // namespace

std::optional<Format> chained_format(const OperandFacts& operand, double fill_limit) {
  Format format = operand.format;
  if (format.order() < 3 || format.layout != nullptr) return std::nullopt;
  for (std::size_t level = 0; level < format.order(); ++level) {
    const LevelKind kind = format.levels[level].kind;
    if (!is_compressed(kind) && (level > 0 || !weft::is_dense(kind))) return std::nullopt;
    format.levels[level] = Level{level == 0 ? kind : level == 1 ? LevelKind::compressed_nonunique : LevelKind::singleton};
  }
  const std::uint32_t first = format.mode_order.front();
  const auto extent = static_cast<double>(operand.statistics.extents()[first]);
  if (may_be_dense(extent, operand.statistics.distinct(ModeSet{1} << first), fill_limit)) format.levels.front().kind = LevelKind::dense;
  return format;
}

Format layout_of(const AccessPath& path, const OperandFacts& operand) {
  if (path.way == AccessPath::Way::chained) return chained_format(operand, path.fill_limit).value_or(operand.format);
  Format format = operand.format;
  if (path.way == AccessPath::Way::opened) std::fill_n(format.levels.begin(), path.levels, Level{});
  if (path.way == AccessPath::Way::marked) format.levels.back().kind = LevelKind::bitmap;
  if (path.way != AccessPath::Way::transposed) return format;
  std::erase(format.mode_order, path.last);
  format.mode_order.push_back(path.last);
  return format;
}

AccessModel::AccessModel(const ScheduledAccess& access, const ContractedTensor& tensor, const AccessPath& path,
                         const Network& network, const std::vector<OperandFacts>& operands,
                         std::shared_ptr<const Statistics> estimated)
    : estimated_(std::move(estimated)),
      scalar_(tensor.scalar),
      follows_(path.follows_loops()),
      fill_limit_(path.fill_limit),
      converted_(tensor.converted || path.converts()),
      chained_(path.chained) {
  scalar_bytes_ = weft::scalar_bytes(tensor.scalar);
  indices_ = index_set(access.indices);
  const TensorDeclaration* const parts =
      tensor.role == TensorRole::operand && !network.tensors[tensor.tensor].parts.empty() ? &network.tensors[tensor.tensor] : nullptr;
  modes_.reserve(access.indices.size());
  for (std::size_t mode = 0; mode < access.indices.size(); ++mode) {
    const IndexId index = access.indices[mode];
    located_ = located_ || (parts != nullptr && parts->is_located(mode));
    modes_.push_back({index, static_cast<double>(parts != nullptr ? parts->extents[mode] : network.indices[index].extent)});
  }
  const bool stands = follows_ || !path.converts();
  const Format changed = stands ? Format{} : layout_of(path, facts_of(operands, tensor.tensor));
  const Format& layout = stands ? tensor.layout : changed;
  const bool stored = tensor.storage == Storage::stored;
  levels_.reserve(modes_.size());
  for (std::size_t level = 0; level < access.indices.size(); ++level) {
    const std::uint32_t mode = stored ? layout.mode_order[level] : static_cast<std::uint32_t>(level);
    const LevelKind kind = stored ? layout.levels[level].kind : LevelKind::dense;
    IndexSet needs = one_index(access.indices[mode]);
    IndexSet followed = 0;
    if (parts != nullptr && parts->is_sum(mode)) {
      for (const ModeSum::Other& other : parts->sums[mode].others) needs |= one_index(access.indices[other.mode]);
      followed = digits_above(*parts, mode, access, network);
      summed_ = true;
    }
    const bool located = parts != nullptr && parts->is_located(mode);
    const bool scanned = parts != nullptr && parts->is_unordered(mode);
    levels_.push_back({access.indices[mode], mode, kind, modes_[mode].extent, located, needs, followed, scanned});
  }
  contiguous_ = tensor.role == TensorRole::intermediate ? indices_
                : levels_.empty() || levels_.back().located ? 0
                                                        : one_index(levels_.back().index);
  intermediate_ = tensor.role == TensorRole::intermediate;
  sparse_ = tensor.role == TensorRole::operand && tensor.sparse();
  const OperandFacts* facts = tensor.role == TensorRole::operand ? &facts_of(operands, tensor.tensor) : nullptr;
  if (sparse_) {
    statistics_ = &facts->statistics;
    exact_ = &facts->exact();
  }
  converted_ = converted_ || (facts != nullptr && facts->copied);
  if (estimated_) {
    sparse_ = true;
    statistics_ = estimated_.get();
  }

  reached_.reserve(levels_.size() + 1);
  reached_.emplace_back();
  ModeSet modes = 0;
  double combinations = 1;
  double in_range = 1;
  double in_blocks = 1;  // places of a block in the mean
  for (const AccessedLevel& level : levels_) {
    modes |= ModeSet{1} << level.mode;
    const bool counts = summed_ && counts_from_start(*parts, level.mode);
    const bool sum = summed_ && parts->is_sum(level.mode) && !counts && !parts->is_cover(level.mode);
    if (sum) in_range *= share_in_range(*parts, level.mode, access, network);
    const bool dense = !sparse_ || !is_sparse(level.kind);
    const double positions = follows_ ? 0 : dense ? reached_.back().positions * level.extent : statistics_->distinct(modes);
    // A start covers as many coordinates as its block has places, of which each is at one.
    combinations *= counts ? in_blocks : level.extent;
    if (summed_ && parts->is_cover(level.mode)) in_range *= in_blocks = places_of_block(*parts, level.mode, positions);
    reached_.push_back({positions, combinations > 0 ? in_range * positions / combinations : 0});
  }
  if (follows_) {
    positions_by_modes_.assign(std::size_t{1} << modes_.size(), -1);
    reached_.back().positions = statistics_->distinct(all_modes());
  }
  adjacent_ = facts != nullptr && facts->adjacent != Adjacency::none && !converted_;
  if (facts != nullptr && facts->stored != nullptr && !facts->laid_out && sparse_ && !converted_) even_ = even_levels(*facts);
  // Positions and coordinates of a converted tensor take about what a CSF takes; of others the stored size is known.
  constexpr double coordinates = 6;
  bytes_ = facts != nullptr && !converted_ ? static_cast<double>(facts->bytes)
                                           : entries() * (scalar_bytes_ + (sparse_ ? coordinates : 0));
}

void AccessModel::add_block(IndexSet indices, const Network& network) {
  indices_ |= indices;
  for (const IndexId index : members(indices)) bytes_ *= static_cast<double>(network.indices[index].extent);
}

BoundState AccessModel::bound(IndexSet indices) const {
  if (follows_) return modes_of(indices);
  BoundState state = 0;
  while (state < levels_.size() && (levels_[state].needs & ~indices) == 0) ++state;
  return state;
}

IndexSet AccessModel::dense_below() const {
  if (!sparse_ && !located_) return indices_;
  if (follows_ || located_) return 0;
  IndexSet block = 0;
  for (std::size_t level = levels_.size(); level > 0 && weft::is_dense(levels_[level - 1].kind); --level) {
    block |= one_index(levels_[level - 1].index);
  }
  return block;
}

bool AccessModel::has_one_entry(std::size_t level) const {
  return level > 0 && weft::has_one_entry(levels_[level - 1].kind, levels_[level].kind);
}

IndexSet AccessModel::one_entry() const {
  IndexSet found = 0;
  for (std::size_t level = 0; sparse_ && !follows_ && level < levels_.size(); ++level) {
    if (has_one_entry(level) && !levels_[level].located) found |= one_index(levels_[level].index);
  }
  return found;
}

IndexSet AccessModel::straight_below() const {
  if (!sparse_ || follows_) return dense_below();
  IndexSet found = 0;
  for (std::size_t level = levels_.size(); level > 0 && (weft::is_dense(levels_[level - 1].kind) || has_one_entry(level - 1)); --level) {
    if (weft::is_dense(levels_[level - 1].kind)) found |= one_index(levels_[level - 1].index);
  }
  return found;
}

// Distances between rows, taken modulo the way, generate the multiples of the largest power of two that divides all of
// them: the block begins a row at one of these places only, and covers a row's length from each.
double AccessModel::reached_share(IndexSet block, std::uint64_t way_bytes, double line_bytes) const {
  if (intermediate_) return 1;
  std::uint64_t distance = static_cast<std::uint64_t>(scalar_bytes_);  // its low bits count, so that it may overflow
  std::uint64_t between = way_bytes;
  double row = scalar_bytes_;
  bool adjacent = true;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const double extent = levels_[level].extent;
    if (extent > 1) {
      const bool varies = contains(block, levels_[level].index);
      adjacent = adjacent && varies;
      if (adjacent) row *= extent;
      else if (varies && distance % way_bytes != 0) between = std::min(between, distance & (~distance + 1));
    }
    distance *= static_cast<std::uint64_t>(std::min(extent, 0x1p63));
  }
  return std::min(1.0, std::max(row, line_bytes) / static_cast<double>(between));
}

bool AccessModel::adjacent(IndexId index, IndexSet block) const {
  if (located_) return false;
  // Of an intermediate, what sparse operands filter is outside.
  if (intermediate_) return contains(contiguous_, index) || (contiguous_ & ~block) == 0;
  IndexSet below = 0;
  for (std::size_t level = levels_.size(); level-- > 0 && levels_[level].index != index;) {
    if (levels_[level].extent > 1 && !contains(block, levels_[level].index)) return false;
    below |= one_index(levels_[level].index);
  }
  return (block & ~below) == 0;
}

// Fibers of a few entries alone, of which plans and kernels are remembered by their lengths: the others' are not known beyond the mean.
std::uint32_t AccessModel::even_levels(const OperandFacts& facts) const {
  std::uint32_t even = 0;
  for (std::uint32_t level = 1; level < levels_.size(); ++level) {
    const double above = reached_[level].positions;
    if (!is_compressed(levels_[level].kind) || reached_[level + 1].positions > 2 * short_fiber_entries * above) continue;
    const FiberLengths lengths = facts.exact().fibers(level);
    const bool known = lengths.maximum > 0 && lengths.maximum <= short_fiber_entries;
    if (known && lengths.mean == static_cast<double>(lengths.maximum)) even |= std::uint32_t{1} << level;
  }
  return even;
}

/// Of blocks that begin anywhere: their width, or the length of a run in the mean.
double AccessModel::places_of_block(const TensorDeclaration& tensor, std::size_t mode, double starts) const {
  const std::uint64_t width = *tensor.sums[mode].cover;
  if (width != 0) return static_cast<double>(width);
  return sparse_ && starts > 0 ? std::max(1.0, statistics_->nnz() / starts) : 1;
}

double AccessModel::product_of_extents(BoundState modes) const {
  double product = 1;
  for (; modes != 0; modes &= modes - 1) product *= modes_[static_cast<std::size_t>(std::countr_zero(modes))].extent;
  return product;
}

// d(U) <= d(V) * extents of U - V, so every subset of a dense set of modes is dense too: whether a leading level is
// dense depends on the set of modes bound with it, and not on their order. The last level stays sparse, for stored
// zeros are not absent entries.
double AccessModel::positions_of(BoundState modes) const {
  double& known = positions_by_modes_[modes];
  if (known >= 0) return known;
  const double distinct = modes == 0 ? 1 : statistics_->distinct(modes);
  const double combinations = product_of_extents(modes);
  const bool first = (modes & (modes - 1)) == 0;
  known = modes != all_modes() && (first || !chained_) && may_be_dense(combinations, distinct, fill_limit_) ? combinations : distinct;
  return known;
}

bool AccessModel::is_dense(BoundState modes) const {
  const bool in_chain = chained_ && (modes & (modes - 1)) != 0;
  return modes != all_modes() && !in_chain && positions_of(modes) == product_of_extents(modes);
}

double AccessModel::positions(BoundState state) const {
  return follows_ ? positions_of(state) : reached_[state].positions;
}

double AccessModel::density(BoundState state) const {
  if (!leaves_out()) return 1;
  if (!follows_) return reached_[state].density;
  const double combinations = product_of_extents(state);
  return combinations > 0 ? positions_of(state) / combinations : 0;
}

ModeSet AccessModel::bound_modes(BoundState state) const {
  if (follows_) return state;
  ModeSet modes = 0;
  for (BoundState level = 0; level < state; ++level) modes |= ModeSet{1} << levels_[level].mode;
  return modes;
}

BoundState AccessModel::shared_with(const AccessModel& other, BoundState others, BoundState state) const {
  if (!std::ranges::equal(modes_, other.modes_, {}, &AccessedMode::index, &AccessedMode::index)) return 0;
  const ModeSet reached = other.bound_modes(others);
  if (follows_) return state & reached;
  BoundState level = 0;
  while (level < state && (reached >> levels_[level].mode & 1) != 0) ++level;
  return level;
}

double AccessModel::fill(IndexSet indices) const {
  if (!sparse_ || intermediate_) return 1;
  const ModeSet modes = modes_of(indices);
  const double combinations = product_of_extents(modes);
  return combinations > 0 ? statistics_->distinct(modes) / combinations : 0;
}

double AccessModel::distinct_in_heavy_slices(IndexId slices, IndexId counted) const {
  if (exact_ == nullptr || located_) return 0;
  const auto mode_of = [&](IndexId index) {
    return static_cast<std::size_t>(std::ranges::find(modes_, index, &AccessedMode::index) - modes_.begin());
  };
  const std::size_t modes[] = {mode_of(slices), mode_of(counted)};
  return std::max(modes[0], modes[1]) < modes_.size() ? weft::distinct_in_heavy_slices(*exact_, modes[0], modes[1]) : 0;
}

std::vector<LevelStep> AccessModel::steps(BoundState from, BoundState to) const {
  std::vector<LevelStep> found;
  for_each_step(from, to, [&](const LevelStep& step) { found.push_back(step); });
  return found;
}

bool AccessModel::is_sparse_at(BoundState state) const {
  if (!sparse_ || state == 0) return false;
  return follows_ ? !is_dense(state) : is_sparse(levels_[state - 1].kind);
}

double AccessModel::largest_share(IndexId root) const {
  if (converted_ || !sparse_ || levels_.size() < 2 || levels_[0].index != root || levels_[0].located) return 0;
  const double below = reached_[2].positions;
  return below > 0 ? static_cast<double>(statistics_->fibers(1).maximum) / below : 0;
}

bool AccessModel::shares_slices(IndexId root) const {
  if (levels_.size() < 2 || levels_[0].index != root || levels_[0].located) return false;
  std::size_t level = 1;
  while (level + 1 < levels_.size() && weft::is_dense(levels_[level].kind)) ++level;
  return begins_chain(levels_[0].kind) || (is_packed(levels_[level].kind) && !has_lengths(levels_[level].kind));
}

bool AccessModel::begins_walk(BoundState state) const {
  if (follows_) return chained_ && state != 0 && (state & (state - 1)) == 0;
  // From the first level of the chain on whose runs are short, as lower/flat_walks.cpp has it.
  return !located_ && has_runs(state) && has_short_runs(state + 1) && (begins_chain(levels_[state].kind) || !has_short_runs(state));
}

bool AccessModel::may_be_walked() const {
  if (follows_) return chained_;
  for (BoundState level = 0; level + 1 < levels_.size(); ++level)
    if (begins_walk(level)) return true;
  return false;
}

std::size_t AccessModel::walked(BoundState state) const {
  if (follows_) return chained_ && state != 0 ? static_cast<std::size_t>(std::popcount(state)) - 1 : 0;
  BoundState above = 0;
  while (above < state && !begins_walk(above)) ++above;
  return state - above;
}

bool AccessModel::sums_in_walk(BoundState state, IndexSet target) const {
  const IndexSet added_to = innermost(state) & target;
  if (follows_) return (added_to & (added_to - 1)) == 0;
  for (std::size_t level = state - walked(state); level < state; ++level)
    if (contains(target, levels_[level].index)) return false;
  return true;
}

// Where the order of levels is open, those of the target are taken to come first.
double AccessModel::repeats_in_walk(BoundState state, IndexSet target) const {
  if (follows_) return entries() / std::max(1.0, statistics_->distinct(modes_of(target)));
  BoundState above = state - static_cast<BoundState>(walked(state));
  for (BoundState level = above; level < state; ++level)
    if (contains(target, levels_[level].index)) above = level + 1;
  return entries_below(above);
}

double AccessModel::bytes_read(IndexSet unasked) const {
  constexpr double coordinate = 4;
  const bool unread = follows_ ? (unasked & indices_) != 0
                               : !levels_.empty() && is_sparse(levels_.back().kind) && contains(unasked, levels_.back().index);
  return sparse_ && !intermediate_ && unread ? bytes_ - coordinate * entries() : bytes_;
}

bool AccessModel::stands_side_by_side() const {
  if (!sparse_ || intermediate_ || located_) return false;
  return std::ranges::all_of(levels_, [](const AccessedLevel& level) {
    return !level.located && (weft::is_dense(level.kind) || is_packed(level.kind) || is_per_parent(level.kind));
  });
}

IndexSet AccessModel::innermost(BoundState state) const {
  if (state == 0) return 0;
  if (!converted_) return one_index(levels_[state - 1].index);
  IndexSet found = 0;
  for (std::size_t mode = 0; mode < modes_.size(); ++mode)
    if ((bound_modes(state) >> mode & 1) != 0) found |= one_index(modes_[mode].index);
  return found;
}

// The order of levels that follow the loops is open: L entries below a position with n levels are taken to be L^(j/n) fibers of each.
double AccessModel::fibers_inside(BoundState state) const {
  const double above = std::max(1.0, positions(state));
  double fibers = 0;
  if (!follows_) {
    for (BoundState level = state; level < levels_.size(); ++level) fibers += positions(level) / above;
    return fibers;
  }
  const auto left = static_cast<double>(modes_.size()) - std::popcount(state);
  const double below = std::max(1.0, entries() / above);
  for (double level = 0; level < left; ++level) fibers += std::pow(below, level / left);
  return fibers;
}

double AccessModel::unforeseen_ends(BoundState state, IndexSet unasked, bool in_range) const {
  if (ends_.empty()) ends_.assign(follows_ ? positions_by_modes_.size() : levels_.size() + 1, -1);
  double& known = ends_[state];
  const bool passes = !converted_ && (unasked & indices_) != 0;
  if (known >= 0 && !passes) return known;
  const double ends = converted_ ? ends_in_any_order(bound_modes(state)) : ends_in_levels(state, modes_of(unasked), in_range);
  // Below a dense level some positions have no entries.
  const double reached = positions(state);
  const double found = reached > 0 ? ends / reached : 0;
  if (!passes) known = found;
  return found;
}

// Unasked ones come first, and with them the mode that makes the fewest fibers.
double AccessModel::unforeseen_end_below(BoundState state, IndexSet unasked) const {
  const ModeSet modes = bound_modes(state);
  const ModeSet range = modes | modes_of(unasked);
  const double fibers = modes != 0 ? statistics_->distinct(modes) : 1;
  if (fibers <= 0) return 0;
  return range == all_modes() ? unforeseen_range_end(statistics_->distinct(range) / fibers)
                              : end_of_fiber(modes, fewest_below(range).count / fibers);
}

ModeSet AccessModel::modes_of(IndexSet indices) const {
  ModeSet modes = 0;
  for (std::size_t mode = 0; mode < modes_.size(); ++mode)
    if (contains(indices, modes_[mode].index)) modes |= ModeSet{1} << mode;
  return modes;
}

double AccessModel::end_of_fiber(ModeSet above, double length) const {
  const ModeSet left = all_modes() & ~above;
  if (length <= 1 || exact_ == nullptr || located_ || !std::has_single_bit(left)) return unforeseen_end(length);
  const auto mode = static_cast<std::size_t>(std::countr_zero(left));
  if (company_.empty()) company_.assign(modes_.size(), -1);
  if (company_[mode] < 0) company_[mode] = share_with_company(*exact_, mode);
  return unforeseen_end(length, company_[mode]);
}

double AccessModel::ends_in_levels(std::size_t level, ModeSet passed, bool in_range) const {
  double ends = 0;
  ModeSet modes = bound_modes(static_cast<BoundState>(level));
  for (double fibers = statistics_->distinct(modes); level < levels_.size(); ++level) {
    modes |= ModeSet{1} << levels_[level].mode;
    if ((passed >> levels_[level].mode & 1) != 0 && level + 1 < levels_.size()) continue;
    const double below = statistics_->distinct(modes);
    const ModeSet above = modes & ~(ModeSet{1} << levels_[level].mode);
    const bool ends_alike = !is_sparse(levels_[level].kind) || (even_ >> level & 1) != 0;
    const bool ends_here = !std::exchange(in_range, false) && !ends_alike && fibers > 0;
    const bool is_range = (passed >> levels_[level].mode & 1) != 0;
    if (ends_here) ends += fibers * (is_range ? unforeseen_range_end(below / fibers) : end_of_fiber(above, below / fibers));
    fibers = below;
  }
  return ends;
}

AccessModel::Fibers AccessModel::fewest_below(ModeSet modes) const {
  Fibers fewest{all_modes(), std::numeric_limits<double>::infinity()};
  for (ModeSet left = all_modes() & ~modes; left != 0; left &= left - 1) {
    const ModeSet more = modes | (left & (~left + 1));
    const double count = statistics_->distinct(more);
    if (count < fewest.count) fewest = {more, count};
  }
  return fewest;
}

// The order of converted levels is open where their cost is asked for, which may not depend on it: the mode that makes the fewest
// fibers is taken to come first.
double AccessModel::ends_in_any_order(ModeSet modes) const {
  double ends = 0;
  double fibers = statistics_->distinct(modes);
  while (modes != all_modes() && fibers > 0) {
    const Fibers next = fewest_below(modes);
    ends += fibers * end_of_fiber(modes, next.count / fibers);
    modes = next.modes;
    fibers = next.count;
  }
  return ends;
}

std::uint32_t AccessModel::filtering_modes(BoundState state) const {
  if (!sparse_) return 0;
  if (follows_) return state == 0 || is_dense(state) ? 0 : state;
  while (state > 0 && !is_sparse(levels_[state - 1].kind)) --state;
  return bound_modes(state);
}

// Whether the loops over all levels but the first stand directly in each other, and no other statement shares them.
bool AccessModel::stands_together(const std::vector<IndexId>& loops, std::size_t shared) const {
  const auto is_own = [&](IndexId index) { return contains(indices_, index); };
  const auto first = std::ranges::find_if(loops, is_own);
  const auto begin = first == loops.end() ? first : std::find_if(first + 1, loops.end(), is_own);
  if (begin - loops.begin() < static_cast<std::ptrdiff_t>(shared)) return false;
  return std::find_if(std::find_if_not(begin, loops.end(), is_own), loops.end(), is_own) == loops.end();
}

Format AccessModel::realized(const std::vector<IndexId>& loops, std::size_t shared) const {
  const bool chained = chained_ && stands_together(loops, shared);
  Format format = sparse_format(modes_.size(), scalar_);
  format.mode_order.clear();
  BoundState modes = 0;
  for (const IndexId index : loops) {
    for (std::uint32_t mode = 0; mode < modes_.size(); ++mode) {
      if (modes_[mode].index != index) continue;
      modes |= BoundState{1} << mode;
      Level& level = format.levels[format.mode_order.size()];
      const std::size_t above = format.mode_order.size();
      if (is_dense(modes)) level.kind = LevelKind::dense;
      else if (chained && above > 0) level.kind = above == 1 ? LevelKind::compressed_nonunique : LevelKind::singleton;
      format.mode_order.push_back(mode);
    }
  }
  return format;
}

}  // namespace weft
