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
      return kind == LevelKind::dense || kind == LevelKind::compressed || kind == LevelKind::compressed_nonunique ||
             kind == LevelKind::singleton;
    case Role::output:
      return kind == LevelKind::dense || kind == LevelKind::compressed;
    case Role::workspace:
      return kind == LevelKind::dense || kind == LevelKind::accumulator || kind == LevelKind::bitmap;
  }
  return false;
}

/// Every statement with the steps it makes itself.
Expected<void> supported_block(const Program& program, const loop::Block& block, const Depths& depths);

Expected<void> supported_steps(const Program& program, const std::vector<loop::Step>& steps, Depths& depths) {
  const Depths outside = depths;
  for (const loop::Step& step : steps) {
    const loop::Access& access = program.accesses[step.access];
    const loop::Storage& storage = program.storages[access.storage];
    if (step.use == loop::Use::append && (storage.role != Role::output || depths[step.access] != outside[step.access]))
      return not_yet("`append " + access.name + "` into a workspace or under a level bound by the same loop");
    const std::uint32_t key = key_levels(storage);
    const bool part = step.use == loop::Use::locate && depths[step.access] < key && depths[step.access] > 0;
    if (part && std::ranges::any_of(steps, [&](const loop::Step& other) {
          return other.access == step.access && other.use == loop::Use::drive;
        }))
      return not_yet("`locate " + access.name + "` in a key that a loop drives");
    ++depths[step.access];
  }
  return {};
}

Expected<void> supported_block(const Program& program, const loop::Block& block, const Depths& depths) {
  for (const loop::Statement& statement : block) {
    Depths inner = depths;
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
  if (std::ranges::any_of(program.facts, [](const loop::Fact& f) { return std::holds_alternative<loop::LikeFact>(f); }))
    return not_yet("results like an operand");
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    const loop::Storage& storage = program.storages[id];
    for (const Level& level : storage.levels)
      if (!is_written(storage, level.kind))
        return not_yet("a level of kind '" + std::string(1, letter(level.kind)) + "' in " + storage.name);
    if (is_appended(storage) && std::ranges::count(program.accesses, id, &loop::Access::storage) > 1)
      return not_yet("several accesses of the appended output " + storage.name);
  }
  return supported_block(program, program.body, Depths(program.accesses.size(), 0));
}

}  // namespace weft
