// weft layout: what a layout means over extents.
#include <fmt/format.h>

#include <algorithm>

#include "engine/prove/layout_claims.h"
#include "engine/prove/proof_book.h"
#include "frontend/command.h"
#include "frontend/json.h"
#include "frontend/operand.h"
#include "frontend/terminal.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "weft/layout.h"

namespace weft {
namespace {

/// A level as it is stored: bounds that are no numbers make lengths that differ.
LevelKind stored_kind(const Placement& placement, std::size_t l) {
  return placement.levels()[l].varies() ? LevelKind::variable : placement.layout().levels[l].kind;
}

std::vector<std::string> arrays_of(const Placement& placement, std::size_t l) {
  const LayoutLevel& level = placement.layout().levels[l];
  const LevelKind kind = stored_kind(placement, l);
  std::vector<std::string> arrays;
  if (has_pos(kind)) arrays.emplace_back("pos");
  const unsigned bits = level.bits == 0 ? coordinate_bits(placement.levels()[l].extent) : level.bits;
  if (has_coordinates(kind)) arrays.push_back(fmt::format("crd<{}>", bits));
  if (has_bits(kind)) arrays.emplace_back("bits");
  return arrays;
}

/// What holds of the arrays of a level, and what verifying checks.
std::vector<std::string> properties_of(const Placement& placement, std::size_t l) {
  const LayoutLevel& level = placement.layout().levels[l];
  const LevelKind kind = stored_kind(placement, l);
  std::vector<std::string> properties;
  if (has_pos(kind)) properties.emplace_back("pos rises from 0");
  if (const PlacedStarts* const starts = placement.starts_at(l)) {
    const std::size_t counted = starts->counted;
    const bool runs = has_lengths(placement.layout().levels[counted].kind);
    const bool rise = level.order == LevelOrder::ascending;
    properties.push_back(is_per_parent(kind) ? "one start for each position above, 0 where nothing is stored"
                         : runs && rise      ? "starts lie behind the run before"
                         : runs              ? "runs do not overlap"
                                             : fmt::format("starts lie {} or more apart", placement.levels()[counted].extent));
    if (level.order == LevelOrder::descending) properties.emplace_back("starts of a fiber fall");
    if (level.order == LevelOrder::unordered) properties.emplace_back("starts of a fiber come in any order");
  } else if (begins_chain(kind)) {
    properties.emplace_back("rises strictly, with the singletons below");
  } else if (is_per_parent(kind)) {
    const PlacedSlots* const slots = placement.slots_of_singleton(l);
    properties.emplace_back(slots == nullptr   ? "one for each position above"
                            : slots->unordered ? "differs from slot to slot, with the other singletons"
                                               : "rises strictly with the slot");
  } else if (has_coordinates(kind) && !has_slots(kind)) {
    properties.emplace_back(level.order == LevelOrder::ascending    ? "coordinates of a fiber rise strictly"
                            : level.order == LevelOrder::descending ? "coordinates of a fiber fall strictly"
                                                                    : "coordinates of a fiber differ");
  }
  if (placement.is_slot(l)) properties.emplace_back("unused slots hold 0 at the least unused coordinates");
  return properties;
}

/// "0 to 24" of a level's values; bounds of other levels as they are written.
std::string values_text(const Placement& placement, std::size_t l) {
  const PlacedLevel& level = placement.levels()[l];
  const LayoutLevel& said = placement.layout().levels[l];
  if (placement.is_slot(l)) return level.narrowed ? fmt::format("{} slots", level.extent) : "as many slots as are needed";
  std::vector<std::string> names = placement.layout().modes;
  const std::string least =
      level.low ? fmt::format("max({},{})", level.range.least, said.low->text(names)) : fmt::format("{}", level.range.least);
  const std::string most = level.high ? fmt::format("min({},{})", level.range.most, said.high->plus(Affine::number(-1)).text(names))
                                      : fmt::format("{}", level.range.most);
  if (level.extent == 0) return "no values";
  return fmt::format("values {} to {}", least, most);
}

/// Whether every coordinate has a place; ranges alone do not tell it of all bounds: j-i:d(-i..).
bool is_total(const Placement& placement, const std::vector<SettledClaim>& proofs) {
  return placement.total() || std::ranges::any_of(proofs, [](const SettledClaim& proof) {
           return proof.claim.kind == "total" && proof.verdict == Verdict::proven;
         });
}

/// Which coordinates slots have room for.
std::string slots_text(const Placement& placement, std::size_t l) {
  const std::uint64_t number = placement.levels()[l].extent;
  const PlacedSlots& slots = *std::ranges::find(placement.slots(), l, &PlacedSlots::level);
  if (slots.behind == placement.levels().size() && placement.slots().size() == 1)
    return fmt::format("at most {} entries share the other levels", number);
  std::vector<std::string> singletons, others;
  for (std::size_t level = 0; level < slots.behind; ++level)
    if (!placement.is_slot(level)) (level < slots.first ? others : singletons).push_back(placement.layout().value_text(level));
  const std::string most = fmt::format("at most {} of ({})", number, fmt::join(singletons, ","));
  return others.empty() ? fmt::format("there are {}", most) : fmt::format("{} share ({})", most, fmt::join(others, ","));
}

/// Which coordinates have a place.
std::string places_text(const Placement& placement, bool total) {
  if (total) return "every coordinate has one";
  std::vector<std::string> conditions;
  for (std::size_t l = 0; l < placement.levels().size(); ++l) {
    if (!placement.levels()[l].narrowed) continue;
    const std::string text = placement.layout().value_text(l);
    conditions.push_back(placement.is_slot(l) ? slots_text(placement, l) : fmt::format("{} has {}", text, values_text(placement, l)));
  }
  return fmt::format("those of which {}", fmt::join(conditions, ", and "));
}

std::string extent_text(const Placement& placement, std::size_t l) {
  const bool unknown = placement.is_slot(l) && !placement.levels()[l].narrowed;
  return unknown ? "as data have" : fmt::format("{}", placement.levels()[l].extent);
}

/// Where verdicts are kept; null: nowhere.
std::shared_ptr<const DiskCache> disk_cache(const CommandOptions& options) {
  const auto directory = options.cache_directory.empty() ? DiskCache::default_directory() : std::optional(options.cache_directory);
  return options.no_cache || !directory ? nullptr : std::make_shared<const DiskCache>(*directory);
}

/// What the layout claims, and what Z3 says to it; nothing where there is no Z3.
Expected<std::vector<SettledClaim>> proofs_of(const Placement& placement, ProofBook& book) {
  std::vector<SettledClaim> proofs;
  for (Claim& claim : layout_claims(placement)) {
    auto proof = book.settle(std::move(claim));
    if (!proof && proof.error().kind == ErrorKind::unsupported) return std::vector<SettledClaim>();
    if (!proof) return std::unexpected(proof.error());
    proofs.push_back(std::move(*proof));
  }
  return proofs;
}

/// "proven: no coordinate has two places", "refuted: every place is a coordinate; (10,3) is none"
std::string proof_text(const SettledClaim& proof) {
  std::string text = fmt::format("  {}: {}", word(proof.verdict), proof.claim.says);
  if (proof.verdict == Verdict::refuted) text += fmt::format("; not {}", proof.counterexample);
  return text + "\n";
}

/// Where what has to hold does not: the coordinates that clash.
Expected<void> check_proofs(const std::vector<SettledClaim>& proofs, const Layout& layout, std::span<const std::uint64_t> extents) {
  for (const SettledClaim& proof : proofs) {
    if (!proof.claim.has_to_hold || proof.verdict != Verdict::refuted) continue;
    return input_error(fmt::format("layout {} of a tensor of {}: {} does not hold for {}", layout.text(), fmt::join(extents, "x"),
                                   proof.claim.says, proof.counterexample));
  }
  return {};
}

/// Why there is no placement: two coordinates that share their levels, however far apart, or what was said.
Error not_placed(const Error& said, const Layout& layout, std::span<const std::uint64_t> extents, ProofBook& book) {
  const bool empty = std::ranges::find(extents, std::uint64_t{0}) != extents.end();
  if (said.kind != ErrorKind::input || empty || layout.modes.size() != extents.size()) return said;
  const auto proof = book.settle(apart_claim(layout, extents));
  if (!proof || proof->verdict != Verdict::refuted) return said;
  Error error = said;
  error.message = fmt::format("layout {} of a tensor of {} does not tell coordinates apart: {} share their levels", layout.text(),
                              fmt::join(extents, "x"), proof->counterexample);
  return error;
}

std::string layout_page(const Placement& placement, const std::string& given, const std::vector<SettledClaim>& proofs) {
  const Layout& layout = placement.layout();
  std::string text = given == layout.text() ? given + "\n" : fmt::format("{}\n  is {}\n", given, layout.text());
  std::size_t width = 0;
  for (std::size_t l = 0; l < layout.levels.size(); ++l) width = std::max(width, layout.level_text(l).size());
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    const auto arrays = arrays_of(placement, l);
    const auto properties = properties_of(placement, l);
    text += fmt::format("  level {}  {:<{}}  {}; extent {}; {}", l, layout.level_text(l), width, values_text(placement, l),
                        extent_text(placement, l), arrays.empty() ? "no arrays" : fmt::format("{}", fmt::join(arrays, " ")));
    text += properties.empty() ? "\n" : fmt::format("; {}\n", fmt::join(properties, "; "));
  }
  for (std::size_t mode = 0; mode < layout.modes.size(); ++mode) text += fmt::format("  {}\n", placement.inverse_text(mode));
  text += fmt::format("  places: {}\n", places_text(placement, is_total(placement, proofs)));
  for (const SettledClaim& proof : proofs) text += proof_text(proof);
  return text;
}

Json layout_json(const Placement& placement, const std::string& given, const std::vector<SettledClaim>& proofs) {
  const Layout& layout = placement.layout();
  Json json;
  json["layout"] = layout.text();
  json["given"] = given;
  json["extents"] = placement.extents();
  json["modes"] = layout.modes;
  json["levels"] = Json::array();
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    const PlacedLevel& level = placement.levels()[l];
    const bool by_data = placement.is_slot(l) && !level.narrowed;
    json["levels"].push_back({{"level", layout.level_text(l)},
                              {"value", layout.value_text(l)},
                              {"kind", std::string(1, letter(layout.levels[l].kind))},
                              {"extent", by_data ? Json() : Json(level.extent)},
                              {"first", level.low ? Json() : Json(level.range.least)},
                              {"arrays", arrays_of(placement, l)},
                              {"properties", properties_of(placement, l)}});
  }
  json["inverse"] = Json::array();
  for (std::size_t mode = 0; mode < layout.modes.size(); ++mode) json["inverse"].push_back(placement.inverse_text(mode));
  json["total"] = is_total(placement, proofs);
  json["places"] = places_text(placement, is_total(placement, proofs));
  json["proofs"] = Json::array();
  for (const SettledClaim& proof : proofs) {
    json["proofs"].push_back({{"kind", proof.claim.kind},
                              {"claim", proof.claim.says},
                              {"verdict", std::string(word(proof.verdict))},
                              {"counterexample", proof.counterexample},
                              {"query", proof.claim.query},
                              {"cached", proof.cached},
                              {"ms", proof.ms}});
  }
  return json;
}

}  // namespace

Expected<void> describe_layout(const CommandOptions& options) {
  const std::string& given = options.arguments.front();
  const auto format = parse_format(given);
  if (!format || format->order() == 0) {
    const auto layout = parse_layout(given);  // which knows names, where KINDS are letters
    if (!layout || !format) return std::unexpected(layout ? format.error() : layout.error());
  }
  const auto extents = parse_shape(options.shape);
  if (!extents) return input_error(fmt::format("weft layout wants the extents of the modes: --shape 100x200, not '{}'", options.shape));
  const Layout layout = layout_of(*format);
  ProofBook book(disk_cache(options));
  const auto placement = Placement::of(layout, *extents, fmt::format("a tensor of {}", fmt::join(*extents, "x")));
  if (!placement) return std::unexpected(not_placed(placement.error(), layout, *extents, book));
  const auto proofs = proofs_of(*placement, book);
  if (!proofs) return std::unexpected(proofs.error());
  if (auto holds = check_proofs(*proofs, layout, *extents); !holds) return holds;
  if (options.json) return write_text(*options.json, layout_json(*placement, given, *proofs).dump() + "\n");
  return options.quiet ? Expected<void>() : write_text("", layout_page(*placement, given, *proofs));
}

}  // namespace weft
