#include "engine/prove/layout_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/prove/query.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

using namespace logic;
using Names = std::vector<std::string>;

/// With a name for every variable. `div` and `mod` of SMT-LIB are floor division and its remainder for positive divisors.
std::string term_of(const Affine& value, const Names& names) {
  std::vector<std::string> parts;
  for (const AffineTerm& term : value.terms()) {
    std::string part = term.sum ? term_of(*term.sum, names) : names[term.variable];
    if (term.divisor != 1) part = fmt::format("(div {} {})", part, term.divisor);
    if (term.modulus != 0) part = fmt::format("(mod {} {})", part, term.modulus);
    parts.push_back(term.factor == 1 ? part : fmt::format("(* {} {})", number_text(term.factor), part));
  }
  if (value.constant() != 0 || parts.empty()) parts.push_back(number_text(value.constant()));
  return joined("+", parts, "0");
}

std::string differ(const Names& a, const Names& b) {
  std::vector<std::string> parts;
  for (std::size_t n = 0; n < a.size(); ++n) parts.push_back(fmt::format("(not {})", equal(a[n], b[n])));
  return joined("or", parts, "false");
}

std::string last_of(std::uint64_t extent) { return fmt::format("{}", extent - 1); }

Names terms_of_levels(const Layout& layout, const Names& variables, const Names& slots) {
  Names terms;
  for (std::size_t l = 0; l < layout.levels.size(); ++l)
    terms.push_back(layout.levels[l].value ? term_of(*layout.levels[l].value, variables) : slots[l]);
  return terms;
}

/// Modes within the extents, and free names.
Names declare_coordinate(Query& query, const Layout& layout, std::span<const std::uint64_t> extents, std::string_view suffix) {
  Names modes = query.constants("m", layout.modes.size(), suffix);
  for (std::size_t mode = 0; mode < modes.size(); ++mode) query.within(modes[mode], "0", last_of(extents[mode]));
  const Names free = query.constants("b", layout.free.size(), suffix);
  modes.insert(modes.end(), free.begin(), free.end());
  return modes;
}

/// Values of levels that a place can have.
Names declare_place(Query& query, const Placement& placement, std::string_view suffix) {
  const Layout& layout = placement.layout();
  const Names values = query.constants("v", layout.levels.size(), suffix);
  for (std::size_t l = 0; l < values.size(); ++l) {
    const PlacedLevel& level = placement.levels()[l];
    query.require(fmt::format("(<= {} {})", number_text(level.range.least), values[l]));
    const bool by_data = placement.is_slot(l) && !level.narrowed;
    if (!by_data) query.require(fmt::format("(<= {} {})", values[l], number_text(level.range.most)));
    if (level.low) query.require(fmt::format("(<= {} {})", term_of(*level.low, values), values[l]));
    if (level.high) query.require(fmt::format("(< {} {})", values[l], term_of(*level.high, values)));
  }
  return values;
}

std::string all_equal(const Names& a, const Names& b, const std::vector<std::size_t>& levels) {
  std::vector<std::string> parts;
  for (const std::size_t l : levels) parts.push_back(equal(a[l], b[l]));
  return joined("and", parts, "true");
}

Names at(const Names& values, const std::vector<std::size_t>& levels) {
  Names found;
  for (const std::size_t l : levels) found.push_back(values[l]);
  return found;
}

/// As counterexamples show them.
std::vector<ClaimValue> row(const Names& constants) {
  std::vector<ClaimValue> values;
  for (const std::string& constant : constants) values.push_back({{}, constant});
  return values;
}

/// The levels from 0 on, without one.
std::vector<std::size_t> levels_below(std::size_t end, std::size_t without) {
  std::vector<std::size_t> levels;
  for (std::size_t l = 0; l < end; ++l)
    if (l != without) levels.push_back(l);
  return levels;
}

/// What arrays say of two places, in the order of these two. `lengths`: of the blocks at the first, by free name.
void add_properties(Query& query, const Placement& placement, const Names& a, const Names& b, const Names& lengths,
                    const AssumedOfPlaces& assumed) {
  const Layout& layout = placement.layout();
  for (std::size_t n = 0; n < placement.starts().size(); ++n) {
    const std::size_t start = placement.starts()[n].level;
    const std::string same = all_equal(a, b, levels_below(start, start));
    if (is_per_parent(layout.levels[start].kind)) {
      if (assumed.one_start) query.require(fmt::format("(=> {} {})", same, equal(a[start], b[start])));
    } else if (assumed.starts_lie_apart) {
      query.require(fmt::format("(=> (and {0} (< {1} {2})) (<= (+ {1} {3}) {2}))", same, a[start], b[start], lengths[n]));
    }
  }
  for (const PlacedSlots& slots : placement.slots()) {
    if (!assumed.chains_rise) continue;
    std::vector<std::size_t> chain;
    for (std::size_t l = slots.first; l < slots.behind; ++l) chain.push_back(l);
    const std::string behind = all_of({all_equal(a, b, levels_below(slots.first, slots.level)), less(a[slots.level], b[slots.level])});
    query.require(implies(behind, slots.unordered ? differ(at(a, chain), at(b, chain)) : comes_before(at(a, chain), at(b, chain))));
  }
}

Names modes_of(const Placement& placement, const Names& values) {
  Names modes;
  for (std::size_t mode = 0; mode < placement.extents().size(); ++mode) modes.push_back(term_of(placement.inverse(mode), values));
  return modes;
}

bool divides(const Affine& value) {
  return std::ranges::any_of(value.terms(), [](const AffineTerm& term) { return term.divisor != 1 || (term.sum && divides(*term.sum)); });
}

bool tells_a_mode(const Placement& placement, std::uint32_t level) {
  for (std::size_t n = 0; n < placement.ranges().size(); ++n)
    if (placement.inverse(n).uses(level)) return true;
  return false;
}

/// That levels hold what their expressions say of the modes, where these alone do not follow. Where some mode has one coordinate, which is
/// known without a level, modes may follow from fewer levels than there are (Placement::inverse): of 12x1, i is what j-i:s tells, and i:d
/// may hold something else, as may i/2 beside i. Where inverses divide, some values of levels are of no coordinate: odd ones of 2*i:d, of
/// which i is half.
std::vector<std::string> held_by_levels(const Placement& placement, const Names& values) {
  const Layout& layout = placement.layout();
  bool follow = !placement.inverse_within_bounds() && std::ranges::find(placement.extents(), std::uint64_t{1}) == placement.extents().end();
  for (std::size_t n = 0; n < placement.ranges().size(); ++n) follow = follow && !divides(placement.inverse(n));
  for (std::uint32_t l = 0; l < layout.levels.size(); ++l) follow = follow && (!layout.levels[l].value || tells_a_mode(placement, l));
  if (follow) return {};
  Names variables;
  for (std::size_t n = 0; n < placement.ranges().size(); ++n) variables.push_back(term_of(placement.inverse(n), values));
  const Names terms = terms_of_levels(layout, variables, values);
  std::vector<std::string> held;
  for (std::size_t l = 0; l < terms.size(); ++l)
    if (layout.levels[l].value) held.push_back(equal(values[l], terms[l]));
  return held;
}

Claim once_claim(const Placement& placement, const AssumedOfPlaces& assumed) {
  Query query;
  const Names a = declare_place(query, placement, "_1");
  const Names b = declare_place(query, placement, "_2");
  std::array<Names, 2> lengths;
  for (const PlacedStarts& starts : placement.starts()) {
    const std::size_t counted = starts.counted;
    const bool runs = has_lengths(placement.layout().levels[counted].kind);
    const std::string prefix = lengths.front().empty() ? "length" : fmt::format("length{}_", lengths.front().size());
    const Names both = runs ? query.constants(prefix, 2, "") : Names(2, fmt::format("{}", placement.levels()[counted].extent));
    if (runs) {
      query.require(fmt::format("(< {} {})", a[counted], both[0]));
      query.require(fmt::format("(< {} {})", b[counted], both[1]));
    }
    for (std::size_t place = 0; place < 2; ++place) lengths[place].push_back(both[place]);
  }
  add_properties(query, placement, a, b, lengths[0], assumed);
  add_properties(query, placement, b, a, lengths[1], assumed);
  const Names one = modes_of(placement, a);
  const Names other = modes_of(placement, b);
  for (std::size_t mode = 0; mode < one.size(); ++mode) query.require(equal(one[mode], other[mode]));
  for (const Names& place : {a, b})
    for (const std::string& held : held_by_levels(placement, place)) query.require(held);
  query.require(differ(a, b));
  return {"once", "no coordinate has two places", query.text(), {row(a), row(b)}, true};
}

Claim total_claim(const Placement& placement) {
  Query query;
  const Layout& layout = placement.layout();
  const Names modes = declare_coordinate(query, layout, placement.extents(), "");
  const Names terms = terms_of_levels(layout, modes, {});
  std::vector<std::string> outside;
  for (std::size_t l = 0; l < terms.size(); ++l) {
    const PlacedLevel& level = placement.levels()[l];
    outside.push_back(fmt::format("(< {} {})", terms[l], number_text(level.range.least)));
    outside.push_back(fmt::format("(> {} {})", terms[l], number_text(level.range.most)));
    if (level.low) outside.push_back(fmt::format("(< {} {})", terms[l], term_of(*level.low, terms)));
    if (level.high) outside.push_back(fmt::format("(>= {} {})", terms[l], term_of(*level.high, terms)));
  }
  query.require(joined("or", outside, "false"));
  return {"total", "every coordinate has a place", query.text(), {row(modes)}, false};
}

Claim within_claim(const Placement& placement) {
  Query query;
  const Names values = declare_place(query, placement, "");
  const Names modes = query.constants("m", placement.extents().size(), "");
  const Names terms = modes_of(placement, values);
  std::vector<std::string> outside;
  for (std::size_t mode = 0; mode < modes.size(); ++mode) {
    query.require(equal(modes[mode], terms[mode]));
    outside.push_back(fmt::format("(< {} 0)", modes[mode]));
    outside.push_back(fmt::format("(> {} {})", modes[mode], last_of(placement.extents()[mode])));
  }
  const std::vector<std::string> held = held_by_levels(placement, values);
  for (const std::string& level : held) outside.push_back(fmt::format("(not {})", level));
  query.require(joined("or", outside, "false"));
  if (held.empty()) return {"within", "every place is a coordinate", query.text(), {row(modes)}, false};
  return {"within", "every place, named by the values of its levels, is a coordinate", query.text(), {row(values)}, false};
}

}  // namespace

Claim apart_claim(const Layout& layout, std::span<const std::uint64_t> extents) {
  Query query;
  const Names a = declare_coordinate(query, layout, extents, "_1");
  const Names b = declare_coordinate(query, layout, extents, "_2");
  const Names slots = query.constants("slot", layout.levels.size(), "");  // the same one
  const Names one = terms_of_levels(layout, a, slots);
  const Names other = terms_of_levels(layout, b, slots);
  for (std::size_t l = 0; l < one.size(); ++l) query.require(equal(one[l], other[l]));
  for (std::size_t l = 0; l < one.size(); ++l) {  // what has no place shares none
    const LayoutLevel& level = layout.levels[l];
    if (level.low) query.require(fmt::format("(<= {} {})", term_of(*level.low, a), one[l]));
    if (level.low && !level.low->is_number()) query.require(fmt::format("(<= {} {})", term_of(*level.low, b), other[l]));
    if (level.high) query.require(fmt::format("(< {} {})", one[l], term_of(*level.high, a)));
    if (level.high && !level.high->is_number()) query.require(fmt::format("(< {} {})", other[l], term_of(*level.high, b)));
  }
  const auto modes = static_cast<std::ptrdiff_t>(layout.modes.size());
  const Names first(a.begin(), a.begin() + modes);
  const Names second(b.begin(), b.begin() + modes);
  query.require(differ(first, second));
  return {"apart", "no two coordinates share all levels", query.text(), {row(first), row(second)}, true};
}

std::vector<Claim> layout_claims(const Placement& placement, const AssumedOfPlaces& assumed) {
  const auto& extents = placement.extents();
  if (std::ranges::find(extents, std::uint64_t{0}) != extents.end()) return {};
  std::vector<Claim> claims = {apart_claim(placement.layout(), extents), once_claim(placement, assumed)};
  if (!placement.depends_on_data()) claims.push_back(total_claim(placement));
  claims.push_back(within_claim(placement));
  return claims;
}

}  // namespace weft
