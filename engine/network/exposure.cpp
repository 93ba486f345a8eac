#include "engine/network/exposure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/affine.h"
#include "runtime/extents.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/wide.h"

namespace weft {
namespace {

/// Where an index is cut, ascending: {3} into i/3 and i%3, {2,4} into i/4, i%4/2 and i%2.
using Cuts = std::vector<std::uint64_t>;

/// The part of a mode that a level of a layout holds, in whatever order; nothing where it holds something else.
std::optional<ModePart> part_in_any_order(const Layout& layout, const LayoutLevel& level) {
  if (!level.value) return ModePart{.own = true};
  const Affine& value = *level.value;
  if (level.low || level.high) return std::nullopt;
  if (value.terms().size() != 1 || value.constant() != 0) return std::nullopt;
  const AffineTerm& term = value.terms().front();
  if (term.factor != 1 || term.sum || term.variable >= layout.modes.size()) return std::nullopt;
  return ModePart{term.variable, static_cast<std::uint64_t>(term.divisor), static_cast<std::uint64_t>(term.modulus)};
}

/// The same where coordinates rise.
std::optional<ModePart> part_of(const Layout& layout, const LayoutLevel& level) {
  return level.order == LevelOrder::ascending ? part_in_any_order(layout, level) : std::nullopt;
}

/// Where the parts cut a mode; nothing where they are no digits of it, each once.
std::optional<Cuts> cuts_of(const std::vector<ModePart>& parts, std::uint32_t mode) {
  std::vector<ModePart> digits;
  for (const ModePart& part : parts) {
    if (!part.own && part.mode == mode) digits.push_back(part);
  }
  std::ranges::sort(digits, {}, &ModePart::divisor);
  Cuts cuts;
  for (std::size_t n = 0; n < digits.size(); ++n) {
    if (digits[n].divisor != (n == 0 ? 1 : digits[n - 1].divisor * digits[n - 1].modulus)) return std::nullopt;
    if ((digits[n].modulus == 0) != (n + 1 == digits.size())) return std::nullopt;
    if (n > 0) cuts.push_back(digits[n].divisor);
  }
  return digits.empty() ? std::nullopt : std::optional(cuts);
}

/// The digits of a mode, outermost first.
std::vector<ModePart> digits_of(std::uint32_t mode, const Cuts& cuts) {
  std::vector<ModePart> digits;
  for (std::size_t n = cuts.size() + 1; n-- > 0;) {
    const std::uint64_t divisor = n == 0 ? 1 : cuts[n - 1];
    digits.push_back({mode, divisor, n == cuts.size() ? 0 : cuts[n] / divisor});
  }
  return digits;
}

/// The digits within a part: of i/2 cut at 2 and 4 these are i/4 and i%4/2.
std::vector<ModePart> digits_within(const ModePart& part, const Cuts& cuts) {
  std::vector<ModePart> within;
  for (const ModePart& digit : digits_of(part.mode, cuts)) {
    if (digit.divisor >= part.divisor && (part.modulus == 0 || digit.divisor < part.divisor * part.modulus)) within.push_back(digit);
  }
  return within;
}

Affine value_of(const ModePart& part) {
  Affine value = Affine::variable(part.mode);
  if (part.modulus != 0) value = value.modulo(static_cast<std::int64_t>(part.divisor * part.modulus));
  return part.divisor == 1 ? value : value.divided(static_cast<std::int64_t>(part.divisor));
}

/// The kinds that kernels read under every other: an order of a chain is that of its modes, and lengths become coordinates.
LevelKind read_kind(LevelKind kind) { return has_lengths(kind) ? LevelKind::compressed : kind; }

bool is_plain_kinds(const Layout& layout) {
  std::string kinds;
  for (const LayoutLevel& level : layout.levels) {
    if (level.kind == LevelKind::hashed) return false;
    kinds += letter(read_kind(level.kind));
  }
  return parse_format(kinds).has_value();
}

/// A mode as a sum of levels' coordinates.
struct LevelSum {
  struct Summand {
    std::uint32_t level = 0;
    std::int64_t distance = 1;
  };
  std::vector<Summand> summands;
  ModeReach reach;
};

/// What loop programs say of sums of indices (rules_definition.cpp).
constexpr Wide furthest = Wide{1} << 62;
constexpr std::int64_t largest_factor = std::int64_t{1} << 31;

bool is_sayable(std::int64_t factor) { return factor >= -largest_factor && factor <= largest_factor; }

/// Coordinates of the mode at all those of the levels; nothing where the mode is no sum, or some are beyond 2^62.
std::optional<LevelSum> sum_of(const Placement& placement, std::uint32_t mode, const std::vector<std::uint64_t>& extents) {
  const Affine& inverse = placement.inverse(mode);
  LevelSum sum;
  Wide first = inverse.constant();
  Wide before = 0;
  Wide behind = 0;
  for (const AffineTerm& term : inverse.terms()) {
    if (term.sum || term.divisor != 1 || term.modulus != 0 || !is_sayable(term.factor)) return std::nullopt;
    const std::uint32_t level = term.variable;
    first += Wide{term.factor} * placement.levels()[level].range.least;
    const Wide last = Wide{term.factor} * (Wide{extents[level]} - 1);
    (last < 0 ? before : behind) += last;
    sum.summands.push_back({level, term.factor});
  }
  if (first + before < -furthest || first + behind > furthest) return std::nullopt;
  sum.reach = {static_cast<std::int64_t>(first + before), static_cast<std::int64_t>(first + behind), static_cast<std::int64_t>(first)};
  return sum.summands.empty() ? std::nullopt : std::optional(sum);
}

/// A sum of two levels' coordinates, the second once: first + distance * c0 + c1.
std::optional<LevelSum> sum_of_two(std::int64_t distance, Wide first, const std::vector<std::uint64_t>& extents) {
  const Wide across = Wide{distance} * (Wide{extents[0]} - 1);
  const Wide least = first + std::min<Wide>(across, 0);
  const Wide most = first + std::max<Wide>(across, 0) + Wide{extents[1]} - 1;
  if (least < -furthest || most > furthest) return std::nullopt;
  return LevelSum{{{0, distance}, {1, 1}},
                  {static_cast<std::int64_t>(least), static_cast<std::int64_t>(most), static_cast<std::int64_t>(first)}};
}

/// The levels of an operand as its network has them, and the modes that are told by sums of these alone.
struct Native {
  std::vector<ModePart> parts;
  std::map<std::uint32_t, LevelSum> sums;
  bool placed = false;                     ///< ExposedTensor::placed
  std::vector<std::uint64_t> extents = {};  ///< of the levels, where they are placed
  std::vector<std::uint32_t> unordered = {};  ///< levels whose coordinates fall, or come in no order
};

/// The levels of an operand that is located: parts of its modes, and sums, `mode` of the others a level.
struct LocatedLevels {
  std::vector<ModePart> parts;
  std::vector<ModeSum> sums;  ///< by level; empty: there are none
  std::uint64_t falling = 0;  ///< bit n: coordinates of level n fall
  std::uint64_t scanned = 0;  ///< bit n: coordinates of level n come in no order
};

/// A sum of modes, or of parts of them, each once: by mode its factor, 0 of those that it has not, and part.
struct SumOfModes {
  explicit SumOfModes(std::size_t modes) : factors(modes), parts(modes) {}

  /// False where a term is none of a mode, or of another part of one that is there.
  bool add(const AffineTerm& term, std::int64_t times) {
    if (term.sum || term.variable >= factors.size() || !is_sayable(term.factor)) return false;
    const IndexPart part{static_cast<std::uint64_t>(term.divisor), static_cast<std::uint64_t>(term.modulus)};
    if (factors[term.variable] != 0 && parts[term.variable] != part) return false;
    factors[term.variable] += times * term.factor;
    parts[term.variable] = part;
    return is_sayable(factors[term.variable]);
  }
  bool is_empty() const { return std::ranges::all_of(factors, [](std::int64_t factor) { return factor == 0; }); }

  std::vector<std::int64_t> factors;
  std::vector<IndexPart> parts;
  std::int64_t offset = 0;
};

/// A level's coordinate as a sum of modes: its value less the first one of its range, which may be a sum too, as of j:d(i..). Nothing where
/// it is no sum, or the first one is the greater of two.
std::optional<SumOfModes> coordinate_of(const Placement& placement, std::size_t level) {
  const LayoutLevel& stored = placement.layout().levels[level];
  if (!stored.value) return std::nullopt;
  const PlacedLevel& placed = placement.levels()[level];
  SumOfModes sum(placement.layout().modes.size());
  const auto add = [&](const Affine& value, std::int64_t times) {
    sum.offset += times * value.constant();
    return std::ranges::all_of(value.terms(), [&](const AffineTerm& term) { return sum.add(term, times); });
  };
  if (!add(*stored.value, 1)) return std::nullopt;
  if (placed.low) {
    const auto least = stored.low->range(placement.ranges());
    if (!least || least->least < placed.range.least || !add(*stored.low, -1)) return std::nullopt;
  } else {
    sum.offset -= placed.range.least;
  }
  constexpr std::int64_t most_moved = std::int64_t{1} << 61;
  return sum.offset > most_moved || sum.offset < -most_moved ? std::nullopt : std::optional(std::move(sum));
}

/// Blocks that begin anywhere: of (i:d, b:s, j-b:v) the second level finds the start that is not above j, the third counts from it.
struct CoveredLevels {
  std::uint32_t starts = 0, counted = 0;  ///< levels
  SumOfModes sum{0};  ///< covered by a start that is not above it, from which on the rest is counted: j, j - i or j / 2
  std::uint64_t width = 0;                ///< of a block; 0: lengths say
};

/// Nothing where levels are others.
std::optional<CoveredLevels> covered_levels(const Placement& placement) {
  const Layout& layout = placement.layout();
  if (placement.starts().size() != 1 || layout.free.size() != 1) return std::nullopt;
  CoveredLevels covered;
  covered.starts = static_cast<std::uint32_t>(placement.starts().front().level);
  covered.counted = static_cast<std::uint32_t>(placement.starts().front().counted);
  const LayoutLevel& starts = layout.levels[covered.starts];
  const LayoutLevel& counted = layout.levels[covered.counted];
  const PlacedLevel& placed = placement.levels()[covered.counted];
  const bool alone = covered.starts > 0 && has_one_entry(layout.levels[covered.starts - 1].kind, starts.kind);
  if ((!is_compressed(starts.kind) && !alone) || starts.low || starts.high) return std::nullopt;
  if (counted.order != LevelOrder::ascending || placed.varies() || covered.counted < covered.starts) return std::nullopt;
  const bool runs = has_lengths(counted.kind);
  if (runs ? covered.counted != covered.starts + 1 : !is_dense(counted.kind)) return std::nullopt;
  const auto free = static_cast<std::uint32_t>(layout.modes.size());
  bool counts_down = false;
  covered.sum = SumOfModes(free);
  for (const AffineTerm& term : counted.value->terms()) {
    const bool whole = !term.sum && term.divisor == 1 && term.modulus == 0;
    if (term.variable == free && whole && term.factor == -1 && !counts_down) counts_down = true;
    else if (!covered.sum.add(term, 1)) return std::nullopt;
  }
  if (!counts_down || covered.sum.is_empty()) return std::nullopt;
  const Wide offset = Wide{counted.value->constant()} - placement.levels()[covered.starts].range.least - placed.range.least;
  constexpr Wide most_moved = Wide{1} << 61;
  if (offset > most_moved || offset < -most_moved || Wide{placed.extent} > most_moved) return std::nullopt;
  covered.sum.offset = static_cast<std::int64_t>(offset);
  if (!runs) covered.width = placed.extent;
  if (!runs && covered.width == 0) return std::nullopt;
  return covered;
}

/// The levels as parts or sums of modes, each mode the own one of some level; nothing where they are not.
std::optional<LocatedLevels> located_sums(const Placement& placement) {
  const Layout& layout = placement.layout();
  const auto covered = covered_levels(placement);
  if (!placement.slots().empty() || placement.inverse_within_bounds()) return std::nullopt;
  if (!covered && (!layout.free.empty() || placement.depends_on_data())) return std::nullopt;
  const auto of_block = [&](std::uint32_t level) { return covered && (level == covered->starts || level == covered->counted); };
  LocatedLevels located;
  std::vector<std::optional<SumOfModes>> coordinates(layout.levels.size());
  std::map<std::uint32_t, std::uint32_t> level_of;  // by mode: one of which it is the own one
  for (std::uint32_t level = 0; level < layout.levels.size(); ++level) {
    const LevelOrder order = layout.levels[level].order;
    if (order != LevelOrder::ascending && (level >= 64 || !is_compressed(layout.levels[level].kind))) return std::nullopt;
    if (order == LevelOrder::descending) located.falling |= std::uint64_t{1} << level;
    if (order == LevelOrder::unordered) located.scanned |= std::uint64_t{1} << level;
    if (of_block(level)) {
      located.parts.push_back({});
      coordinates[level] = covered->sum;
      continue;
    }
    const auto part = has_lengths(layout.levels[level].kind) ? std::nullopt : part_in_any_order(layout, layout.levels[level]);
    if (part && part->own) return std::nullopt;
    located.parts.push_back(part.value_or(ModePart{}));
    if (part) level_of.try_emplace(part->mode, level);
    if (!part) coordinates[level] = coordinate_of(placement, level);
    if (!part && !coordinates[level]) return std::nullopt;
  }
  // A sum's own mode is one that no other level has; that of a start is the one of what counts from it.
  const auto take_own = [&](std::uint32_t level) {
    if (!coordinates[level]) return true;
    const std::vector<std::int64_t>& factors = coordinates[level]->factors;
    std::optional<std::uint32_t> own;
    for (std::uint32_t mode = 0; mode < layout.modes.size(); ++mode) {
      if (factors[mode] == 0) continue;
      if (!own || (level_of.contains(*own) && !level_of.contains(mode))) own = mode;
    }
    if (!own) return false;
    located.parts[level].mode = *own;
    level_of.try_emplace(*own, level);
    return true;
  };
  if (covered) {
    take_own(covered->counted);
    located.parts[covered->starts].mode = located.parts[covered->counted].mode;
  }
  for (std::uint32_t level = 0; level < layout.levels.size(); ++level)
    if (!of_block(level) && !take_own(level)) return std::nullopt;
  for (std::uint32_t level = 0; level < layout.levels.size(); ++level) {
    ModeSum& sum = located.sums.emplace_back();
    if (!coordinates[level]) continue;
    if (Wide{placement.levels()[level].extent} > furthest) return std::nullopt;
    const std::uint32_t own = located.parts[level].mode;
    sum.factor = coordinates[level]->factors[own];
    sum.part = coordinates[level]->parts[own];
    sum.offset = coordinates[level]->offset;
    sum.within = of_block(level) || placement.levels()[level].extent != placement.extents()[own];
    for (std::uint32_t mode = 0; mode < layout.modes.size(); ++mode) {
      if (mode == own || coordinates[level]->factors[mode] == 0) continue;
      if (!level_of.contains(mode)) return std::nullopt;
      sum.others.push_back({level_of.at(mode), coordinates[level]->factors[mode], coordinates[level]->parts[mode]});
    }
    if (covered && level == covered->starts) sum.cover = covered->width;
    if (covered && level == covered->counted) sum.others.push_back({covered->starts, -1});
  }
  return located;
}

class Exposer {
 public:
  Exposer(const Network& network, const std::vector<StoredAs>& stored, Exposing exposing, const std::set<TensorId>& located = {})
      : network_(network),
        stored_(stored),
        exposing_(exposing == Exposing::copies ? Exposing::none : exposing),
        by_choice_(exposing == Exposing::copies || !located.empty()),
        located_(located),
        cuts_(network.indices.size()) {}

  Exposure exposed() {
    exposure_.given = network_;
    exposure_.by_choice = by_choice_;
    exposure_.tensors.resize(network_.tensors.size());
    find_classes();
    std::ranges::copy_if(located_, std::inserter(at_digits_, at_digits_.end()), [&](TensorId tensor) { return is_plain_sparse(tensor); });
    std::erase_if(located_, [&](TensorId tensor) { return !located_levels(tensor); });
    for (const TensorId tensor : located_) keep_whole(tensor);
    for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor) take_layout(tensor);
    if (exposing_ == Exposing::whole_blocks) leave_whole();
    settle_sums();
    note_finite();
    // Operands first: a result may lie at their positions.
    for (const bool results : {false, true}) {
      for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor)
        if (network_.tensors[tensor].is_result == results) expose(tensor);
    }
    rewrite();
    return std::move(exposure_);
  }

  /// Of the levels of an operand the parts of its modes, or the sums; nothing where some are none.
  std::optional<LocatedLevels> located_levels(TensorId tensor) const {
    const auto& format = stored_[tensor].format;
    if (!format || !format->layout || network_.tensors[tensor].is_result || is_pattern(tensor)) return std::nullopt;
    if (!is_plain_kinds(*format->layout) || stored_[tensor].level_extents.size() != format->layout->levels.size()) return std::nullopt;
    if (auto located = located_parts(*format->layout)) return located;
    if (repeats_an_index(tensor)) return std::nullopt;
    const auto placement = Placement::of(*format->layout, network_.tensors[tensor].extents, network_.tensors[tensor].name);
    return placement ? located_sums(*placement) : std::nullopt;
  }

  static std::optional<LocatedLevels> located_parts(const Layout& layout) {
    LocatedLevels located;
    std::vector<ModePart>& parts = located.parts;
    const std::vector<std::uint32_t> fibers = slots_of_fibers(layout);
    for (std::uint32_t l = 0; l < layout.levels.size(); ++l) {
      // A slot above the singleton that it numbers is one compressed level with that.
      if (std::ranges::count(fibers, l) > 0) continue;
      const LayoutLevel& level = layout.levels[l];
      const bool packed = is_compressed(level.kind) || (l > 0 && std::ranges::count(fibers, l - 1) > 0);
      const bool other = level.order != LevelOrder::ascending && packed && parts.size() < 64;
      const auto part = other ? part_in_any_order(layout, level) : part_of(layout, level);
      // Others are indices of their own, which are summed over.
      if (!part || (part->own ? !fibers.empty() || !layout.free.empty() : has_lengths(level.kind))) return std::nullopt;
      if (other) (level.order == LevelOrder::descending ? located.falling : located.scanned) |= std::uint64_t{1} << parts.size();
      parts.push_back(*part);
    }
    bool any = located.falling != 0 || located.scanned != 0;
    for (std::uint32_t mode = 0; mode < layout.modes.size(); ++mode) {
      const auto cuts = cuts_of(parts, mode);
      if (!cuts) return std::nullopt;
      any = any || !cuts->empty();
    }
    return any ? std::optional(std::move(located)) : std::nullopt;
  }

  std::set<TensorId> may_be_located() const {
    std::set<TensorId> found;
    std::optional<Exposure> otherwise;
    for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor) {
      const auto levels = located_levels(tensor);
      if (!levels) continue;
      const bool meets = meets_another(tensor);
      if (!meets && levels->falling == 0) continue;
      // What falls may drive too, and is not only for others to find: A(i,j) * A(i,j).
      if (!meets && !otherwise) otherwise = Exposer(network_, stored_, Exposing::all).exposed();
      if (meets || otherwise->tensors[tensor].parts.empty()) found.insert(tensor);
    }
    return found;
  }

  std::set<TensorId> may_be_at_digits() {
    std::set<TensorId> found;
    find_classes();
    for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor) take_layout(tensor);
    for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor)
      if (is_plain_sparse(tensor) && meets_another(tensor) && has_digits(tensor)) found.insert(tensor);
    return found;
  }

 private:
  /// Levels that a search finds sums in, of each mode one.
  bool is_plain_sparse(TensorId tensor) const {
    const auto& format = stored_[tensor].format;
    if (!format || format->layout || format->all_dense() || network_.tensors[tensor].is_result || is_pattern(tensor)) return false;
    return !repeats_an_index(tensor) && std::ranges::all_of(format->levels, [](const Level& level) {
      return (is_dense(level.kind) || level.kind == LevelKind::compressed) && !level.strided;
    });
  }
  /// Whether an index of it is cut, in a way that sums can say.
  bool has_digits(TensorId tensor) {
    bool any = false;
    for (std::size_t mode = 0; mode < network_.tensors[tensor].extents.size(); ++mode) {
      if (!mode_index_.contains({tensor, mode}) || sum_over(tensor, mode)) return false;
      const Cuts& all = cuts(tensor, mode);
      any = any || !all.empty();
      if (!all.empty() && all.back() > static_cast<std::uint64_t>(largest_factor)) return false;
      if (Wide{network_.tensors[tensor].extents[mode]} > furthest) return false;
    }
    return any;
  }
  /// Whether an access has an index twice, of which a sum would be another.
  bool repeats_an_index(TensorId tensor) const {
    bool repeats = false;
    for_accesses([&](const TensorAccess& access) {
      const std::set<IndexId> distinct(access.indices.begin(), access.indices.end());
      repeats = repeats || (access.tensor == tensor && distinct.size() != access.indices.size());
    });
    return repeats;
  }
  /// Whether a product has another sparse factor over one of the operand's indices.
  bool meets_another(TensorId tensor) const {
    const auto is_sparse = [&](TensorId other) { return stored_[other].format && !stored_[other].format->all_dense(); };
    bool meets = false;
    for (const Assignment& assignment : network_.assignments) {
      for (const Term& term : assignment.terms) {
        const auto own = std::ranges::find(term.factors, tensor, &TensorAccess::tensor);
        if (own == term.factors.end()) continue;
        for (const TensorAccess& factor : term.factors) {
          const auto is_own = [&](IndexId index) { return std::ranges::count(own->indices, index) > 0; };
          const bool shares = std::ranges::any_of(factor.indices, is_own);
          meets = meets || (factor.tensor != tensor && shares && is_sparse(factor.tensor));
        }
      }
    }
    return meets;
  }

  /// The indices of an operand that is located.
  void keep_whole(TensorId tensor) {
    for (std::size_t mode = 0; mode < network_.tensors[tensor].extents.size(); ++mode)
      if (mode_index_.contains({tensor, mode})) whole_.insert(class_of(mode_index_.at({tensor, mode})));
  }

  /// Indices that have to be cut alike: those of one mode of a tensor, in all accesses.
  void find_classes() {
    class_.resize(network_.indices.size());
    std::iota(class_.begin(), class_.end(), 0U);
    std::map<std::pair<TensorId, std::size_t>, IndexId> first;
    for_accesses([&](const TensorAccess& access) {
      for (std::size_t mode = 0; mode < access.indices.size(); ++mode) {
        const IndexId index = access.indices[mode];
        join(first.try_emplace({access.tensor, mode}, index).first->second, index);
        mode_index_[{access.tensor, mode}] = index;
      }
    });
  }
  template <class F>
  void for_accesses(F&& f) const {
    for (const Assignment& assignment : network_.assignments) {
      f(assignment.result);
      for (const Term& term : assignment.terms) std::ranges::for_each(term.factors, f);
    }
  }
  IndexId class_of(IndexId index) const {
    while (class_[index] != index) index = class_[index];
    return index;
  }
  void join(IndexId one, IndexId other) { class_[class_of(one)] = class_of(other); }
  Cuts& cuts(TensorId tensor, std::size_t mode) { return cuts_[class_of(mode_index_.at({tensor, mode}))]; }

  /// Cuts the indices of a tensor as its layout has them, unless others contradict: then it is read through a copy.
  void take_layout(TensorId tensor) {
    const auto& format = stored_[tensor].format;
    if (!format || !format->layout || exposing_ == Exposing::none || !is_plain_kinds(*format->layout)) return;
    if (located_.contains(tensor)) return;
    const Layout& layout = *format->layout;
    auto native = native_levels(tensor, layout);
    if (!native) return;
    std::map<IndexId, Cuts> merged;
    for (std::uint32_t mode = 0; mode < layout.modes.size(); ++mode) {
      if (!mode_index_.contains({tensor, mode})) return;
      if (native->sums.contains(mode)) continue;
      const auto own = cuts_of(native->parts, mode);
      if (!own) return;
      const IndexId index = class_of(mode_index_.at({tensor, mode}));
      if (!own->empty() && whole_.contains(index)) return;
      Cuts all = merged.contains(index) ? merged.at(index) : cuts_[index];
      all.insert(all.end(), own->begin(), own->end());
      std::ranges::sort(all);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      for (std::size_t n = 1; n < all.size(); ++n) {
        if (all[n] % all[n - 1] != 0) return;
      }
      merged[index] = std::move(all);
    }
    for (auto& [index, all] : merged) cuts_[index] = std::move(all);
    native_[tensor] = std::move(*native);
  }

  /// Digits of modes where levels are such; others are indices of their own, which say the modes that have no digits.
  std::optional<Native> native_levels(TensorId tensor, const Layout& layout) const {
    const std::vector<std::uint64_t>& extents = stored_[tensor].level_extents;
    Native native;
    bool any_own = false;
    for (const LayoutLevel& level : layout.levels) {
      auto part = part_in_any_order(layout, level);
      if (level.order != LevelOrder::ascending) {
        const bool starts = !part && is_compressed(level.kind);
        if ((!starts && (!part || part->own)) || native.parts.empty() || exposing_ != Exposing::all) return std::nullopt;
        native.unordered.push_back(static_cast<std::uint32_t>(native.parts.size()));
      }
      if (!part && exposing_ != Exposing::all) return std::nullopt;
      if (!part) part = ModePart{.own = true};
      if (has_lengths(level.kind) && !part->own) return std::nullopt;
      any_own = any_own || part->own;
      native.parts.push_back(*part);
    }
    const bool may_have_own = !network_.tensors[tensor].is_result && !is_pattern(tensor) && extents.size() == layout.levels.size();
    if (any_own && !may_have_own) return std::nullopt;
    std::optional<Placement> placement;
    const std::vector<ModePart> parts = native.parts;
    for (std::uint32_t mode = 0; mode < layout.modes.size(); ++mode) {
      if (cuts_of(parts, mode)) continue;
      if (!may_have_own) return std::nullopt;  // (i:d, j:s, i:d): a mode that levels say twice is one of their sums
      if (!placement) {
        auto placed = Placement::of(layout, network_.tensors[tensor].extents, network_.tensors[tensor].name);
        if (!placed || placed->inverse_within_bounds() || std::ranges::any_of(placed->levels(), &PlacedLevel::varies)) return std::nullopt;
        placement = std::move(*placed);
      }
      auto sum = sum_of(*placement, mode, extents);
      if (!sum) return std::nullopt;
      native.sums[mode] = std::move(*sum);
      for (ModePart& part : native.parts)
        if (!part.own && part.mode == mode) part = ModePart{.own = true};
    }
    const auto fibers = slots_of_fibers(layout);
    if (!fibers.empty() && (!native.sums.empty() || (fibers.front() == 0 && !native.unordered.empty()))) return std::nullopt;
    return native;
  }
  /// Of two levels, diagonals and a dense mode: read in compressed levels, the last one's coordinates either those of that mode or of the
  /// other one.
  std::vector<Native> placed_levels(TensorId tensor) const {
    const auto& format = stored_[tensor].format;
    const std::vector<std::uint64_t>& extents = stored_[tensor].level_extents;
    if (exposing_ != Exposing::all || !format || !format->layout || network_.tensors[tensor].is_result || is_pattern(tensor)) return {};
    const Layout& layout = *format->layout;
    if (layout.modes.size() != 2 || layout.levels.size() != 2 || !layout.free.empty() || extents.size() != 2) return {};
    const LayoutLevel& diagonals = layout.levels[0];
    const auto along = part_of(layout, layout.levels[1]);
    if (!diagonals.value || diagonals.low || diagonals.high || diagonals.kind != LevelKind::compressed ||
        diagonals.order == LevelOrder::descending || !is_dense(layout.levels[1].kind))
      return {};
    if (!along || along->own || *along != ModePart{along->mode}) return {};
    if (!mode_index_.contains({tensor, 0}) || !mode_index_.contains({tensor, 1})) return {};
    const std::uint32_t other = 1 - along->mode;
    const auto placement = Placement::of(layout, network_.tensors[tensor].extents, network_.tensors[tensor].name);
    if (!placement || std::ranges::any_of(placement->levels(), &PlacedLevel::varies)) return {};
    auto given = sum_of(*placement, other, extents);
    if (!given || given->summands.size() != 2) return {};
    std::ranges::sort(given->summands, {}, &LevelSum::Summand::level);
    const std::int64_t distance = given->summands[0].distance;
    if (given->summands[0].level != 0 || (distance != 1 && distance != -1) || given->summands[1].distance != 1) return {};
    const std::vector<std::uint64_t> turned{extents[0], network_.tensors[tensor].extents[other]};
    const auto back = sum_of_two(-distance, -Wide{given->reach.first}, turned);
    std::vector<Native> natives;
    natives.push_back({{ModePart{.own = true}, *along}, {{other, *given}}, true, extents});
    if (back) natives.push_back({{ModePart{.own = true}, ModePart{other}}, {{along->mode, *back}}, true, turned});
    return natives;
  }
  bool is_pattern(TensorId operand) const {
    return std::ranges::any_of(stored_, [&](const StoredAs& each) { return each.like == operand; });
  }

  /// Keeps sums of levels where all other tensors bear them, and are dense, so that nothing depends on which places there are.
  void settle_sums() {
    std::erase_if(native_, [&](const auto& one) {
      const auto& [tensor, native] = one;
      return (!native.sums.empty() && !may_stay(tensor, native)) || (!native.unordered.empty() && !may_be_unordered(tensor, native));
    });
    for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor) {
      if (native_.contains(tensor) || located_.contains(tensor)) continue;
      for (Native& native : placed_levels(tensor)) {
        if (!may_stay(tensor, native)) continue;
        native_[tensor] = std::move(native);
        break;
      }
    }
    for (const auto& [tensor, native] : native_) {
      for (const auto& [mode, sum] : native.sums) summed_[class_of(mode_index_.at({tensor, mode}))] = {tensor, mode};
    }
  }
  bool may_stay(TensorId tensor, const Native& native) {
    for (const ModePart& part : native.parts)
      if (!part.own && digits_within(part, cuts(tensor, part.mode)).size() != 1) return false;
    for (TensorId other = 0; other < network_.tensors.size(); ++other) {
      const auto& format = stored_[other].format;
      const bool is_result = network_.tensors[other].is_result;
      const bool dense = format ? format->all_dense() && !format->layout : is_result;
      if (other != tensor && (!dense || stored_[other].like)) return false;
    }
    std::map<TensorId, unsigned> uses;
    for_accesses([&](const TensorAccess& access) { ++uses[access.tensor]; });
    const Term* const product = term_of(tensor);
    if (uses[tensor] != 1 || product == nullptr) return false;
    for (const auto& [mode, sum] : native.sums) {
      const IndexId summed = class_of(mode_index_.at({tensor, mode}));
      if (!cuts_[summed].empty()) return false;
      const auto has = [&](const TensorAccess& access) {
        return std::ranges::count_if(access.indices, [&](IndexId index) { return class_of(index) == summed; });
      };
      std::ptrdiff_t here = 0;
      for (const TensorAccess& factor : product->factors) {
        if (has(factor) > 1 || (has(factor) == 1 && uses[factor.tensor] != 1)) return false;
        here += has(factor);
      }
      std::ptrdiff_t all = 0;
      for_accesses([&](const TensorAccess& access) { all += has(access); });
      if (all != here) return false;
    }
    return true;
  }
  /// Whether nothing depends on the order of coordinates: all others are dense, no intermediate has such a mode (there is one other factor,
  /// if any, and nothing is summed over the operand before it meets that), and a result that has one is asked to be dense or, without a
  /// mode of a level above, cannot be appended to.
  bool may_be_unordered(TensorId tensor, const Native& native) {
    if (!may_stay(tensor, native)) return false;
    const Term& product = *term_of(tensor);
    const Assignment& assignment = assignment_of(product);
    if (product.factors.size() > 2 || is_read_later(assignment)) return false;
    const bool first = product.factors[0].tensor == tensor;
    const TensorAccess& access = product.factors[first ? 0 : 1];
    if (repeats_an_index(tensor)) return false;
    const auto& asked = stored_[assignment.result.tensor].format;
    const auto is_kept = [&](IndexId index) { return std::ranges::count(assignment.result.indices, index) > 0; };
    const auto is_met = [&](IndexId index) {
      return is_kept(index) || (product.factors.size() == 2 && std::ranges::count(product.factors[first ? 1 : 0].indices, index) > 0);
    };
    const bool summed_before = !std::ranges::all_of(access.indices, is_met);
    // Of a start, or another level that no mode is a part of, the one that a sum with it says.
    const auto index_of_level = [&](std::uint32_t level) {
      for (const auto& [mode, sum] : native.sums)
        if (native.parts[level].own && std::ranges::count(sum.summands, level, &LevelSum::Summand::level) > 0) return access.indices[mode];
      return access.indices[native.parts[level].mode];
    };
    return std::ranges::all_of(native.unordered, [&](std::uint32_t level) {
      if (summed_before && is_met(index_of_level(level))) return false;
      bool kept_above = false;
      for (std::uint32_t above = 0; above < level; ++above)
        kept_above = kept_above || (!native.parts[above].own && is_kept(index_of_level(above)));
      return asked || !is_kept(index_of_level(level)) || !kept_above;
    });
  }
  /// The assignment that has this product.
  const Assignment& assignment_of(const Term& product) const {
    return *std::ranges::find_if(network_.assignments, [&](const Assignment& assignment) {
      return std::ranges::any_of(assignment.terms, [&](const Term& term) { return &term == &product; });
    });
  }
  /// Whether its result is a factor of another.
  bool is_read_later(const Assignment& assigned) const {
    for (const Assignment& assignment : network_.assignments)
      for (const Term& term : assignment.terms)
        if (std::ranges::find(term.factors, assigned.result.tensor, &TensorAccess::tensor) != term.factors.end()) return true;
    return false;
  }
  /// Whether an operand is read at entries of a placed one alone: in a product of these two that no other is written into (inlining.h),
  /// where nothing is summed over the operand before they meet.
  bool stays_inside(TensorId tensor) const {
    const Term* const product = term_of(tensor);
    if (product == nullptr || product->factors.size() != 2 || network_.tensors[tensor].is_result) return false;
    const bool first = product->factors[0].tensor == tensor;
    const TensorAccess& access = product->factors[first ? 0 : 1];
    const TensorAccess& other = product->factors[first ? 1 : 0];
    const auto native = native_.find(other.tensor);
    if (other.tensor == tensor || native == native_.end() || !native->second.placed) return false;
    const Assignment& assigned = assignment_of(*product);
    return !is_read_later(assigned) && std::ranges::all_of(access.indices, [&](IndexId index) {
      return std::ranges::find(other.indices, index) != other.indices.end() ||
             std::ranges::find(assigned.result.indices, index) != assigned.result.indices.end();
    });
  }
  /// The product that has the tensor.
  const Term* term_of(TensorId tensor) const {
    for (const Assignment& assignment : network_.assignments) {
      for (const Term& term : assignment.terms) {
        if (std::ranges::find(term.factors, tensor, &TensorAccess::tensor) != term.factors.end()) return &term;
      }
    }
    return nullptr;
  }

  bool reaches_beyond(IndexId index) const {
    const Cuts& all = cuts_[class_of(index)];
    const std::uint64_t extent = network_.indices[index].extent;
    std::uint64_t covered = 1;
    for (const ModePart& digit : digits_of(0, all)) covered *= digit.of_mode().extent(extent);
    return covered != extent;
  }
  void leave_whole() {
    for (IndexId index = 0; index < network_.indices.size(); ++index) {
      if (!reaches_beyond(index)) continue;
      const IndexId left = class_of(index);
      cuts_[left].clear();
      std::erase_if(native_, [&](const auto& one) {
        for (std::size_t mode = 0; mode < network_.tensors[one.first].extents.size(); ++mode) {
          if (class_of(mode_index_.at({one.first, mode})) == left) return true;
        }
        return false;
      });
    }
  }

  /// Beyond an extent tensors over the index hold zeros, which the others are multiplied with.
  void note_finite() {
    for (const auto& [summed, definer] : summed_) {
      exposure_.dense_results = true;
      for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor) {
        bool over = network_.tensors[tensor].is_result;
        for (std::size_t mode = 0; mode < network_.tensors[tensor].extents.size(); ++mode)
          over = over || (mode_index_.contains({tensor, mode}) && class_of(mode_index_.at({tensor, mode})) == summed);
        if (!over) exposure_.finite.insert(tensor);
      }
    }
    std::set<TensorId> read_later;
    for (const Assignment& assignment : network_.assignments) {
      for (const Term& term : assignment.terms)
        for (const TensorAccess& factor : term.factors) read_later.insert(factor.tensor);
    }
    for (const Assignment& assignment : network_.assignments) {
      for (const Term& term : assignment.terms) {
        std::set<IndexId> indices;
        for (const TensorAccess& factor : term.factors) indices.insert(factor.indices.begin(), factor.indices.end());
        for (const IndexId index : indices) {
          const bool kept = std::ranges::find(assignment.result.indices, index) != assignment.result.indices.end();
          if (!reaches_beyond(index) || (kept && !read_later.contains(assignment.result.tensor))) continue;
          for (const TensorAccess& factor : term.factors) {
            if (std::ranges::find(factor.indices, index) == factor.indices.end()) exposure_.finite.insert(factor.tensor);
          }
        }
      }
    }
  }

  /// The levels of a plain format as they stand, at sums of digits.
  void expose_at_digits(TensorId tensor, const Format& plain) {
    ExposedTensor& exposed = exposure_.tensors[tensor];
    for (const std::uint32_t mode : plain.mode_order) {
      const auto first = static_cast<std::uint32_t>(exposed.parts.size());
      for (const ModePart& digit : digits_of(mode, cuts(tensor, mode))) exposed.parts.push_back(digit);
      exposed.sums.resize(exposed.parts.size());
      ModeSum& sum = exposed.sums.back();
      for (std::uint32_t digit = first; digit + 1 < exposed.parts.size(); ++digit)
        sum.others.push_back({digit, static_cast<std::int64_t>(exposed.parts[digit].divisor)});
      sum.within = !sum.others.empty();
    }
    exposed.read_in = plain;
    exposed.located = true;
    exposed.at_digits = true;
  }

  /// The levels of a plain format with the parts of its modes instead: compressed ones stay compressed.
  void expose_plain(TensorId tensor, const Format& plain) {
    ExposedTensor& exposed = exposure_.tensors[tensor];
    Format levels{.scalar = plain.scalar, .mode_order = {}, .levels = {}};
    for (std::size_t level = 0; level < plain.order(); ++level) {
      const std::uint32_t mode = plain.mode_order[level];
      for (const ModePart& part : parts_of(tensor, mode)) {
        exposed.parts.push_back(part);
        const LevelKind kind = plain.levels[level].kind;
        levels.levels.push_back({.kind = is_dense(kind) ? LevelKind::dense : LevelKind::compressed});
      }
      if (const auto summed = sum_over(tensor, mode)) exposed.reach[mode] = native_.at(summed->operand).sums.at(summed->level).reach;
    }
    exposed.inside = !exposed.reach.empty() && stays_inside(tensor);
    exposed.read_in = exposed.reach.empty() ? format_over(exposed.parts, levels, plain.order()) : plain;
  }
  /// The tensor, and the mode of it, that say an index by a sum of levels.
  std::optional<LevelOf> sum_over(TensorId tensor, std::size_t mode) const {
    const auto index = mode_index_.find({tensor, mode});
    const auto summed = index == mode_index_.end() ? summed_.end() : summed_.find(class_of(index->second));
    return summed == summed_.end() ? std::nullopt : std::optional(summed->second);
  }
  /// What a mode of a tensor in a plain format is.
  std::vector<ModePart> parts_of(TensorId tensor, std::uint32_t mode) {
    const auto summed = sum_over(tensor, mode);
    if (!summed) return digits_of(mode, cuts(tensor, mode));
    std::vector<ModePart> parts;
    for (const LevelSum::Summand& summand : native_.at(summed->operand).sums.at(summed->level).summands)
      parts.push_back({.mode = mode, .counts = LevelOf{summed->operand, summand.level}, .distance = summand.distance});
    return parts;
  }

  /// The layout with every level cut as the indices are; false where a level of another kind would have to be.
  bool expose_layout(TensorId tensor, const std::vector<ModePart>& parts, const Format& format) {
    ExposedTensor exposed;
    Format levels{.scalar = format.scalar, .mode_order = {}, .levels = {}};
    bool cut = false;
    for (std::size_t level = 0; level < parts.size(); ++level) {
      const std::vector<ModePart> within =
          parts[level].own ? std::vector{parts[level]} : digits_within(parts[level], cuts(tensor, parts[level].mode));
      const LevelKind kind = format.levels[level].kind;
      if (within.size() > 1 && !is_dense(kind) && kind != LevelKind::compressed) return false;
      cut = cut || within.size() > 1;
      for (const ModePart& digit : within) {
        exposed.parts.push_back(digit);
        levels.levels.push_back(format.levels[level]);
      }
    }
    if (cut && std::ranges::any_of(parts, &ModePart::own)) return false;
    exposed.read_in = cut ? format_over(exposed.parts, levels, format.modes()) : format;
    const std::vector<std::uint32_t> fibers = slots_of_fibers(*format.layout);
    for (auto slots = fibers.rbegin(); slots != fibers.rend(); ++slots) exposed.parts.erase(exposed.parts.begin() + *slots);
    exposure_.tensors[tensor] = std::move(exposed);
    return true;
  }

  void expose(TensorId tensor) {
    const StoredAs& stored = stored_[tensor];
    const TensorDeclaration& declared = network_.tensors[tensor];
    ExposedTensor& exposed = exposure_.tensors[tensor];
    const bool has_layout = stored.format && stored.format->layout;
    bool is_cut = false;
    for (std::size_t mode = 0; mode < declared.extents.size(); ++mode)
      is_cut = is_cut || (mode_index_.contains({tensor, mode}) && !cuts(tensor, mode).empty()) || sum_over(tensor, mode);
    if (located_.contains(tensor)) {
      LocatedLevels located = *located_levels(tensor);
      exposed.parts = std::move(located.parts);
      exposed.sums = std::move(located.sums);
      exposed.falling = located.falling;
      exposed.scanned = located.scanned;
      exposed.read_in = *stored.format;
      exposed.located = true;
      return;
    }
    if (at_digits_.contains(tensor) && has_digits(tensor)) {
      expose_at_digits(tensor, *stored.format);
      return;
    }
    const auto native = native_.find(tensor);
    const bool done = native != native_.end() && expose_layout(tensor, native->second.parts, *stored.format);
    exposed.placed = done && native->second.placed;
    exposed.unordered = done && !native->second.unordered.empty();
    const std::vector<std::uint32_t> modes = stored.like ? modes_of_pattern(tensor, *stored.like) : std::vector<std::uint32_t>();
    if (!done && !modes.empty() && exposure_.is_exposed(*stored.like)) {
      exposed.parts = exposure_.tensors[*stored.like].parts;
      for (ModePart& part : exposed.parts) part.mode = modes[part.mode];
    } else if (!done && is_cut) {
      Format plain = stored.format ? *stored.format : dense_format(declared.extents.size(), declared.scalar);
      if (has_layout) plain = plain_format(plain, declared.extents);
      expose_plain(tensor, plain);
    } else if (!done && has_layout) {
      exposed.read_in = plain_format(*stored.format, declared.extents);
    }
    exposed.asked = declared.is_result && stored.format && !has_layout;
    if (declared.is_result && has_layout) exposed.handed_over = *stored.format;
    if (declared.is_result && !has_layout && !exposed.parts.empty() && stored.format) exposed.handed_over = *stored.format;
    if (!modes.empty() && stored_[*stored.like].format && stored_[*stored.like].format->layout) {
      exposed.handed_over = with_modes(*stored_[*stored.like].format, modes);
      exposed.handed_over->scalar = declared.scalar;  // other factors may be wider
    }
  }

  /// By mode of an operand the mode of the result that has its index; none where no factor has just the indices of the result.
  std::vector<std::uint32_t> modes_of_pattern(TensorId result, TensorId operand) const {
    std::vector<std::uint32_t> modes;
    for (const Assignment& assignment : network_.assignments) {
      if (assignment.result.tensor != result) continue;
      const std::vector<IndexId>& kept = assignment.result.indices;
      for (const Term& term : assignment.terms) {
        for (const TensorAccess& factor : term.factors) {
          if (factor.tensor != operand || !std::ranges::is_permutation(factor.indices, kept)) continue;
          modes.clear();
          for (const IndexId index : factor.indices)
            modes.push_back(static_cast<std::uint32_t>(std::ranges::find(kept, index) - kept.begin()));
        }
      }
    }
    return modes;
  }

  std::string free_name(std::string name) const {
    while (std::ranges::find(network_.indices, name, &Index::name) != network_.indices.end()) name += "_";
    return name;
  }

  IndexId numbered(const std::string& name, std::uint64_t extent) {
    exposure_.network.indices.push_back({name, extent});
    return static_cast<IndexId>(exposure_.network.indices.size() - 1);
  }

  /// The parts of an index of the given network, outermost first.
  const std::vector<IndexId>& indices_of(IndexId index) {
    auto [found, is_new] = parts_of_index_.try_emplace(index);
    if (!is_new) return found->second;
    const Index& given = network_.indices[index];
    const Cuts& all = cuts_[class_of(index)];
    if (all.empty()) {
      found->second = {numbered(given.name, given.extent)};
      return found->second;
    }
    std::string definition = given.name + " = ";
    const std::vector<ModePart> digits = digits_of(0, all);
    for (std::size_t n = 0; n < digits.size(); ++n) {
      const std::string name = free_name(fmt::format("{}_{}", given.name, n));
      found->second.push_back(numbered(name, digits[n].of_mode().extent(given.extent)));
      definition += fmt::format("{}{}{}", n == 0 ? "" : " + ", digits[n].divisor == 1 ? "" : fmt::format("{}*", digits[n].divisor), name);
    }
    if (std::ranges::find(exposure_.definitions, definition) == exposure_.definitions.end()) exposure_.definitions.push_back(definition);
    return found->second;
  }

  IndexId index_of(const TensorAccess& access, const ModePart& part) {
    const IndexId index = access.indices[part.mode];
    const std::vector<ModePart> digits = digits_of(part.mode, cuts_[class_of(index)]);
    return indices_of(index)[static_cast<std::size_t>(std::ranges::find(digits, part) - digits.begin())];
  }

  TensorAccess rewritten(const TensorAccess& access) {
    const ExposedTensor& exposed = exposure_.tensors[access.tensor];
    TensorAccess result{access.tensor, {}};
    if (exposed.parts.empty()) {
      for (const IndexId index : access.indices) result.indices.push_back(indices_of(index).front());
      return result;
    }
    if (exposed.located) {
      for (std::uint32_t level = 0; level < exposed.parts.size(); ++level) {
        const ModePart& part = exposed.parts[level];
        const IndexId index = exposed.at_digits ? index_of(access, part) : indices_of(access.indices[part.mode]).front();
        result.indices.push_back(part.own ? own_index(access.tensor, level) : index);
      }
      TensorDeclaration declared = network_.tensors[access.tensor];
      take_located(access.tensor, declared);
      std::vector<std::string> parts;
      for (std::size_t level = 0; level < exposed.parts.size(); ++level) {
        const auto name = [&](std::size_t at) { return exposure_.network.indices[result.indices[at]].name; };
        if (exposed.stands_above(level)) continue;
        parts.push_back(located_text(declared, level, name) + declared.order_text(level));
      }
      std::size_t at = 0;
      while (at < exposed.parts.size() && !declared.is_located(at)) ++at;
      const char* const how = at < exposed.parts.size() ? "located" : "read";
      exposure_.definitions.push_back(fmt::format("{} {} at ({})", declared.name, how, fmt::join(parts, ", ")));
      return result;
    }
    const auto native = native_.find(access.tensor);
    const bool sums = native != native_.end() && !native->second.sums.empty();
    for (std::uint32_t level = 0; level < exposed.parts.size(); ++level) {
      const ModePart& part = exposed.parts[level];
      if (part.counts) {
        result.indices.push_back(level_index(*part.counts));
      } else if (sums) {
        result.indices.push_back(level_index({access.tensor, level}));
      } else {
        result.indices.push_back(part.own ? own_index(access.tensor, level) : index_of(access, part));
      }
    }
    if (sums) define(access, native->second);
    return result;
  }

  IndexId own_index(TensorId tensor, std::uint32_t level) {
    const bool is_slot = !stored_[tensor].format->layout->levels[level].value;
    const std::string name = fmt::format("{}_{}", network_.tensors[tensor].name, is_slot ? "slot" : std::to_string(level));
    const std::string numbered_name = !is_slot || slots_ == 0 ? name : fmt::format("{}_{}", name, slots_);
    if (is_slot) ++slots_;
    return numbered(free_name(numbered_name), stored_[tensor].level_extents[level]);
  }
  std::uint64_t level_extent(const LevelOf& of) const {
    const auto native = native_.find(of.operand);
    const bool placed = native != native_.end() && native->second.placed;
    return placed ? native->second.extents[of.level] : stored_[of.operand].level_extents[of.level];
  }
  /// The index of a level of a tensor that is there once.
  IndexId level_index(const LevelOf& of) {
    if (const auto known = level_index_.find(of); known != level_index_.end()) return known->second;
    const ModePart& part = native_.at(of.operand).parts[of.level];
    const Term& product = *term_of(of.operand);
    const TensorAccess& access = *std::ranges::find(product.factors, of.operand, &TensorAccess::tensor);
    return level_index_[of] = part.own ? own_index(of.operand, of.level) : index_of(access, part);
  }
  /// "j = B_0 + 4*i_0 + i_1 - 3"
  void define(const TensorAccess& access, const Native& native) {
    for (const auto& [mode, sum] : native.sums) {
      std::string definition = network_.indices[access.indices[mode]].name + " = ";
      for (const auto& [level, distance] : sum.summands) {
        const std::string& name = exposure_.network.indices[level_index({access.tensor, level})].name;
        const bool is_first = definition.ends_with("= ");
        const std::string sign = distance < 0 ? (is_first ? "-" : " - ") : is_first ? "" : " + ";
        const std::string times = distance == 1 || distance == -1 ? "" : fmt::format("{}*", distance < 0 ? -distance : distance);
        definition += sign + times + name;
      }
      const std::int64_t first = sum.reach.first;
      if (first != 0) definition += fmt::format(" {} {}", first < 0 ? "-" : "+", first < 0 ? -first : first);
      exposure_.definitions.push_back(definition);
    }
  }

  void rewrite() {
    Network& network = exposure_.network;
    network.tensors = network_.tensors;
    for (const Assignment& assignment : network_.assignments) {
      Assignment now{rewritten(assignment.result), {}};
      for (const Term& term : assignment.terms) {
        Term rewritten_term = term;
        for (TensorAccess& factor : rewritten_term.factors) factor = rewritten(factor);
        now.terms.push_back(std::move(rewritten_term));
      }
      network.assignments.push_back(std::move(now));
    }
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      const std::vector<ModePart>& parts = exposure_.tensors[tensor].parts;
      if (parts.empty()) continue;
      std::vector<std::uint64_t>& extents = network.tensors[tensor].extents;
      const std::vector<std::uint64_t> given = extents;
      extents.clear();
      for (std::size_t level = 0; level < parts.size(); ++level) {
        const ModePart& part = parts[level];
        const LevelOf of = part.counts.value_or(LevelOf{tensor, static_cast<std::uint32_t>(level)});
        const bool counted = part.counts || part.own;
        const bool sum = level < exposure_.tensors[tensor].sums.size();
        if (exposure_.tensors[tensor].at_digits)
          extents.push_back(exposure_.tensors[tensor].stands_above(level) ? 1 : given[part.mode]);
        else
          extents.push_back(counted || sum ? level_extent(of) : part.of_mode().extent(given[part.mode]));
      }
      if (exposure_.tensors[tensor].located) take_located(tensor, network.tensors[tensor]);
    }
  }

  /// A level that stands above the one of a sum has the coordinate 0 alone: j_0 / 2000 of as many.
  void take_located(TensorId tensor, TensorDeclaration& declared) const {
    const ExposedTensor& exposed = exposure_.tensors[tensor];
    for (std::size_t level = 0; level < exposed.parts.size(); ++level) {
      const ModePart& part = exposed.parts[level];
      const std::uint64_t digits = part.of_mode().extent(network_.tensors[tensor].extents[part.mode]);
      declared.parts.push_back(!exposed.at_digits ? part.of_mode() : exposed.stands_above(level) ? IndexPart{digits} : IndexPart{});
    }
    declared.sums = exposed.sums;
    declared.falling = exposed.falling;
    declared.unordered = exposed.scanned;
  }

  const Network& network_;
  const std::vector<StoredAs>& stored_;
  Exposing exposing_;
  bool by_choice_;  ///< and not because others contradict
  std::set<TensorId> located_;
  std::set<TensorId> at_digits_;
  std::set<IndexId> whole_;     ///< classes that nothing cuts, as an operand is located at them
  std::vector<IndexId> class_;  ///< another index of the same class, or itself
  std::map<std::pair<TensorId, std::size_t>, IndexId> mode_index_;
  std::vector<Cuts> cuts_;  ///< by class
  std::map<TensorId, Native> native_;  ///< tensors whose layout is exposed
  std::map<IndexId, LevelOf> summed_;  ///< by class: the operand, and the mode of it, that say the index by a sum of levels
  std::map<LevelOf, IndexId> level_index_;
  std::map<IndexId, std::vector<IndexId>> parts_of_index_;
  unsigned slots_ = 0;
  Exposure exposure_;
};

}  // namespace

std::optional<Format> Exposure::computed_in(TensorId result) const {
  const ExposedTensor& exposed = tensors[result];
  if (!exposed.handed_over || !exposed.read_in) return std::nullopt;
  if (exposed.parts.empty()) return exposed.read_in;
  Format levels = dense_format(exposed.parts.size(), exposed.read_in->scalar);
  levels.levels = exposed.read_in->levels;
  return levels;
}

std::vector<std::uint32_t> slots_of_fibers(const Layout& layout) {
  const auto is_singleton = [&](std::size_t level) {
    return level < layout.levels.size() && layout.levels[level].kind == LevelKind::singleton;
  };
  std::vector<std::uint32_t> fibers;
  for (std::uint32_t level = 0; level < layout.levels.size() && layout.free.empty(); ++level)
    if (!layout.levels[level].value && is_singleton(level + 1) && !is_singleton(level + 2)) fibers.push_back(level);
  return fibers;
}

Format with_modes(Format format, const std::vector<std::uint32_t>& modes) {
  if (!format.layout) return format;
  Layout layout = *format.layout;
  std::vector<Affine> variables;
  for (const std::uint32_t mode : modes) variables.push_back(Affine::variable(mode));
  for (std::size_t name = 0; name < layout.free.size(); ++name)
    variables.push_back(Affine::variable(static_cast<std::uint32_t>(modes.size() + name)));
  for (LayoutLevel& level : layout.levels) {
    for (auto* const expression : {&level.value, &level.low, &level.high})
      if (*expression) *expression = std::make_shared<const Affine>((*expression)->substituted(variables));
  }
  format.layout = std::make_shared<const Layout>(std::move(layout));
  return format;
}

Format format_over(const std::vector<ModePart>& parts, const Format& levels, std::size_t modes) {
  Format format;
  format.scalar = levels.scalar;
  format.levels = levels.levels;
  Layout layout;
  layout.modes = layout_of(dense_format(modes)).modes;
  for (std::size_t level = 0; level < parts.size(); ++level) {
    LayoutLevel each;
    if (!parts[level].own) each.value = std::make_shared<const Affine>(value_of(parts[level]));
    each.kind = levels.levels[level].kind;
    layout.levels.push_back(std::move(each));
  }
  format.layout = std::make_shared<const Layout>(std::move(layout));
  return format;
}

namespace {

/// Whether a position for every row costs little: they are few, or the dense levels of the layout have a share as many. (i/4:s, j/4:s,
/// i%4:d, j%4:d) over a thousand million rows may hold two entries.
bool may_have_dense_rows(const Layout& layout, std::span<const std::uint64_t> extents) {
  constexpr std::uint64_t always = 1 << 16;
  constexpr std::uint64_t share = 8;
  if (extents.front() <= always) return true;
  const auto placement = Placement::of(layout, extents, "");
  if (!placement) return false;
  std::uint64_t places = 1;
  for (std::size_t level = 0; level < layout.levels.size(); ++level)
    if (is_dense(layout.levels[level].kind)) places = saturating_product(places, placement->levels()[level].extent);
  return extents.front() / share <= places;
}

}  // namespace

Format plain_format(const Format& format, std::span<const std::uint64_t> extents) {
  // Bands, bounds and lengths leave places out.
  const bool sparse = std::ranges::any_of(format.layout->levels, [&](const LayoutLevel& level) {
    return !is_dense(level.kind) || !part_of(*format.layout, level) || !level.value;
  });
  Format plain = dense_format(format.modes(), format.scalar);
  // No row of a matrix is an entry, every element of a dense vector is one.
  const std::size_t first = plain.order() > 1 && may_have_dense_rows(*format.layout, extents) ? 1 : 0;
  for (std::size_t level = first; level < plain.order() && sparse; ++level) plain.levels[level].kind = LevelKind::compressed;
  return plain;
}

std::set<TensorId> may_be_located(const Network& network, const std::vector<StoredAs>& stored) {
  const bool laid_out = std::ranges::any_of(stored, [](const StoredAs& each) { return each.format && each.format->layout; });
  const bool empty = std::ranges::any_of(network.indices, [](const Index& index) { return index.extent == 0; });
  return !laid_out || empty ? std::set<TensorId>() : Exposer(network, stored, Exposing::all).may_be_located();
}

std::set<TensorId> may_be_at_digits(const Network& network, const std::vector<StoredAs>& stored) {
  const bool laid_out = std::ranges::any_of(stored, [](const StoredAs& each) { return each.format && each.format->layout; });
  const bool empty = std::ranges::any_of(network.indices, [](const Index& index) { return index.extent == 0; });
  return !laid_out || empty ? std::set<TensorId>() : Exposer(network, stored, Exposing::all).may_be_at_digits();
}

std::optional<Exposure> exposed(const Network& network, const std::vector<StoredAs>& stored, Exposing exposing,
                                const std::set<TensorId>& located) {
  const auto has_layout = [](const StoredAs& each) { return each.format && each.format->layout; };
  if (std::ranges::none_of(stored, has_layout)) return std::nullopt;
  // Where a mode has no coordinates no level has any.
  const bool empty = std::ranges::any_of(network.indices, [](const Index& index) { return index.extent == 0; });
  return Exposer(network, stored, empty ? Exposing::none : exposing, empty ? std::set<TensorId>() : located).exposed();
}

}  // namespace weft
