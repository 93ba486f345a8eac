#include "engine/network/exposure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/affine.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Where an index is cut, ascending: {3} into i/3 and i%3, {2,4} into i/4, i%4/2 and i%2.
using Cuts = std::vector<std::uint64_t>;

/// The part of a mode that a level of a layout holds; nothing where it holds something else.
std::optional<ModePart> part_of(const Layout& layout, const LayoutLevel& level) {
  if (!level.value) return ModePart{.slot = true};
  const Affine& value = *level.value;
  if (level.low || level.high || level.order != LevelOrder::ascending) return std::nullopt;
  if (value.terms().size() != 1 || value.constant() != 0) return std::nullopt;
  const AffineTerm& term = value.terms().front();
  if (term.factor != 1 || term.sum || term.variable >= layout.modes.size()) return std::nullopt;
  return ModePart{term.variable, static_cast<std::uint64_t>(term.divisor), static_cast<std::uint64_t>(term.modulus)};
}

/// Where the parts cut a mode; nothing where they are no digits of it, each once.
std::optional<Cuts> cuts_of(const std::vector<ModePart>& parts, std::uint32_t mode) {
  std::vector<ModePart> digits;
  for (const ModePart& part : parts) {
    if (!part.slot && part.mode == mode) digits.push_back(part);
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

/// Values the part has, as Placement counts them: i%3 of an extent of 2 has two.
std::uint64_t extent_of(const ModePart& part, std::uint64_t extent) {
  const std::uint64_t all = extent / part.divisor + (extent % part.divisor != 0 ? 1 : 0);
  return part.modulus != 0 ? std::min(all, part.modulus) : all;
}

/// A plain format to read a tensor in whose layout is not exposed, or to compute one in.
Format plain_format(const Format& format) {
  const bool sparse =
      std::ranges::any_of(format.levels, [](const Level& level) { return !is_dense(level.kind) && !has_lengths(level.kind); });
  Format plain = dense_format(format.modes(), format.scalar);
  for (std::size_t level = 1; level < plain.order() && sparse; ++level) plain.levels[level].kind = LevelKind::compressed;
  return plain;
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

class Exposer {
 public:
  Exposer(const Network& network, const std::vector<StoredAs>& stored, Exposing exposing)
      : network_(network), stored_(stored), exposing_(exposing), cuts_(network.indices.size()) {}

  Exposure exposed() {
    exposure_.given = network_;
    exposure_.tensors.resize(network_.tensors.size());
    find_classes();
    for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor) take_layout(tensor);
    if (exposing_ == Exposing::whole_blocks) leave_whole();
    note_finite();
    // Operands first: a result may lie at their positions.
    for (const bool results : {false, true}) {
      for (TensorId tensor = 0; tensor < network_.tensors.size(); ++tensor)
        if (network_.tensors[tensor].is_result == results) expose(tensor);
    }
    rewrite();
    return std::move(exposure_);
  }

 private:
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
    const Layout& layout = *format->layout;
    std::vector<ModePart> parts;
    for (const LayoutLevel& level : layout.levels) {
      const auto part = part_of(layout, level);
      if (!part || (has_lengths(level.kind) && !part->slot)) return;
      if (part->slot && (network_.tensors[tensor].is_result || is_pattern(tensor))) return;
      parts.push_back(*part);
    }
    std::map<IndexId, Cuts> merged;
    for (std::uint32_t mode = 0; mode < layout.modes.size(); ++mode) {
      if (!mode_index_.contains({tensor, mode})) return;
      const auto own = cuts_of(parts, mode);
      if (!own) return;
      const IndexId index = class_of(mode_index_.at({tensor, mode}));
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
    native_[tensor] = std::move(parts);
  }
  bool is_pattern(TensorId operand) const {
    return std::ranges::any_of(stored_, [&](const StoredAs& each) { return each.like == operand; });
  }

  bool reaches_beyond(IndexId index) const {
    const Cuts& all = cuts_[class_of(index)];
    const std::uint64_t extent = network_.indices[index].extent;
    std::uint64_t covered = 1;
    for (const ModePart& digit : digits_of(0, all)) covered *= extent_of(digit, extent);
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

  /// The levels of a plain format with the parts of its modes instead: compressed ones stay compressed.
  void expose_plain(TensorId tensor, const Format& plain) {
    ExposedTensor& exposed = exposure_.tensors[tensor];
    Format levels{.scalar = plain.scalar, .mode_order = {}, .levels = {}};
    for (std::size_t level = 0; level < plain.order(); ++level) {
      const std::uint32_t mode = plain.mode_order[level];
      for (const ModePart& digit : digits_of(mode, cuts(tensor, mode))) {
        exposed.parts.push_back(digit);
        const LevelKind kind = plain.levels[level].kind;
        levels.levels.push_back({.kind = is_dense(kind) ? LevelKind::dense : LevelKind::compressed});
      }
    }
    exposed.read_in = format_over(exposed.parts, levels, plain.order());
  }

  /// The layout with every level cut as the indices are; false where a level of another kind would have to be.
  bool expose_layout(TensorId tensor, const std::vector<ModePart>& parts, const Format& format) {
    ExposedTensor exposed;
    Format levels{.scalar = format.scalar, .mode_order = {}, .levels = {}};
    bool cut = false;
    for (std::size_t level = 0; level < parts.size(); ++level) {
      const std::vector<ModePart> within =
          parts[level].slot ? std::vector{parts[level]} : digits_within(parts[level], cuts(tensor, parts[level].mode));
      const LevelKind kind = format.levels[level].kind;
      if (within.size() > 1 && !is_dense(kind) && kind != LevelKind::compressed) return false;
      cut = cut || within.size() > 1;
      for (const ModePart& digit : within) {
        exposed.parts.push_back(digit);
        levels.levels.push_back(format.levels[level]);
      }
    }
    if (cut && std::ranges::any_of(parts, &ModePart::slot)) return false;
    exposed.read_in = cut ? format_over(exposed.parts, levels, format.modes()) : format;
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
      is_cut = is_cut || (mode_index_.contains({tensor, mode}) && !cuts(tensor, mode).empty());
    const auto native = native_.find(tensor);
    const bool done = native != native_.end() && expose_layout(tensor, native->second, *stored.format);
    const std::vector<std::uint32_t> modes = stored.like ? modes_of_pattern(tensor, *stored.like) : std::vector<std::uint32_t>();
    if (!done && !modes.empty() && exposure_.is_exposed(*stored.like)) {
      exposed.parts = exposure_.tensors[*stored.like].parts;
      for (ModePart& part : exposed.parts) part.mode = modes[part.mode];
    } else if (!done && is_cut) {
      Format plain = stored.format ? *stored.format : dense_format(declared.extents.size(), declared.scalar);
      if (has_layout) plain = plain_format(plain);
      expose_plain(tensor, plain);
    } else if (!done && has_layout) {
      exposed.read_in = plain_format(*stored.format);
    }
    if (declared.is_result && has_layout) exposed.handed_over = *stored.format;
    if (declared.is_result && !has_layout && !exposed.parts.empty() && stored.format) exposed.handed_over = *stored.format;
    if (!modes.empty() && stored_[*stored.like].format && stored_[*stored.like].format->layout)
      exposed.handed_over = with_modes(*stored_[*stored.like].format, modes);
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
      found->second.push_back(numbered(name, extent_of(digits[n], given.extent)));
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
    const std::vector<std::uint64_t>& levels = stored_[access.tensor].level_extents;
    for (std::size_t level = 0; level < exposed.parts.size(); ++level) {
      const ModePart& part = exposed.parts[level];
      if (part.slot) {
        const std::string name = fmt::format("{}_slot", network_.tensors[access.tensor].name);
        const std::string numbered_name = slots_ == 0 ? name : fmt::format("{}_{}", name, slots_);
        ++slots_;
        result.indices.push_back(numbered(free_name(numbered_name), level < levels.size() ? levels[level] : 0));
      } else {
        result.indices.push_back(index_of(access, part));
      }
    }
    return result;
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
      for (std::size_t level = 0; level < parts.size(); ++level)
        extents.push_back(parts[level].slot ? stored_[tensor].level_extents[level] : extent_of(parts[level], given[parts[level].mode]));
    }
  }

  const Network& network_;
  const std::vector<StoredAs>& stored_;
  Exposing exposing_;
  std::vector<IndexId> class_;  ///< another index of the same class, or itself
  std::map<std::pair<TensorId, std::size_t>, IndexId> mode_index_;
  std::vector<Cuts> cuts_;  ///< by class
  std::map<TensorId, std::vector<ModePart>> native_;  ///< tensors whose layout is exposed
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
    if (!parts[level].slot) each.value = std::make_shared<const Affine>(value_of(parts[level]));
    each.kind = levels.levels[level].kind;
    layout.levels.push_back(std::move(each));
  }
  format.layout = std::make_shared<const Layout>(std::move(layout));
  return format;
}

std::optional<Exposure> exposed(const Network& network, const std::vector<StoredAs>& stored, Exposing exposing) {
  const auto has_layout = [](const StoredAs& each) { return each.format && each.format->layout; };
  if (std::ranges::none_of(stored, has_layout)) return std::nullopt;
  // Where a mode has no coordinates no level has any.
  const bool empty = std::ranges::any_of(network.indices, [](const Index& index) { return index.extent == 0; });
  return Exposer(network, stored, empty ? Exposing::none : exposing).exposed();
}

}  // namespace weft
