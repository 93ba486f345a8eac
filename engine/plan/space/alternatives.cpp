#include "engine/plan/space/alternatives.h"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/plan/cost/access_model.h"
#include "engine/plan/cost/conversion.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/index_set.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"
#include "runtime/open_levels.h"

namespace weft {
namespace {

constexpr std::size_t most_converted = 56;  // of the first so many factors
constexpr std::size_t most_opened = 16;     // of convertible ones
constexpr double most_positions_per_entry = 16;

std::size_t opening_number(const PathChoice& choice, std::size_t number) {
  return number < most_opened ? choice.opened >> 4 * number & 15 : 0;
}

}  // namespace

std::vector<Opening> openings_of(const OperandFacts& operand, ModeSet met, const Machine& machine) {
  std::vector<Opening> found;
  const Format& given = operand.format;
  const auto meets = [&](std::size_t level) { return (met >> given.mode_order[level] & 1) != 0; };
  if (given.layout) return found;
  for (std::uint32_t levels = 1; levels < given.order(); ++levels) {
    const LevelKind kind = given.levels[levels - 1].kind;
    if (kind != LevelKind::dense && kind != LevelKind::compressed) break;
    const double positions = leading_positions(given, levels, operand.statistics);
    if (positions > most_positions_per_entry * leading_entries(given, levels, operand.statistics)) break;
    const AccessPath path = AccessPath::opened(levels);
    const Format opened = layout_of(path, operand);
    if (meets(levels - 1) && opens_levels(given, opened)) found.push_back({path, layout_ns(opened, true, operand, machine)});
  }
  const Format marked = layout_of(AccessPath::marked(), operand);
  // Places that no cache holds are not looked up sooner than entries are found, unless there are hardly more of them.
  constexpr double more_bytes = 4;
  const double most_marked = std::max(machine.cache_bytes[2], more_bytes * static_cast<double>(operand.bytes));
  const bool fits = stored_bytes(marked, operand.statistics) <= most_marked;
  if (fits && meets(given.order() - 1) && given.levels.back().kind == LevelKind::compressed && parse_format(marked.text()))
    found.push_back({AccessPath::marked(), layout_ns(marked, false, operand, machine)});
  return found;
}

PathSpace::PathSpace(const Problem& problem)
    : problem_(problem), transposable_(transposable_operands(problem)) {
  for (std::uint32_t factor = 0; factor < factors().size(); ++factor) {
    const OperandFacts& facts = facts_of(problem.operands, factors()[factor].tensor);
    if (!may_be_converted(facts) || facts.format.order() > most_convertible_modes || factor >= most_converted) continue;
    factors_.push_back(factor);
  }
  find_openings();
  // Not of a diagonal, whose modes are bound together.
  const auto is_plain = [](const TensorAccess& read) { return members(index_set(read.indices)).size() == read.indices.size(); };
  const bool one_sparse = sparse_factors(problem.network, problem.operands) == 1 && factors_.size() == 1;
  chains_ = one_sparse && access(0).indices.size() > 2 && is_plain(access(0));
  const std::size_t dense = transposable_.size();
  if (dense > 1) transposed_.push_back((std::uint64_t{1} << dense) - 1);
  for (std::size_t number = 0; number < dense; ++number) transposed_.push_back(std::uint64_t{1} << number);
}

void PathSpace::find_openings() {
  IndexSet once = 0;
  IndexSet met = 0;  // in several sparse operands
  for (auto factor = factors().begin(); factor != factors().end(); ++factor) {
    // Both factors of A(i,j) * A(i,j) are read by one walk.
    const bool repeats = std::find(factors().begin(), factor, *factor) != factor;
    if (repeats || !has_sparse_level(facts_of(problem_.operands, factor->tensor).format)) continue;
    const IndexSet indices = index_set(factor->indices);
    met |= once & indices;
    once |= indices;
  }
  for (std::size_t number = 0; met != 0 && number < std::min(factors_.size(), most_opened); ++number) {
    ModeSet modes = 0;
    for (const TensorAccess& read : factors()) {
      for (std::uint32_t mode = 0; read.tensor == access(number).tensor && mode < read.indices.size(); ++mode) {
        if (contains(met, read.indices[mode])) modes |= ModeSet{1} << mode;
      }
    }
    openings_.push_back(openings_of(facts_of(problem_.operands, access(number).tensor), modes, problem_.options.machine));
  }
}

const std::vector<TensorAccess>& PathSpace::factors() const { return problem_.network.assignments.front().terms.front().factors; }

double PathSpace::conversions_ns(const PathChoice& choice, bool shared) const {
  double ns = 0;
  const double calls = std::max(1.0, problem_.options.calls);
  const auto convert = [&](TensorId tensor) { ns += conversion_ns(facts_of(problem_.operands, tensor), problem_.options.machine) / calls; };
  std::set<TensorId> converted;
  std::set<std::pair<TensorId, std::size_t>> opened;
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    const TensorId tensor = access(number).tensor;
    if ((choice.converted >> number & 1) != 0 && (converted.insert(tensor).second || !shared)) convert(tensor);
    const std::size_t opening = opening_number(choice, number);
    if (opening != 0 && opened.emplace(tensor, opening).second) ns += openings_[number][opening - 1].ns / calls;
  }
  for (std::size_t number = 0; number < transposable_.size(); ++number) {
    if ((choice.transposed >> number & 1) != 0) convert(transposable_[number].tensor);
  }
  return ns;
}

bool PathSpace::differs(std::uint64_t converted, std::size_t fill_limit) const {
  const auto [low, high] = std::minmax(dense_fill_limits[0], dense_fill_limits[fill_limit]);
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    if ((converted >> number & 1) == 0) continue;
    const TensorAccess& read = access(number);
    const Statistics& statistics = facts_of(problem_.operands, read.tensor).statistics;
    const ModeSet all = (ModeSet{1} << read.indices.size()) - 1;
    for (ModeSet modes = 1; modes < all; ++modes) {
      double combinations = 1;
      for (const IndexId mode : members(modes)) combinations *= static_cast<double>(problem_.network.indices[read.indices[mode]].extent);
      const double distinct = statistics.distinct(modes);
      if (combinations > low * distinct && combinations <= high * distinct) return true;
    }
  }
  return false;
}

std::uint64_t PathSpace::converted_in(const Contractions& contractions) const {
  const auto like = std::ranges::find_if(factors_, [&](std::uint32_t factor) { return contractions.tensors.back().like == factor; });
  if (like == factors_.end()) return all_converted();
  return all_converted() & ~(std::uint64_t{1} << (like - factors_.begin()));
}

std::vector<PathChoice> PathSpace::openings(const PathChoice& from, std::size_t number) const {
  std::vector<PathChoice> found;
  if (number >= openings_.size() || openings_[number].empty()) return found;
  const auto is_alike = [&](std::size_t other) {
    const bool kept = ((from.converted >> other | from.converted >> number) & 1) == 0;
    const bool same = access(other).tensor == access(number).tensor && opening_number(from, other) == opening_number(from, number);
    return other == number || (kept && same);
  };
  PathChoice choice = from;
  std::uint64_t digits = 0;
  for (std::size_t other = 0; other < openings_.size(); ++other) {
    if (!is_alike(other)) continue;
    if (other < number) return found;
    digits |= std::uint64_t{1} << 4 * other;
    choice.converted &= ~(std::uint64_t{1} << other);
  }
  choice.chained = choice.chained && choice.converted != 0;
  choice.opened &= ~(digits * 15);
  for (std::uint64_t opening = 1; opening <= openings_[number].size(); ++opening) {
    found.push_back(choice);
    found.back().opened |= digits * opening;
  }
  return found;
}

// Whether the choice chains the operand whose positions the result has, all of them: entry p of the copy is its entry p.
bool PathSpace::keeps_places(const Contractions& contractions, const PathChoice& choice) const {
  const ContractedTensor& result = contractions.tensors.back();
  if (!choice.chained || choice.converted == 0 || contractions.steps.size() != 1 || factors_.size() != 1) return false;
  if (result.like != factors_.front()) return false;
  const OperandFacts& facts = facts_of(problem_.operands, access(0).tensor);
  return facts.place_bits == 0 && result.layout.order() == facts.format.order() && chained_format(facts, choice.fill_limit).has_value();
}

AccessPaths PathSpace::paths(const Contractions& contractions, const PathChoice& choice) const {
  AccessPaths paths(contractions.tensors.size());
  if (keeps_places(contractions, choice)) paths[factors_.front()] = AccessPath::chained_in_order(choice.fill_limit);
  const std::uint64_t converted = choice.converted & converted_in(contractions);
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    const std::size_t opening = opening_number(choice, number);
    if (opening != 0) {
      const AccessPath& path = openings_[number][opening - 1].path;
      // Positions of marked levels are others than those of the entries, which the result has.
      const bool lends = contractions.tensors.back().like == factors_[number];
      if (!lends || path.way != AccessPath::Way::marked) paths[factors_[number]] = path;
    }
    if ((converted >> number & 1) == 0) continue;
    paths[factors_[number]] = choice.chained ? AccessPath::chain_of_loops(choice.fill_limit) : AccessPath::of_loops(choice.fill_limit);
  }
  for (std::size_t number = 0; number < transposable_.size(); ++number) {
    if ((choice.transposed >> number & 1) == 0) continue;
    for (std::size_t factor = 0; factor < factors().size(); ++factor) {
      if (factors()[factor].tensor == transposable_[number].tensor) paths[factor] = AccessPath::transposed(transposable_[number].last);
    }
  }
  return paths;
}

namespace {

constexpr std::size_t most_transposable = 63;

bool may_be_transposed(const OperandFacts& operand) {
  return !operand.pinned && !operand.computed && operand.format.order() > 1 && operand.format.order() <= most_convertible_modes &&
         operand.format.all_dense() && std::ranges::none_of(operand.format.levels, &Level::strided);
}

// The mode that should be last, by all accesses of the operand: the longest index that may become vector code. Nothing if the
// last mode of any access may, or another access wants another one.
std::optional<std::uint32_t> wanted_last(const OperandFacts& operand, const Network& network, IndexSet vectorizable) {
  std::optional<std::uint32_t> wanted;
  for (const TensorAccess& access : network.assignments.front().terms.front().factors) {
    if (access.tensor != operand.tensor) continue;
    std::optional<std::uint32_t> best;
    for (const std::uint32_t mode : operand.format.mode_order) {
      const IndexId index = access.indices[mode];
      const std::uint64_t extent = network.indices[index].extent;
      if (std::ranges::count(access.indices, index) > 1) return std::nullopt;
      if (!contains(vectorizable, index) || extent < 2) continue;
      if (mode == operand.format.mode_order.back()) return std::nullopt;
      if (!best || extent > network.indices[access.indices[*best]].extent) best = mode;
    }
    if (!best || (wanted && *wanted != *best)) return std::nullopt;
    wanted = best;
  }
  return wanted;
}

}  // namespace

std::vector<Transposable> transposable_operands(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const Assignment& assignment = network.assignments.front();
  IndexSet vectorizable = options.strict_fp ? index_set(assignment.result.indices) : ~IndexSet{0};
  for (const TensorAccess& access : assignment.terms.front().factors) {
    if (has_sparse_level(facts_of(operands, access.tensor).format)) vectorizable &= ~index_set(access.indices);
  }
  const auto pattern = options.result_patterns.find(network.tensors[assignment.result.tensor].name);
  std::vector<Transposable> found;
  for (const OperandFacts& operand : operands) {
    const bool like = pattern != options.result_patterns.end() && network.tensors[operand.tensor].name == pattern->second;
    if (like || !may_be_transposed(operand) || found.size() == most_transposable) continue;
    if (const auto last = wanted_last(operand, network, vectorizable)) found.push_back({operand.tensor, *last});
  }
  return found;
}

AlternativeChoice all_alternatives(const Problem& problem, std::size_t most) {
  AlternativeChoice choice;
  const TreeChoice trees = choose_trees(problem);
  choice.complete = trees.complete;
  const PathSpace space(problem);
  const std::vector<ResultFormat> formats = result_formats(problem);
  for (const ContractionTree& tree : trees.trees) {
    for (const Contractions& contractions : contraction_variants(problem, tree, step_orders(tree, most), formats, true)) {
      // Every subset of the occurrences that may be converted.
      const std::uint64_t all = space.converted_in(contractions);
      std::uint64_t converted = 0;
      do {
        for (const double fill_limit : dense_fill_limits) {
          if (choice.alternatives.size() == most) {
            choice.complete = false;
            return choice;
          }
          choice.alternatives.push_back({contractions, space.paths(contractions, {converted, fill_limit})});
          if (converted == 0) break;
        }
        converted = (converted - all) & all;
      } while (converted != 0);
    }
  }
  return choice;
}

double least_conversion_ns(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options, const std::set<TensorId>& without) {
  std::set<TensorId> converted = without;
  double ns = 0;
  for (std::size_t number = 0; number < alternative.paths.size(); ++number) {
    const TensorId tensor = alternative.contractions.tensors[number].tensor;
    if (!alternative.paths[number].converts() || !converted.insert(tensor).second) continue;
    ns += conversion_ns(facts_of(operands, tensor), options.machine);
  }
  return ns / std::max(1.0, options.calls);
}

namespace {

constexpr std::size_t most_shared_modes = 3;

void add(std::vector<Format>& formats, const Format& format) {
  if (std::ranges::none_of(formats, [&](const Format& other) { return same_layout(other, format); })) formats.push_back(format);
}

const TensorAccess* access_of(const Network& network, TensorId operand) {
  for (const Assignment& assignment : network.assignments) {
    for (const TensorAccess& factor : assignment.terms.front().factors) {
      if (factor.tensor == operand && members(index_set(factor.indices)).size() == factor.indices.size()) return &factor;
    }
  }
  return nullptr;
}

}  // namespace

SharedLayouts operand_layouts(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const OperandFacts& facts = facts_of(operands, operand);
  const TensorAccess* access = access_of(network, operand);
  // On diagonals modes are bound together.
  if (access == nullptr || facts.format.order() > most_shared_modes) return {{}, false};
  SharedLayouts found;
  const ScheduledAccess read{0, access->indices};
  const ContractedTensor tensor{{{}, TensorRole::operand, operand}, Storage::stored, facts.format.scalar, facts.format};
  for (const double fill_limit : dense_fill_limits) {
    const AccessModel model(read, tensor, AccessPath::of_loops(fill_limit), network, operands);
    std::vector<std::uint32_t> order = dense_format(facts.format.order()).mode_order;
    do {
      std::vector<IndexId> loops;
      for (const std::uint32_t mode : order) loops.push_back(access->indices[mode]);
      const Format format = model.realized(loops, 0);
      if (!same_layout(format, facts.format)) add(found.formats, format);
    } while (std::ranges::next_permutation(order).found);
  }
  return found;
}

SharedLayouts result_layouts(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const TensorAccess& result = network.assignments.front().result;
  const ResultFormat plain = plainest_result_format(problem);
  if (plain.like || plain.delivered || result.indices.size() < 2) return {};
  if (result.indices.size() > most_shared_modes) return {{}, false};
  SharedLayouts found;
  std::vector<std::uint32_t> order = dense_format(result.indices.size()).mode_order;
  if (plain.format.all_dense()) {
    while (std::ranges::next_permutation(order).found) {
      found.formats.push_back(plain.format);
      found.formats.back().mode_order = order;
    }
    return found;
  }
  const ProductEstimate product = result_estimate(problem);
  const IndexSet block = index_set(result.indices) & ~product.restricted();
  do {
    add(found.formats, sparse_result_format(product, result.indices, order, block, plain.format.scalar));
  } while (std::ranges::next_permutation(order).found);
  return found;
}

}  // namespace weft
