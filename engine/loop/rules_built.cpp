#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

bool is_built(const Storage& storage, LevelKind kind) {
  switch (storage.role) {
    case Role::input:
      return !is_listed(kind);
    case Role::output:
      return is_appendable(kind);
    case Role::workspace:
      return is_of_workspaces(kind);
  }
  return false;
}

bool grows(const Program& program, StorageId storage) {
  return program.storages[storage].role == Role::output && !pattern_of(program, storage) &&
         std::ranges::any_of(program.storages[storage].levels, [](const Level& level) { return is_compressed(level.kind); });
}

/// The first levels of a workspace that entries are found by.
std::size_t keyed_levels(const Storage& storage) {
  if (storage.role != Role::workspace || storage.levels.empty()) return 0;
  const LevelKind kind = storage.levels[0].kind;
  if (has_bits(kind)) return std::ranges::count(storage.levels, kind, &Level::kind) == 1 ? 1 : 0;
  return may_be_key(kind) ? key_modes(storage.levels, 0) : 0;
}

}  // namespace

Expected<void> check_built(const Program& program) {
  for (StorageId id = 0; id < program.storages.size(); ++id) {
    const Storage& storage = program.storages[id];
    for (std::size_t level = 0; level < storage.levels.size(); ++level) {
      const LevelKind kind = storage.levels[level].kind;
      if (!pattern_of(program, id) && !is_built(storage, kind))
        return unsupported(fmt::format("built: level {} of {} {} is {}: no code is written for that yet", level,
                                       word(role_words, storage.role), storage.name, word(level_words, kind)));
    }
    if (grows(program, id) && std::ranges::count(program.accesses, id, &Access::storage) > 1)
      return unsupported(fmt::format("built: {} is appended to and has several accesses: no code is written for that yet", storage.name));
  }
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    std::vector<std::size_t> bound(program.accesses.size());
    for (const Step& step : steps_of(statement)) {
      const Access& access = program.accesses[step.access];
      const Storage& storage = program.storages[access.storage];
      const std::vector<BoundLevel>& above = path.bound[step.access];
      const std::size_t level = above.size() + bound[step.access]++;
      const auto wrong = [&](std::string_view why) {
        return unsupported(fmt::format("built: {} {}: level {} of {} {}: no code is written for that yet", print(program, step),
                                       where(program, path), level, print(program, access), why));
      };
      if (step.use == Use::append && (storage.role != Role::output || level != above.size()))
        return wrong("is appended into a workspace, or under a level bound by the same loop");
      if (level == 0 || level >= keyed_levels(storage) || step.use == Use::insert) continue;
      const auto begins = std::ranges::find(steps_of(statement), step.access, &Step::access);
      const Use first = above.empty() ? begins->use : above[0].step.use;
      if ((first == Use::drive) != (step.use == Use::drive)) return wrong("goes on with a key that is driven in part");
    }
    return {};
  });
}

}  // namespace weft::loop
