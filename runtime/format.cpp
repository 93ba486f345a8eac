#include "weft/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/layout_text.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "weft/layout.h"

namespace weft {
namespace {

/// Kinds of workspaces, and those that only layouts have, are in no KINDS.
bool is_of_formats(LevelKind kind) { return !is_listed(kind) && !has_lengths(kind); }

std::optional<LevelKind> kind_of(char letter) {
  const auto found = std::ranges::find(level_kinds, letter, &LevelTraits::letter);
  if (found == level_kinds.end() || !is_of_formats(found->kind)) return std::nullopt;
  return found->kind;
}

/// "d, s, u, q, h, b": what kind_of knows.
std::string letters_of_formats() {
  std::string letters;
  for (const LevelTraits& each : level_kinds) {
    if (is_of_formats(each.kind)) letters += fmt::format("{}{}", letters.empty() ? "" : ", ", each.letter);
  }
  return letters;
}

Expected<std::vector<std::uint32_t>> parse_mode_order(std::string_view text, std::size_t order) {
  std::vector<std::uint32_t> modes;
  std::vector<bool> seen(order, false);
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    std::uint32_t mode = 0;
    auto [rest, problem] = std::from_chars(at, end, mode);
    if (problem != std::errc{} || (rest != end && *rest != ',') || (rest != end && rest + 1 == end))
      return input_error(fmt::format("mode order '{}' is not a list of modes such as 1,0,2", text));
    if (mode >= order)
      return input_error(
          fmt::format("mode order '{}': mode {} is not below the order {}", text, mode, order));
    if (seen[mode]) return input_error(fmt::format("mode order '{}' lists mode {} twice", text, mode));
    seen[mode] = true;
    modes.push_back(mode);
    at = rest == end ? end : rest + 1;
  }
  if (modes.size() != order)
    return input_error(
        fmt::format("mode order '{}' lists {} modes for {} levels: give every mode once", text, modes.size(), order));
  return modes;
}

Expected<void> check_kinds(const std::vector<Level>& levels, std::string_view kinds) {
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (is_per_parent(levels[l].kind) && l == 0)
      return input_error(
          fmt::format("level kinds '{}': a singleton (q) cannot be the first level; coordinate lists begin with u",
                      kinds));
    if (is_per_parent(levels[l].kind) && below_gaps(levels, l))
      return input_error(fmt::format("level kinds '{}': a singleton (q) needs an entry at every position above, but hashed "
                                     "(h) and bitmap (b) levels have positions without",
                                     kinds));
    if (begins_chain(levels[l].kind) && l + 1 < levels.size() &&
        !is_per_parent(levels[l + 1].kind))
      return input_error(fmt::format(
          "level kinds '{}': level {} repeats coordinates (u), so the level below must be a singleton (q)", kinds, l));
  }
  return {};
}

}  // namespace

char letter(LevelKind kind) { return is_known(kind) ? traits(kind).letter : '?'; }

bool Format::all_dense() const {
  return !layout && std::all_of(levels.begin(), levels.end(), [](const Level& level) { return is_dense(level.kind); });
}

std::size_t Format::modes() const { return layout ? layout->modes.size() : levels.size(); }

bool Format::operator==(const Format& other) const {
  const bool same_expressions = layout == other.layout || (layout && other.layout && *layout == *other.layout);
  return same_expressions && scalar == other.scalar && mode_order == other.mode_order && levels == other.levels;
}

std::string Format::text() const {
  return guarded_text([&] {
    if (layout) return layout->text();
    std::string result;
    for (const Level& level : levels) result += letter(level.kind);
    if (!levels.empty()) result += fmt::format(":{}", fmt::join(mode_order, ","));
    return result;
  });
}

std::string_view name(Scalar scalar) { return is_known(scalar) ? traits(scalar).name : "?"; }

Expected<Scalar> parse_scalar(std::string_view text) {
  return guarded({"parsing a scalar type"}, [&]() -> Expected<Scalar> {
    const auto found = std::ranges::find(scalar_types, text, &ScalarTraits::name);
    if (found != scalar_types.end()) return found->scalar;
    std::string names;
    for (const ScalarTraits& each : scalar_types) names += fmt::format("{}{}", names.empty() ? "" : " or ", each.name);
    return input_error(fmt::format("unknown scalar type '{}': {}", text, names));
  });
}

/// What a format with a name of its own is called here, as "; CSR is ds"; else empty.
static std::string named_format(std::string_view kinds) {
  std::string name;
  for (const char c : kinds) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  static constexpr std::pair<std::string_view, std::string_view> known[] = {{"CSR", "ds"},
                                                                            {"CSC", "ds:1,0"},
                                                                            {"DCSR", "ss"},
                                                                            {"COO", "uq, of three modes uqq"},
                                                                            {"CSF", "sss, an s for every mode"},
                                                                            {"DENSE", "dd, a d for every mode"}};
  const auto found = std::ranges::find(known, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(known) ? "" : fmt::format("; {} is {}", found->first, found->second);
}

static Expected<Format> parsed_format(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    auto colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts.size() > 3)
    return input_error(fmt::format("format '{}' has more than the three parts KINDS:ORDER:SCALAR", text));

  Format format;
  for (char c : parts[0]) {
    auto kind = kind_of(c);
    if (!kind)
      return input_error(fmt::format("format '{}': unknown level kind '{}'; one of {} per level{}", text, c,
                                     letters_of_formats(), named_format(parts[0])));
    format.levels.push_back(Level{.kind = *kind});
  }
  if (auto checked = check_kinds(format.levels, parts[0]); !checked) return std::unexpected(checked.error());

  // The scalar may follow the kinds directly ("ss:f32"); a mode order never begins with a letter.
  bool scalar_second = parts.size() == 2 && !parts[1].empty() && parts[1][0] == 'f';
  if (parts.size() >= 2 && !scalar_second && !(parts.size() == 3 && parts[1].empty())) {
    auto modes = parse_mode_order(parts[1], format.levels.size());
    if (!modes) return fail(modes.error().kind, fmt::format("format '{}': {}", text, modes.error().message));
    format.mode_order = std::move(*modes);
  } else {
    for (std::uint32_t m = 0; m < format.levels.size(); ++m) format.mode_order.push_back(m);
  }
  if (parts.size() == 3 || scalar_second) {
    auto scalar = parse_scalar(parts.back());
    if (!scalar) return fail(scalar.error().kind, fmt::format("format '{}': {}", text, scalar.error().message));
    format.scalar = *scalar;
  }
  return format;
}

Expected<Format> parse_format(std::string_view text) {
  return guarded({"parsing a format"}, [&] {
    if (is_layout_text(text)) return parse_layout_format(text);
    auto format = parsed_format(text);
    if (!format && format.error().kind == ErrorKind::input && format.error().code == ErrorCode::other)
      format.error().code = ErrorCode::syntax;
    return format;
  });
}

}  // namespace weft
