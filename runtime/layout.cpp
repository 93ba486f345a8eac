#include "weft/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/affine.h"
#include "runtime/guarded.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

bool same(const std::shared_ptr<const Affine>& a, const std::shared_ptr<const Affine>& b) {
  return a == b || (a && b && *a == *b);
}

std::vector<std::string> variables(const Layout& layout) {
  std::vector<std::string> names = layout.modes;
  names.insert(names.end(), layout.free.begin(), layout.free.end());
  return names;
}

/// "(4)", "(..i+1)"; empty without a range.
std::string range_text(const LayoutLevel& level, std::span<const std::string> names) {
  if (!level.low && !level.high) return "";
  const bool from_0 = level.low && level.high && level.low->is_number() && level.low->constant() == 0 && level.high->is_number();
  if (from_0) return fmt::format("({})", level.high->constant());
  return fmt::format("({}..{})", level.low ? level.low->text(names) : "", level.high ? level.high->text(names) : "");
}

std::string text_of(const Layout& layout) {
  std::string levels;
  for (std::size_t l = 0; l < layout.levels.size(); ++l) levels += fmt::format("{}{}", l ? ", " : "", layout.level_text(l));
  return fmt::format("({}) -> ({})", fmt::join(layout.modes, ","), levels);
}

/// i, j, …, z, a, …, h, m26, …
std::string name_of_mode(std::uint32_t mode) {
  constexpr std::string_view letters = "ijklmnopqrstuvwxyzabcdefgh";
  return mode < letters.size() ? std::string(1, letters[mode]) : fmt::format("m{}", mode);
}

}  // namespace

bool LayoutLevel::operator==(const LayoutLevel& other) const {
  return same(value, other.value) && kind == other.kind && same(low, other.low) && same(high, other.high) &&
         bits == other.bits && order == other.order;
}

std::string Layout::value_text(std::size_t level) const {
  return guarded_text([&] { return levels[level].value ? levels[level].value->text(variables(*this)) : std::string("*"); });
}

std::string Layout::level_text(std::size_t level) const {
  return guarded_text([&] {
    const LayoutLevel& each = levels[level];
    std::string text = fmt::format("{}:{}{}", value_text(level), letter(each.kind), range_text(each, variables(*this)));
    if (each.bits != 0) text += fmt::format("<{}>", each.bits);
    if (each.order == LevelOrder::descending) text += " desc";
    if (each.order == LevelOrder::unordered) text += " unordered";
    return text;
  });
}

std::string Layout::text() const {
  return guarded_text([&] { return text_of(*this); });
}

Layout layout_of(const Format& format) {
  if (format.layout) return *format.layout;
  Layout layout;
  for (std::uint32_t mode = 0; mode < format.mode_order.size(); ++mode) layout.modes.push_back(name_of_mode(mode));
  for (std::size_t l = 0; l < format.order(); ++l) {
    LayoutLevel level;
    level.value = std::make_shared<const Affine>(Affine::variable(format.mode_order[l]));
    level.kind = format.levels[l].kind;
    layout.levels.push_back(std::move(level));
  }
  return layout;
}

}  // namespace weft
