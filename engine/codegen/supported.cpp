// What no code is written for yet, said by name. Everything else that verifies is compiled.
#include <algorithm>

#include "engine/codegen/structure.h"

namespace weft {

namespace {

using loop::Program;
using loop::Role;

Expected<void> not_yet(const std::string& what) { return internal_error("no code is written yet for " + what); }

bool is_written(const loop::Storage& storage, LevelKind kind) {
  switch (storage.role) {
    case Role::input:
      return kind != LevelKind::accumulator;
    case Role::output:
      return kind == LevelKind::dense || kind == LevelKind::compressed;
    case Role::workspace:
      return kind == LevelKind::dense || kind == LevelKind::accumulator || kind == LevelKind::bitmap ||
             kind == LevelKind::hashed;
  }
  return false;
}

/// What is bound where a statement stands.
struct Bound {
  Depths depths;
  std::vector<bool> driven;  ///< by access: the first mode of its key
};

Expected<void> supported_steps(const Program& program, const std::vector<loop::Step>& steps, Bound& bound) {
  const Depths outside = bound.depths;
  for (const loop::Step& step : steps) {
    const loop::Access& access = program.accesses[step.access];
    const loop::Storage& storage = program.storages[access.storage];
    std::uint32_t& depth = bound.depths[step.access];
    if (step.use == loop::Use::append && (storage.role != Role::output || depth != outside[step.access]))
      return not_yet("`append " + access.name + "` into a workspace or under a level bound by the same loop");
    if (depth < key_levels(storage) && step.use != loop::Use::insert) {
      const bool drives = step.use == loop::Use::drive;
      if (depth == 0) bound.driven[step.access] = drives;
      if (drives != bound.driven[step.access])
        return not_yet("a key of " + access.name + " that is driven in part");
    }
    ++depth;
  }
  return {};
}

Expected<void> supported_block(const Program& program, const loop::Block& block, const Bound& bound) {
  for (const loop::Statement& statement : block) {
    Bound inner = bound;
    Expected<void> result;
    if (const auto* each = std::get_if<loop::For>(&statement.node)) {
      result = supported_steps(program, each->steps, inner);
      if (result) result = supported_block(program, each->body, inner);
    } else if (const auto* bind = std::get_if<loop::Bind>(&statement.node)) {
      result = supported_steps(program, bind->steps, inner);
      if (result) result = supported_block(program, bind->body, inner);
    } else if (const auto* with = std::get_if<loop::With>(&statement.node)) {
      result = supported_block(program, with->body, inner);
    }
    if (!result) return result;
  }
  return {};
}

}  // namespace

Expected<void> supported(const Program& program) {
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    const loop::Storage& storage = program.storages[id];
    for (const Level& level : storage.levels)
      if (!loop::pattern_of(program, id) && !is_written(storage, level.kind))
        return not_yet("a level of kind '" + std::string(1, letter(level.kind)) + "' in " + storage.name);
    if (is_appended(program, id) && std::ranges::count(program.accesses, id, &loop::Access::storage) > 1)
      return not_yet("several accesses of the appended output " + storage.name);
  }
  const std::size_t accesses = program.accesses.size();
  return supported_block(program, program.body, {Depths(accesses, 0), std::vector<bool>(accesses, false)});
}

}  // namespace weft
