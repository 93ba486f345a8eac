// The declarations at the head of a program's text, and the names that they make known.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/loop/program.h"
#include "engine/loop/text_order.h"
#include "engine/loop/token_reader.h"
#include "engine/loop/words.h"
#include "runtime/level_traits.h"

namespace weft::loop {

/// A short text must not ask for a long list of levels.
constexpr std::uint64_t most_key_modes = 64;

class HeadReader : protected TokenReader {
 protected:
  using TokenReader::TokenReader;

  // --- names --------------------------------------------------------------------------------------------------------
  template <class Range, class Name>
  static std::size_t find(const Range& range, std::string_view wanted, Name name_of) {
    return static_cast<std::size_t>(std::ranges::find(range, wanted, name_of) - range.begin());
  }
  static std::string_view itself(const std::string& name) { return name; }

  IndexId index() {
    const Token where = failed() ? Token{} : token();
    const std::string text = name("an index");
    const std::size_t id = find(program_.indices, text, itself);
    if (!failed() && id == program_.indices.size()) {
      if (has_index_line_) error_at_token(where, ErrorKind::input, "index " + text + " is not in the line \"index …\"");
      program_.indices.push_back(text);
    }
    return static_cast<IndexId>(id);
  }

  /// A storage by name; `full` may carry a level behind the last dot.
  StorageId storage_named(std::string_view text, const Token& where) {
    const std::size_t id = find(program_.storages, text, &Storage::name);
    if (!failed() && id == program_.storages.size())
      error_at_token(where, ErrorKind::input, "unknown storage " + std::string(text));
    return static_cast<StorageId>(id);
  }
  StorageId storage() {
    const Token where = failed() ? Token{} : token();
    return storage_named(name("a storage"), where);
  }

  AccessId access() {
    const Token where = failed() ? Token{} : token();
    const std::string text = name("an access");
    const std::size_t id = find(program_.accesses, text, &Access::name);
    if (!failed() && id == program_.accesses.size()) {
      std::string known;
      for (const Access& each : program_.accesses) known += (known.empty() ? "" : ", ") + each.name;
      error_at_token(where, ErrorKind::input, "unknown access " + text + "; declared so far: " + known);
    }
    return static_cast<AccessId>(id);
  }

  // --- head ---------------------------------------------------------------------------------------------------------
  bool is_accumulate() const { return at("+=", 1) || at("-=", 1); }
  bool is_head() const {
    if (is_accumulate()) return false;
    for (std::string_view word : {"index", "input", "output", "workspace", "order", "fact", "semiring"})
      if (at(word)) return true;
    return false;
  }

  void head_line() {
    if (accept("index"))
      index_line();
    else if (accept("fact"))
      program_.facts.push_back(fact());
    else if (accept("order"))
      order_line();
    else if (at("semiring"))
      not_yet("a semiring other than plus and times");
    else
      storage_line();
    end_of_line();
  }

  void index_line() {
    if (!program_.indices.empty()) return error("the line \"index …\" stands once, before the storages");
    has_index_line_ = true;
    do {
      if (std::ranges::find(program_.indices, token().text) != program_.indices.end())
        error("this index is already listed");
      program_.indices.push_back(name("an index"));
      if (accept("=")) definition(static_cast<IndexId>(program_.indices.size() - 1));
    } while (accept(","));
  }

  /// "j / 4", "j % 4", "j / 2 % 2", "j - i + 3 below 7", "(j - i) / 2 below 4", "cover(j, 4) below 9", behind "J = ".
  void definition(IndexId defined) {
    IndexDefinition definition{defined};
    if (at("cover") && at("(", 1)) return cover(definition);
    const bool grouped = accept("(");
    sum(definition);
    if (grouped) expect(")");
    const bool one = !failed() && definition.of.size() == 1 && definition.of.front().factor == 1 && definition.offset == 0;
    const bool part = one && !grouped && !definition.of.front().part.is_whole();
    if (part && !at("below")) {
      definition.part = std::exchange(definition.of.front().part, IndexPart{});
    } else if (grouped || (one && !part)) {
      if (one && !at("/") && !at("%") && !at("below")) error("expected \"/\" or \"%\", and a number");
      if (accept("/")) definition.part.divisor = positive();
      if (accept("%")) definition.part.modulus = positive();
    }
    if (!one) keyword("below");
    if (!one || accept("below")) definition.extent = number();
    program_.definitions.push_back(definition);
  }
  /// "cover(j, 4) below 9", "cover(j + 1) below 9".
  void cover(IndexDefinition& definition) {
    advance();
    expect("(");
    sum(definition);
    definition.cover = accept(",") ? positive() : 0;
    expect(")");
    keyword("below");
    definition.extent = number();
    program_.definitions.push_back(definition);
  }
  void sum(IndexDefinition& definition) {
    do {
      summand(definition);
    } while (!failed() && (at("+") || at("-")));
  }
  /// "j", "+ j", "- 3*j / 2", "+ 4".
  void summand(IndexDefinition& definition) {
    const bool negative = accept("-");
    if (!negative) accept("+");
    const auto signed_number = [&](std::uint64_t size) {
      return negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
    };
    constexpr std::uint64_t largest = std::uint64_t{1} << 62;
    std::uint64_t factor = 1;
    if (!failed() && token().kind == TokenKind::number) {
      factor = number(largest);
      if (!accept("*")) {
        definition.offset = signed_number(factor);
        if (at("+") || at("-")) error("a number ends the sum");
        return;
      }
    }
    const Token where = failed() ? Token{} : token();
    const std::string text = name("an index");
    const auto index = static_cast<IndexId>(find(program_.indices, text, itself));
    if (!failed() && index >= definition.index) error_at_token(where, ErrorKind::input, "index " + text + " is not listed before this one");
    Summand& last = definition.of.emplace_back(Summand{index, signed_number(factor)});
    if (accept("/")) last.part.divisor = positive();
    if (accept("%")) last.part.modulus = positive();
  }
  std::uint64_t positive() {
    if (at("0")) error("expected a number of at least 1");
    return number();
  }

  void storage_line() {
    const Role role = one_of(role_words, "a role");
    const StorageId id = declare(name("the storage's name"), role);
    expect(":");
    type(id);
    while (!failed() && at("access")) access_clause(id);
  }

  StorageId declare(std::string storage_name, Role role) {
    if (!failed() && find(program_.storages, storage_name, &Storage::name) != program_.storages.size())
      error("storage " + storage_name + " is declared twice");
    program_.storages.push_back({std::move(storage_name), role, Scalar::f64, {}});
    return static_cast<StorageId>(program_.storages.size() - 1);
  }

  void type(StorageId id) {
    Storage& storage = program_.storages[id];
    storage.scalar = one_of(scalar_words, "a scalar type");
    expect("{");
    if (accept("}")) return;
    do {
      levels(storage.levels);
      const bool falls = at("desc");
      if (!falls && !at("unordered")) continue;
      if (storage.levels.size() > 64) return error("only one of the first 64 levels has another order");
      advance();
      (falls ? storage.falling : storage.unordered) |= std::uint64_t{1} << (storage.levels.size() - 1);
    } while (accept(","));
    expect("}");
    if (!accept("places")) return;
    expect("<");
    if (at("0")) error("expected 32 or 64: the width of the places");
    storage.place_bits = static_cast<std::uint8_t>(number(64));
    expect(">");
  }

  /// One level, or the modes of a key: "hashed(3)<32>" is three levels, the second and third joined to the first.
  void levels(std::vector<Level>& levels) {
    if (at("sorted")) return not_yet("a workspace of sorted coordinates over several modes");
    const LevelKind kind = one_of(level_words, "a level kind");
    const std::uint64_t modes = key_modes(kind);
    levels.push_back(widths(kind));
    for (std::uint64_t mode = 1; mode < modes && !failed(); ++mode) {
      levels.push_back(levels.back());
      levels.back().joined = true;
    }
  }

  /// "(3)" behind a kind that may have a key of several modes; 1 where nothing is written.
  std::uint64_t key_modes(LevelKind kind) {
    if (!at("(")) return 1;
    if (!may_be_key(kind))
      error("only accumulator and hashed levels have a key of several modes");
    expect("(");
    if (at("0") || at("1")) error("expected a number of at least 2: the modes of the key");
    const std::uint64_t modes = number(most_key_modes);
    expect(")");
    return modes;
  }

  Level widths(LevelKind kind) {
    Level level{kind};
    if (!accept("<")) return level;
    std::vector<std::uint8_t> widths;
    do {
      if (accept("strided"))
        level.strided = true;
      else
        widths.push_back(static_cast<std::uint8_t>(number(64)));
    } while (!failed() && accept(","));
    if (!failed() && widths.size() > 2) error("a level has at most two widths: <pos,crd>");
    if (!widths.empty()) level.crd_bits = widths.back();
    if (widths.size() == 2) level.pos_bits = widths.front();
    expect(">");
    return level;
  }

  void access_clause(StorageId id) {
    keyword("access");
    const Token where = failed() ? Token{} : token();
    std::string access_name = name("the access's name");
    add_access(id, std::move(access_name), where);
  }

  void add_access(StorageId id, std::string access_name, const Token& where) {
    if (!failed() && find(program_.accesses, access_name, &Access::name) != program_.accesses.size())
      error_at_token(where, ErrorKind::input, "access " + access_name + " is declared twice");
    Access access{std::move(access_name), id, {}};
    expect("[");
    if (!accept("]")) {
      do access.indices.push_back(index());
      while (!failed() && accept(","));
      expect("]");
    }
    program_.accesses.push_back(std::move(access));
  }

  Fact fact() {
    if (accept("extent")) {
      expect("(");
      const IndexId id = index();
      expect(")");
      expect("=");
      return ExtentFact{id, number()};
    }
    if (accept("pattern")) {
      expect("(");
      const StorageId id = storage();
      expect(")");
      expect("=");
      return PatternFact{id, number()};
    }
    if (accept("finite")) {
      expect("(");
      const StorageId id = storage();
      expect(")");
      return FiniteFact{id};
    }
    if (accept("presence")) {
      expect("(");
      const StorageId id = storage();
      expect(")");
      return PresenceFact{id};
    }
    if (accept("like")) {
      expect("(");
      const StorageId id = storage();
      expect(",");
      const StorageId pattern = storage();
      expect(")");
      return LikeFact{id, pattern};
    }
    const bool full = at("full");
    const bool adjacent = at("adjacent");
    if (!full && !adjacent && !at("fiber")) {
      if (!failed()) error("expected a fact, one of: adjacent, extent, full, fiber, finite, like, pattern, presence");
      return {};
    }
    advance();
    expect("(");
    const auto [id, level] = storage_level();
    expect(")");
    if (full) return FullFact{id, level};
    if (adjacent) {
      const bool from_zero = accept("=");
      if (from_zero) expect("0");
      return AdjacentFact{id, level, from_zero};
    }
    const bool exact = accept("=");
    if (!exact) expect("<=");
    return FiberFact{id, level, number(), exact};
  }

  /// "T.2": storage T, level 2.
  std::pair<StorageId, std::uint32_t> storage_level() {
    const Token where = failed() ? Token{} : token();
    const std::string text = name("a storage and a level, as in T.0");
    const std::size_t dot = text.rfind('.');
    std::uint32_t level = 0;
    if (!failed()) {
      const char* stop = text.data() + text.size();
      if (dot == std::string::npos || std::from_chars(text.data() + dot + 1, stop, level).ptr != stop)
        error_at_token(where, ErrorKind::input, "expected a storage and a level, as in T.0");
    }
    return {storage_named(std::string_view(text).substr(0, dot), where), level};
  }

  // Only present where the ids differ from the order of the text; applied once everything is declared.
  void order_line() {
    order_token_ = token();
    order_line_ = line_;
    while (!failed() && !at("|")) {
      order_.storages.push_back(name("a storage"));
      if (!at("|")) expect(",");
    }
    expect("|");
    while (!failed() && token().kind != TokenKind::end) {
      order_.accesses.push_back(name("an access"));
      if (token().kind != TokenKind::end) expect(",");
    }
  }

  void restore_order() {
    if (order_line_ == lines_.size()) return;
    TextOrder order;
    for (const std::string& each : order_.storages)
      order.storages.push_back(static_cast<StorageId>(find(program_.storages, each, &Storage::name)));
    for (const std::string& each : order_.accesses)
      order.accesses.push_back(static_cast<AccessId>(find(program_.accesses, each, &Access::name)));
    if (!is_permutation(order.storages, program_.storages.size()) ||
        !is_permutation(order.accesses, program_.accesses.size())) {
      line_ = order_line_;
      error_at_token(order_token_, ErrorKind::input, "\"order\" lists every storage, \"|\" and every access, once");
      return;
    }
    program_ = renumbered(program_, order);
  }

  static bool is_permutation(std::vector<std::uint32_t> ids, std::size_t count) {
    std::ranges::sort(ids);
    for (std::size_t n = 0; n < ids.size(); ++n)
      if (ids[n] != n) return false;
    return ids.size() == count;
  }

  struct NamedOrder {
    std::vector<std::string> storages;
    std::vector<std::string> accesses;
  };

  Program program_;
  bool has_index_line_ = false;
  NamedOrder order_;
  Token order_token_;
  std::size_t order_line_ = lines_.size();
};

}  // namespace weft::loop
