#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

bool has_crd(LevelKind kind) {
  return is_packed(kind) || is_per_parent(kind);
}

/// Which kinds may stand at a level of a storage, whatever is done with it.
Expected<void> check_kinds(const Storage& storage) {
  const bool strided = std::ranges::any_of(storage.levels, &Level::strided);
  for (std::size_t n = 0; n < storage.levels.size(); ++n) {
    const Level& level = storage.levels[n];
    const LevelKind kind = level.kind;
    const auto wrong = [&](std::string_view why) {
      return input_error(
          fmt::format("capability: level {} of {} is {}: {}", n, storage.name, word(level_words, kind), why));
    };
    if (storage.falls(n) && (storage.role != Role::input || !is_compressed(kind)))
      return wrong("only a compressed level of an input falls");
    if (storage.is_unordered(n) && (storage.role != Role::input || !is_compressed(kind)))
      return wrong("only a compressed level of an input is unordered");
    if (strided && is_sparse(kind)) return wrong("only storages whose levels are all dense can be strided");
    for (unsigned bits : {level.pos_bits, level.crd_bits})
      if (bits != 32 && bits != 64) return wrong(fmt::format("widths are 32 or 64 bits, not {}", bits));
    if (storage.role != Role::workspace && is_listed(kind))
      return wrong("only a workspace can be an accumulator");
    if (level.joined) {
      if (storage.role != Role::workspace) return wrong("only a workspace has a key of several modes");
      Level first = storage.levels[n > 0 ? n - 1 : 0];
      first.joined = true;
      if (n == 0 || first != level || !may_be_key(kind))
        return wrong("a key goes on with a level of the same kind and widths, accumulator or hashed");
    }
    if (is_per_parent(kind)) {
      const bool below_crd = n > 0 && has_crd(storage.levels[n - 1].kind);
      const bool below_dense = n > 0 && is_dense(storage.levels[n - 1].kind) && storage.role == Role::input;
      if (!below_crd && !below_dense)
        return wrong("a singleton stands below a compressed, nonunique or singleton level, or a dense one of an input");
    }
    if (begins_chain(kind) && n + 1 < storage.levels.size() &&
        !is_per_parent(storage.levels[n + 1].kind))
      return wrong("a nonunique level is the last, or followed by a singleton");
  }
  return {};
}

/// Places are those of entries, each of which has a value: none has a gap, or a block of dense levels below it.
Expected<void> check_places(const Storage& storage) {
  if (storage.place_bits == 0) return {};
  const auto wrong = [&](std::string_view why) { return input_error(fmt::format("capability: places of {}: {}", storage.name, why)); };
  if (storage.role != Role::input) return wrong("only values of an input are read through places");
  if (storage.place_bits != 32 && storage.place_bits != 64) return wrong(fmt::format("32 or 64 bits wide, not {}", storage.place_bits));
  if (storage.levels.empty() || !has_crd(storage.levels.back().kind))
    return wrong("the last level is compressed, nonunique or singleton");
  return {};
}

bool offers(LevelKind kind, Use use) {
  switch (use) {
    case Use::drive:
    case Use::locate:
      return true;
    case Use::insert:
      return !has_crd(kind);
    case Use::append:
      return has_crd(kind);
  }
  return false;
}

/// The algorithms of a drive or locate step on a kind.
bool offers(LevelKind kind, Use use, Algorithm algorithm) {
  if (algorithm == Algorithm::standard) return true;
  switch (algorithm) {
    case Algorithm::merge:
      return use == Use::drive && has_crd(kind);
    case Algorithm::gallop:
      return (use == Use::drive || use == Use::locate) && has_crd(kind);
    case Algorithm::search:
      return use == Use::locate && has_crd(kind);
    case Algorithm::table:
      return use == Use::locate && !has_crd(kind) && !has_slots(kind);
    case Algorithm::probe:
      return use == Use::locate && has_slots(kind);
    case Algorithm::sort:
      return use == Use::drive && may_be_key(kind);
    case Algorithm::standard:
      break;
  }
  return false;
}

}  // namespace

Expected<void> check_capability(const Program& program) {
  for (const Storage& storage : program.storages) {
    if (Expected<void> checked = check_kinds(storage); !checked) return checked;
    if (Expected<void> checked = check_places(storage); !checked) return checked;
  }
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const std::vector<Step>& steps = steps_of(statement);
    const For* loop = std::get_if<For>(&statement.node);
    const auto drives = std::ranges::count(steps, Use::drive, &Step::use);
    // Per access the uses of its levels, those of this statement included as they come.
    std::vector<std::vector<Use>> uses(program.accesses.size());
    for (AccessId id = 0; id < uses.size(); ++id)
      for (const BoundLevel& bound : path.bound[id]) uses[id].push_back(bound.step.use);
    for (const Step& step : steps) {
      const Access& access = program.accesses[step.access];
      const std::size_t level = uses[step.access].size();
      uses[step.access].push_back(step.use);
      const Storage& storage = program.storages[access.storage];
      const Level& type = storage.levels[level];
      const LevelKind kind = type.kind;
      const auto wrong = [&](std::string_view why) {
        return input_error(fmt::format("capability: {} {}: {}: level {} of {} is {}, {}",
                                       loop != nullptr ? "loop " + program.indices[loop->index] : "a bind",
                                       where(program, path), print(program, step), level, print(program, access),
                                       word(level_words, kind), why));
      };
      // The position of what has the pattern of an operand is the operand's, whatever the level.
      if (!offers(kind, step.use) && !(step.use == Use::insert && pattern_of(program, access.storage)))
        return wrong(fmt::format("which offers no {}", word(use_words, step.use)));
      if (storage.is_unordered(level) && step.use == Use::drive) return wrong("whose coordinates come in no order: it is located");
      if (storage.is_unordered(level) && step.algorithm != Algorithm::standard)
        return wrong("whose coordinates come in no order: it is located by a look at each");
      if (storage.falls(level) && step.algorithm == Algorithm::gallop && cover_at(program, access, level) != nullptr)
        return wrong("whose starts fall: they are searched");
      if (!offers(kind, step.use, step.algorithm))
        return wrong(
            fmt::format("which {} cannot {}", word(algorithm_words, step.algorithm), word(use_words, step.use)));
      if (step.use == Use::append && storage.role == Role::output && !is_per_parent(kind) &&
          type.pos_bits != 64)
        return wrong("whose positions are 64 bits wide while an output grows");
      if (type.joined && step.use != uses[step.access][level - 1])
        return wrong(fmt::format("which the key of level {} goes on with: its modes are all driven, all located or all "
                                 "inserted",
                                 key_level(storage.levels, level)));
      if (type.joined && step.algorithm == Algorithm::sort) return wrong("sort where the key begins");
      if (step.use != Use::drive) continue;
      if (drives > 1 && is_dense(kind)) return wrong("locate it: several drivers are merged by their crd");
      if (drives == 1 && step.algorithm != Algorithm::standard && step.algorithm != Algorithm::sort)
        return wrong(fmt::format("but {} needs several drivers", word(algorithm_words, step.algorithm)));
    }
    return {};
  });
}

Expected<void> check_reset(const Program& program) {
  for (const Storage& storage : program.storages) {
    if (storage.role != Role::workspace) continue;
    for (std::size_t n = 0; n < storage.levels.size(); ++n) {
      const LevelKind kind = storage.levels[n].kind;
      // The touched list of an accumulator and the slots of a hash table belong to one fiber: below another level there
      // would be one per position, and emptying them would walk all positions.
      if (n > 0 && may_be_key(kind) && !storage.levels[n].joined)
        return unsupported(
            fmt::format("reset: level {} of workspace {} is {} below another level, so that it would be emptied once "
                        "per position: not yet",
                        n, storage.name, word(level_words, kind)));
      if (n > 0 && may_be_key(storage.levels[0].kind) && !may_be_key(kind) && is_sparse(kind))
        return unsupported(
            fmt::format("reset: level {} of workspace {} is {} below a key, whose entries hold blocks of values: dense "
                        "levels, not yet others",
                        n, storage.name, word(level_words, kind)));
      if (!is_unique(kind))
        return unsupported(
            fmt::format("reset: level {} of workspace {} is {}: a workspace of coordinates is compressed: "
                        "not yet otherwise",
                        n, storage.name, word(level_words, kind)));
    }
  }
  return {};
}

}  // namespace weft::loop
