#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"
#include "engine/loop/walk.h"

namespace weft::loop {
namespace {

/// Levels whose arrays can be shared: of one kind, and of one width where the kind has arrays.
bool share_arrays(const Level& a, const Level& b) {
  if (a.kind != b.kind || a.strided || b.strided) return false;
  if (is_listed(a.kind)) return false;
  return (!has_pos(a.kind) || a.pos_bits == b.pos_bits) && (!has_coordinates(a.kind) || a.crd_bits == b.crd_bits);
}

/// Whether the level before has a position for each of its entries: no part of a chain, or of a key, that goes on.
bool may_end_behind(const std::vector<Level>& levels, std::size_t shared) {
  return shared == levels.size() || (!is_per_parent(levels[shared].kind) && !levels[shared].joined);
}

Expected<void> check_declared(const Program& program) {
  std::set<StorageId> seen;
  for (const Fact& fact : program.facts) {
    const LikeFact* like = std::get_if<LikeFact>(&fact);
    if (like == nullptr) continue;
    for (StorageId id : {like->storage, like->pattern})
      if (id >= program.storages.size())
        return input_error(fmt::format("like: storage number {}, there are {}", id, program.storages.size()));
    const Storage& storage = program.storages[like->storage];
    const Storage& pattern = program.storages[like->pattern];
    const std::string what = fmt::format("like: like({}, {})", storage.name, pattern.name);
    if (storage.role != Role::output)
      return input_error(fmt::format("{}: {} is no output: only a result takes a pattern", what, storage.name));
    if (pattern.role != Role::input)
      return input_error(fmt::format("{}: {} is no input: only an operand has a pattern before the run", what,
                                     pattern.name));
    if (!seen.insert(like->storage).second)
      return input_error(fmt::format("{}: {} already has the pattern of an operand", what, storage.name));
    const std::size_t shared = appended_levels(storage.levels);
    if (shared > pattern.levels.size() || std::ranges::any_of(storage.levels, &Level::strided) ||
        !std::ranges::equal(std::span(storage.levels).first(shared), std::span(pattern.levels).first(shared), share_arrays))
      return input_error(fmt::format("{}: their levels differ, so that they can share no arrays", what));
    if (!may_end_behind(pattern.levels, shared))
      return input_error(fmt::format("{}: level {} of {} goes on in the one below, and has no positions of its own", what, shared - 1,
                                     pattern.name));
  }
  return {};
}

}  // namespace

Expected<void> check_like(const Program& program) {
  if (Expected<void> declared = check_declared(program); !declared) return declared;
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const std::vector<Step>& steps = steps_of(statement);
    std::vector<std::size_t> bound(program.accesses.size());
    for (const Step& step : steps) ++bound[step.access];
    const auto levels_bound = [&](AccessId access) { return path.bound[access].size() + bound[access]; };
    std::vector<std::size_t> level(program.accesses.size());
    for (const Step& step : steps) {
      const std::size_t own = path.bound[step.access].size() + level[step.access]++;
      const Access& access = program.accesses[step.access];
      const std::optional<StorageId> pattern = pattern_of(program, access.storage);
      if (!pattern) continue;
      const std::string& name = program.storages[*pattern].name;
      const std::string what = fmt::format("like: {} {}", print(program, step), where(program, path));
      if (step.use != Use::insert)
        return input_error(fmt::format("{}: {} has the positions of {}: insert", what, access.name, name));
      const std::size_t shared = appended_levels(program.storages[access.storage].levels);
      bool has_position = own >= shared;
      // An access that is bound further has forgotten its position at this level, unless the result is asked again below.
      const bool is_last = own + 1 == shared && shared < program.storages[*pattern].levels.size();
      for (AccessId other = 0; other < program.accesses.size(); ++other)
        has_position = has_position ||
                       (program.accesses[other].storage == *pattern &&
                        (is_last ? levels_bound(other) == shared : levels_bound(other) > own) &&
                        std::equal(access.indices.begin(), access.indices.begin() + static_cast<std::ptrdiff_t>(own) + 1,
                                   program.accesses[other].indices.begin()));
      if (!has_position)
        return input_error(
            fmt::format("{}: no access of {} with the same indices has its level {} bound here: level {} of {} has no "
                        "position",
                        what, name, own, own, print(program, access)));
    }
    return {};
  });
}

}  // namespace weft::loop
