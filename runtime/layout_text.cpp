#include "runtime/layout_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "runtime/affine.h"
#include "runtime/digit.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/layout_names.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr std::size_t most_levels = 32;  // as of modes: a set of them is a 32-bit mask everywhere
constexpr int deepest = 64;              // parentheses
constexpr std::size_t most_terms = 16;   // of a sum

constexpr bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool continues_name(char c) { return begins_name(c) || is_digit(c); }

/// The message, the text, and a caret below byte `at`.
std::unexpected<Error> at_caret(std::string_view text, std::size_t at, ErrorKind kind, const std::string& message) {
  std::string shown(text);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  const auto bytes = text.substr(0, at);
  const auto columns = std::ranges::count_if(bytes, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  return std::unexpected(Error{.kind = kind,
                               .message = fmt::format("{}\n  {}\n  {:>{}}", message, shown, '^', columns + 1),
                               .code = ErrorCode::syntax,
                               .position = TextPosition{.offset = at, .line = 1, .column = at + 1}});
}

/// Bounds that are no numbers make lengths that differ.
LevelKind stored_kind(const LayoutLevel& level) {
  const auto varies = [](const std::shared_ptr<const Affine>& bound) { return bound && !bound->is_number(); };
  return varies(level.low) || varies(level.high) ? LevelKind::variable : level.kind;
}

/// Where the parts of a level stand in the text.
struct LevelPlace {
  std::size_t value = 0;
  std::size_t kind = 0;
  std::size_t range = 0;
  std::size_t order = 0;
};

class LayoutParser {
 public:
  explicit LayoutParser(std::string_view text) : text_(text) {}

  Expected<Layout> run() {
    if (auto done = read_modes(); !done) return std::unexpected(done.error());
    if (auto done = expect("->", "'->' and the levels follow the modes"); !done) return std::unexpected(done.error());
    if (auto done = expect("(", "the levels stand in parentheses"); !done) return std::unexpected(done.error());
    do {
      if (auto done = read_level(); !done) return std::unexpected(done.error());
    } while (take(","));
    if (auto done = expect(")", "a level is followed by ',' or ')'"); !done) return std::unexpected(done.error());
    if (auto done = check(); !done) return std::unexpected(done.error());
    return std::move(layout_);
  }

  std::size_t position() const { return at_; }

 private:
  // Words.

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool at(std::string_view symbol) {
    skip();
    return text_.substr(at_).starts_with(symbol);
  }
  bool take(std::string_view symbol) {
    if (!at(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  std::string take_name() {
    skip();
    const std::size_t begin = at_;
    if (at_ < text_.size() && begins_name(text_[at_]))
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool at_number() {
    skip();
    return at_ < text_.size() && is_digit(text_[at_]);
  }
  Expected<std::int64_t> take_number() {
    std::int64_t value = 0;
    const std::size_t begin = at_;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem != std::errc{}) return wrong(begin, "the number is beyond 2^63 - 1");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::unexpected<Error> wrong(std::size_t place, const std::string& message) const {
    return at_caret(text_, place, ErrorKind::input, fmt::format("layout: {}", message));
  }
  std::unexpected<Error> not_supported(std::size_t place, const std::string& message) const {
    return at_caret(text_, place, ErrorKind::unsupported, fmt::format("layout: {}", message));
  }
  /// Something else than what the sentence says stands here.
  std::unexpected<Error> unexpected_here(const std::string& sentence) {
    skip();
    return wrong(at_, at_ >= text_.size() ? "the text ends early: " + sentence : sentence);
  }
  Expected<void> expect(std::string_view symbol, const std::string& sentence) {
    if (take(symbol)) return {};
    return unexpected_here(sentence);
  }

  // The text.

  Expected<void> read_modes() {
    if (auto done = expect("(", "a layout begins with its modes, as (i,j)"); !done) return done;
    do {
      skip();
      const std::size_t place = at_;
      std::string name = take_name();
      if (name.empty()) return unexpected_here("the name of a mode is missing");
      if (std::ranges::find(layout_.modes, name) != layout_.modes.end()) return wrong(place, fmt::format("{} is a mode twice", name));
      if (layout_.modes.size() == most_levels)
        return not_supported(place, fmt::format("more than {} modes are not supported", most_levels));
      layout_.modes.push_back(std::move(name));
      mode_places_.push_back(place);
    } while (take(","));
    skip();
    const bool is_level = at_ < text_.size() && std::string_view(":/%+-*").find(text_[at_]) != std::string_view::npos;
    if (is_level && text_.find("->") == text_.npos) return wrong(at_, "the modes stand before the levels, as in (i,j) -> (i:d, j:s)");
    return expect(")", "a mode is followed by ',' or ')'");
  }

  std::uint32_t variable(const std::string& name, std::size_t place) {
    const auto mode = std::ranges::find(layout_.modes, name);
    if (mode != layout_.modes.end()) return static_cast<std::uint32_t>(mode - layout_.modes.begin());
    const auto known = std::ranges::find(layout_.free, name);
    const auto number = static_cast<std::uint32_t>(layout_.modes.size() + static_cast<std::size_t>(known - layout_.free.begin()));
    if (known == layout_.free.end()) {
      layout_.free.push_back(name);
      free_places_.push_back(place);
    }
    return number;
  }

  Expected<Affine> read_atom() {
    skip();
    const std::size_t place = at_;
    if (take("(")) {
      if (++depth_ > deepest) return wrong(place, "the parentheses are nested too deeply");
      auto inner = read_sum();
      if (!inner) return inner;
      if (auto done = expect(")", "')' is missing"); !done) return std::unexpected(done.error());
      --depth_;
      return inner;
    }
    if (at_number()) {
      const auto number = take_number();
      if (!number) return std::unexpected(number.error());
      return Affine::number(*number);
    }
    const std::string name = take_name();
    if (name.empty()) return unexpected_here("a mode, a free name or a number is missing");
    return Affine::variable(variable(name, place));
  }

  /// [n '*'] atom (('/' | '%') n)*
  Expected<Affine> read_term() {
    auto atom = read_atom();
    if (!atom) return atom;
    std::optional<std::int64_t> factor;
    if (at("*")) {
      if (!atom->is_number()) return unexpected_here("a factor is a number in front, as in 4*i");
      take("*");
      factor = atom->constant();
      atom = read_atom();
      if (!atom) return atom;
    }
    while (at("/") || at("%")) {
      const bool quotient = take("/");
      if (!quotient) take("%");
      if (!at_number()) return unexpected_here("what divides is a number");
      const std::size_t place = at_;
      const auto number = take_number();
      if (!number) return std::unexpected(number.error());
      if (*number == 0) return wrong(place, "division by 0");
      atom = quotient ? atom->divided(*number) : atom->modulo(*number);
    }
    return factor ? atom->times(*factor) : *atom;
  }

  Expected<Affine> read_sum() {
    skip();
    const std::size_t place = at_;
    Affine sum;
    for (bool first = true;; first = false) {
      const bool negative = take("-");
      if (!negative && !take("+") && !first) break;
      const auto term = read_term();
      if (!term) return term;
      sum = negative ? sum.minus(*term) : sum.plus(*term);
      if (sum.terms().size() > most_terms)
        return not_supported(place, fmt::format("sums of more than {} terms are not supported", most_terms));
    }
    if (!sum.fits()) return wrong(place, "its numbers are beyond 2^63 - 1");
    return sum;
  }

  Expected<void> read_level() {
    skip();
    if (layout_.levels.size() == most_levels) return not_supported(at_, fmt::format("more than {} levels are not supported", most_levels));
    LevelPlace place{at_, 0, 0};
    LayoutLevel level;
    if (!take("*")) {
      auto value = read_sum();
      if (!value) return std::unexpected(value.error());
      level.value = std::make_shared<const Affine>(std::move(*value));
    }
    if (auto done = expect(":", "a level is VALUE:KIND, as i/4:d"); !done) return done;
    if (auto done = read_kind(level, place); !done) return done;
    layout_.levels.push_back(std::move(level));
    places_.push_back(place);
    return {};
  }

  static std::optional<LevelKind> kind_named(std::string_view word) {
    for (const LevelTraits& each : level_kinds)
      if (!is_listed(each.kind) && (word == each.word || word == std::string_view(&each.letter, 1))) return each.kind;
    return std::nullopt;
  }

  Expected<void> read_kind(LayoutLevel& level, LevelPlace& place) {
    skip();
    place.kind = at_;
    const std::string word = take_name();
    if (word.empty()) return unexpected_here("the kind of the level is missing: d, s, u, q, h, b or v");
    if (word == "r" || word == "run")
      return not_supported(place.kind, "the kind r, one value for a run of coordinates, is reserved and not supported yet");
    const auto kind = kind_named(word);
    if (!kind) return wrong(place.kind, fmt::format("unknown level kind '{}'; one of d, s, u, q, h, b, v", word));
    level.kind = *kind;
    skip();
    place.range = at_;
    if (take("(")) {
      if (!is_dense(level.kind)) return wrong(place.range, "only a dense level (d) has a range");
      if (auto done = read_range(level); !done) return done;
    }
    if (auto done = read_bits(level); !done) return done;
    skip();
    const std::size_t order = at_;
    const std::string word_of_order = take_name();
    if (word_of_order.empty()) return {};
    if (word_of_order != "desc" && word_of_order != "unordered")
      return wrong(order, fmt::format("'{}' is no order of coordinates; desc and unordered are", word_of_order));
    level.order = word_of_order == "desc" ? LevelOrder::descending : LevelOrder::unordered;
    place.order = order;
    const bool of_slots = is_per_parent(level.kind) && level.order == LevelOrder::unordered;  // check_slot() sees whether it is
    if (!of_slots && (!is_compressed(level.kind) || has_lengths(level.kind)))
      return wrong(order, "only the coordinates of a compressed level (s) have an order");
    return {};
  }

  Expected<void> read_range(LayoutLevel& level) {
    skip();
    const std::size_t place = at_;
    const std::size_t free_names = layout_.free.size();
    const auto end = [&]() -> Expected<std::shared_ptr<const Affine>> {
      auto sum = read_sum();
      if (!sum) return std::unexpected(sum.error());
      return std::make_shared<const Affine>(std::move(*sum));
    };
    const auto read = [&](std::shared_ptr<const Affine>& bound) -> Expected<void> {
      auto made = end();
      if (!made) return std::unexpected(made.error());
      bound = std::move(*made);
      return {};
    };
    if (!at("..")) {
      if (auto done = read(level.low); !done) return done;
    }
    if (take("..")) {
      if (!at(")")) {
        if (auto done = read(level.high); !done) return done;
      }
    } else {
      if (!level.low->is_number() || level.low->constant() < 0) return wrong(place, "a range is LO..HI, or a number of values from 0 on");
      level.high = std::exchange(level.low, std::make_shared<const Affine>());
    }
    if (layout_.free.size() != free_names)
      return wrong(free_places_[free_names], fmt::format("the bound names {}, which is no mode", layout_.free[free_names]));
    return expect(")", "')' is missing behind the range");
  }

  Expected<void> read_bits(LayoutLevel& level) {
    skip();
    const std::size_t place = at_;
    if (!take("<")) return {};
    const auto bits = at_number() ? take_number() : Expected<std::int64_t>(0);
    if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64)) return wrong(place, "coordinates have 8, 16, 32 or 64 bits");
    if (!has_coordinates(level.kind)) return wrong(place, fmt::format("a level of kind {} stores no coordinates", letter(level.kind)));
    if (*bits < 32 && has_slots(level.kind)) return not_supported(place, "hashed coordinates of 8 or 16 bits are not supported");
    level.bits = static_cast<std::uint8_t>(*bits);
    return expect(">", "'>' is missing behind the bits");
  }

  // What the text says as a whole.

  bool is_free(std::size_t l) const {
    const auto name = layout_.levels[l].value ? layout_.levels[l].value->as_variable() : std::nullopt;
    return name && *name >= layout_.modes.size();
  }
  bool is_slot(std::size_t l) const { return !layout_.levels[l].value; }
  LevelKind kind(std::size_t l) const { return layout_.levels[l].kind; }

  Expected<void> check() const {
    for (std::size_t l = 0; l < layout_.levels.size(); ++l) {
      if (auto done = check_level(l); !done) return done;
      if (auto done = check_slot(l); !done) return done;
      if (auto done = check_bounds(l); !done) return done;
    }
    if (auto done = check_free_names(); !done) return done;
    if (auto done = check_lengths(); !done) return done;
    for (std::uint32_t mode = 0; mode < layout_.modes.size(); ++mode) {
      const bool used =
          std::ranges::any_of(layout_.levels, [&](const LayoutLevel& level) { return level.value && level.value->uses(mode); });
      if (!used) return wrong(mode_places_[mode], fmt::format("no level determines the mode {}", layout_.modes[mode]));
    }
    return {};
  }

  Expected<void> check_level(std::size_t l) const {
    const LayoutLevel& level = layout_.levels[l];
    const LevelPlace& place = places_[l];
    if (level.value && level.value->is_number())
      return wrong(place.value, fmt::format("the level is {} at every coordinate: leave it out", level.value->constant()));
    std::vector<Level> kinds;
    for (std::size_t above = 0; above <= l; ++above) kinds.push_back({.kind = kind(above)});
    if (is_per_parent(level.kind)) {
      if (below_gaps(kinds, l))
        return wrong(place.kind,
                     "a singleton (q) needs an entry at every position above, but hashed (h) and bitmap (b) levels have positions without");
      if (!below_entry(l)) return wrong(place.kind, "a singleton holds one entry per position: it needs u, q or a slot (*) above");
      if (level.order != LevelOrder::ascending && !is_singleton_of_slot(l))
        return wrong(place.order, "only the coordinates of a compressed level (s), and the singletons of a slot (*), have an order");
    }
    const bool repeats = begins_chain(level.kind) && l + 1 < layout_.levels.size() && !is_per_parent(kind(l + 1));
    if (repeats) return wrong(place.kind, "the level repeats coordinates (u), so the level below must be a singleton (q)");
    return {};
  }

  /// Whether positions above a singleton have one entry each: it goes on a chain, a slot with dense levels in between, or a
  /// start has been chosen for each.
  bool below_entry(std::size_t l) const {
    if (l == 0) return false;
    if (is_free(l)) return true;
    if (begins_chain(kind(l - 1))) return true;
    if (is_per_parent(kind(l - 1))) return !is_free(l - 1);
    for (std::size_t above = l; above-- > 0;) {
      if (is_slot(above)) return true;
      if (!is_dense(kind(above))) return false;
    }
    return false;
  }

  /// Whether a singleton says what stands in a slot: others may lie above it, then dense levels.
  bool is_singleton_of_slot(std::size_t l) const {
    std::size_t above = l;
    while (above > 0 && is_per_parent(kind(above)) && !is_free(above)) --above;
    while (above > 0 && is_dense(kind(above)) && !is_slot(above)) --above;
    return is_slot(above);
  }

  Expected<void> check_slot(std::size_t l) const {
    if (!is_slot(l)) return {};
    const std::size_t place = places_[l].value;
    if (!is_dense(kind(l)) && !has_lengths(kind(l))) return wrong(places_[l].kind, "a slot (*) is dense (d) or variable (v)");
    if (layout_.levels[l].low && (layout_.levels[l].low->constant() != 0 || !layout_.levels[l].low->is_number()))
      return wrong(places_[l].range, "slots are numbered from 0");
    if (layout_.levels[l].high && !layout_.levels[l].high->is_number()) return wrong(places_[l].range, "the slots of a range are a number");
    std::size_t first = l + 1;
    while (first < layout_.levels.size() && is_dense(kind(first)) && !is_slot(first)) ++first;
    std::size_t behind = first;
    while (behind < layout_.levels.size() && is_per_parent(kind(behind)) && !is_free(behind)) ++behind;
    if (behind == first && first < layout_.levels.size() && is_free(first) && is_per_parent(kind(first)))
      return wrong(places_[first].value,
                   fmt::format("a start does not say what stands in a slot (*), as blocks of unused slots would lie over others: write "
                               "{0}:s in place of the slot and {0}:q",
                               layout_.value_text(first)));
    if (behind == first) return wrong(place, "a slot (*) needs a singleton (q) below, which says what stands in it");
    for (std::size_t singleton = first + 1; singleton < behind; ++singleton)
      if (layout_.levels[singleton].order != layout_.levels[first].order)
        return wrong(places_[singleton].kind, "the singletons of a slot stand in one order: all are unordered, or none");
    return {};
  }

  Expected<void> check_bounds(std::size_t l) const {
    for (const auto& bound : {layout_.levels[l].low, layout_.levels[l].high}) {
      for (std::uint32_t name = 0; bound && name < layout_.modes.size() + layout_.free.size(); ++name) {
        if (!bound->uses(name)) continue;
        if (name >= layout_.modes.size())
          return wrong(places_[l].range,
                       fmt::format("a bound is an expression of modes, not of {}", layout_.free[name - layout_.modes.size()]));
        const bool above = std::ranges::any_of(std::span(layout_.levels).first(l),
                                               [&](const LayoutLevel& level) { return level.value && level.value->uses(name); });
        if (!above) return wrong(places_[l].range, fmt::format("the bound uses {}, which no level above determines", layout_.modes[name]));
      }
    }
    return {};
  }

  /// Positions of hashed and bitmap levels are laid out anew, which those of levels with lengths are not.
  Expected<void> check_lengths() const {
    const auto has_gap = [](const LayoutLevel& level) { return has_gaps(level.kind); };
    if (std::ranges::none_of(layout_.levels, has_gap)) return {};
    for (std::size_t l = 0; l < layout_.levels.size(); ++l)
      if (stored_kind(layout_.levels[l]) == LevelKind::variable)
        return not_supported(places_[l].kind,
                             "lengths (v, bounds that are no numbers) beside hashed (h) and bitmap (b) levels are not supported");
    return {};
  }

  /// A free name is a level of its own, and subtracted in one below it.
  Expected<void> check_free_names() const {
    for (std::size_t n = 0; n < layout_.free.size(); ++n) {
      const auto name = static_cast<std::uint32_t>(layout_.modes.size() + n);
      std::vector<std::size_t> levels;
      for (std::size_t l = 0; l < layout_.levels.size(); ++l)
        if (layout_.levels[l].value && layout_.levels[l].value->uses(name)) levels.push_back(l);
      const bool stored = !levels.empty() && is_free(levels.front());
      if (!stored || levels.size() != 2 || !counts_from(levels.back(), name))
        return wrong(free_places_[n], fmt::format("{0} is no mode of ({1}); a free name is a start: a level of its own, and subtracted in "
                                                  "one level below, as in b:s, j-b:d(4)",
                                                  layout_.free[n], fmt::join(layout_.modes, ",")));
      if (kind(levels.front()) != LevelKind::compressed && !is_per_parent(kind(levels.front())))
        return wrong(places_[levels.front()].kind, "a start is compressed (s) or a singleton (q)");
    }
    return {};
  }

  bool counts_from(std::size_t l, std::uint32_t name) const {
    const LayoutLevel& level = layout_.levels[l];
    const auto& terms = level.value->terms();
    const auto term = std::ranges::find_if(terms, [&](const AffineTerm& each) { return !each.sum && each.variable == name; });
    const bool subtracted = term != terms.end() && term->factor == -1 && term->divisor == 1 && term->modulus == 0;
    if (!subtracted || level.value->plus(Affine::variable(name)).uses(name)) return false;
    const bool wide =
        is_dense(level.kind) && level.high && level.high->is_number() && level.high->constant() > 0 && level.low && *level.low == Affine();
    return wide || has_lengths(level.kind);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Layout layout_;
  std::vector<std::size_t> mode_places_;
  std::vector<std::size_t> free_places_;
  std::vector<LevelPlace> places_;
};

struct ReadLayout {
  Layout layout;
  std::size_t end = 0;  ///< of what was read
};

/// `name[(ARGUMENTS)]`.
Expected<ReadLayout> read_named(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view name = text.substr(begin, end - begin);
  const auto signature = layout_signature(name);
  if (!signature)
    return at_caret(text, begin, ErrorKind::input, fmt::format("layout: '{}' is no layout; {} are", name, fmt::join(layout_names(), " ")));
  std::vector<std::int64_t> numbers;
  std::string_view word;
  std::size_t at = end;
  bool right = true;
  if (at < text.size() && text[at] == '(') {
    const std::size_t close = text.find(')', at);
    if (close == std::string_view::npos)
      return at_caret(text, text.size(), ErrorKind::input, "layout: the text ends early: ')' is missing");
    std::string_view inner = text.substr(at + 1, close - at - 1);
    for (bool more = true; more && right;) {
      const std::size_t comma = inner.find(',');
      std::string_view part = inner.substr(0, comma);
      more = comma != std::string_view::npos;
      inner.remove_prefix(more ? comma + 1 : inner.size());
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      std::int64_t number = 0;
      const auto [rest, problem] = std::from_chars(part.data(), part.data() + part.size(), number);
      if (problem == std::errc{} && rest == part.data() + part.size() && word.empty())
        numbers.push_back(number);
      else if (!part.empty() && begins_name(part.front()) && word.empty())
        word = part;
      else
        right = false;
    }
    at = close + 1;
  }
  const auto expanded = right ? expanded_layout(name, {numbers, word}) : std::nullopt;
  if (!expanded)
    return at_caret(text, begin, ErrorKind::input,
                    fmt::format("layout: {} is written {}, with numbers from 1 (band: 0) to 2^31", name, *signature));
  auto layout = LayoutParser(*expanded).run();
  if (!layout) return std::unexpected(layout.error());
  return ReadLayout{std::move(*layout), at};
}

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) ++at;
  return at;
}

Expected<ReadLayout> read_layout(std::string_view text) {
  const std::size_t begin = behind_blanks(text, 0);
  std::size_t end = begin;
  if (begin < text.size() && begins_name(text[begin]))
    while (end < text.size() && continues_name(text[end])) ++end;
  if (end != begin) return read_named(text, begin, end);
  LayoutParser parser(text);
  auto layout = parser.run();
  if (!layout) return std::unexpected(layout.error());
  return ReadLayout{std::move(*layout), parser.position()};
}

/// The KINDS:ORDER that the layout is, if it is one.
bool is_plain(const Layout& layout) {
  std::vector<bool> seen(layout.modes.size(), false);
  for (const LayoutLevel& level : layout.levels) {
    const auto mode = level.value ? level.value->as_variable() : std::nullopt;
    if (!mode || *mode >= seen.size() || seen[*mode]) return false;
    seen[*mode] = true;
    if (level.low || level.high || level.bits != 0 || level.order != LevelOrder::ascending || has_lengths(level.kind)) return false;
  }
  return true;
}

Format format_of(Layout layout, Scalar scalar) {
  Format format;
  format.scalar = scalar;
  const bool plain = is_plain(layout);
  for (const LayoutLevel& level : layout.levels) {
    if (plain) format.mode_order.push_back(*level.value->as_variable());
    format.levels.push_back({.kind = stored_kind(level), .crd_bits = level.bits == 0 ? std::uint8_t{32} : level.bits});
  }
  if (!plain) format.layout = std::make_shared<const Layout>(std::move(layout));
  return format;
}

}  // namespace

bool is_layout_text(std::string_view text) {
  if (text.find('(') != std::string_view::npos) return true;
  const std::size_t begin = behind_blanks(text, 0);
  std::size_t end = begin;
  while (end < text.size() && continues_name(text[end])) ++end;
  return layout_signature(text.substr(begin, end - begin)).has_value();
}

Expected<Format> parse_layout_format(std::string_view text) {
  auto read = read_layout(text);
  if (!read) return std::unexpected(read.error());
  std::size_t at = behind_blanks(text, read->end);
  Scalar scalar = Scalar::f64;
  if (at < text.size() && text[at] == ':') {
    const std::size_t begin = behind_blanks(text, at + 1);
    at = begin;
    while (at < text.size() && continues_name(text[at])) ++at;
    const auto parsed = parse_scalar(text.substr(begin, at - begin));
    if (!parsed) return at_caret(text, begin, ErrorKind::input, fmt::format("layout: {}", parsed.error().message));
    scalar = *parsed;
    at = behind_blanks(text, at);
  }
  if (at != text.size())
    return at_caret(text, at, ErrorKind::input, "layout: the layout ends before this; ':' and f64 or f32 may follow it");
  return format_of(std::move(read->layout), scalar);
}

Expected<Layout> parse_layout(std::string_view text) {
  return guarded({"parsing a layout"}, [&]() -> Expected<Layout> {
    auto read = read_layout(text);
    if (!read) return std::unexpected(read.error());
    const std::size_t at = behind_blanks(text, read->end);
    if (at != text.size()) return at_caret(text, at, ErrorKind::input, "layout: the layout ends before this");
    return std::move(read->layout);
  });
}

}  // namespace weft
