#include "engine/codegen/begun.h"

#include <algorithm>

#include "engine/codegen/presence.h"
#include "engine/codegen/structure.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

/// Iterations come in the order of their coordinates, and each once.
bool visits_in_order(const loop::Program& program, const loop::For& root) {
  if (root.marks.flat) return false;
  return std::ranges::all_of(root.steps, [&](const loop::Step& step) {
    const LevelKind kind = program.storages[program.accesses[step.access].storage].levels[0].kind;
    return step.use != loop::Use::drive || !has_slots(kind) || step.algorithm == loop::Algorithm::sort;
  });
}

bool is_begun(const loop::Program& program, const loop::For& root, loop::StorageId id) {
  const loop::Storage& storage = program.storages[id];
  const auto is_plain = [](const Level& level) { return is_dense(level) && !level.strided; };
  if (storage.role != loop::Role::output || storage.levels.size() < 2 || !std::ranges::all_of(storage.levels, is_plain)) return false;
  if (loop::pattern_of(program, id) || loop::tells_presence(program, id)) return false;
  const auto shared = std::ranges::find(root.marks.parallel, id, &loop::ParallelTarget::storage);
  if (shared != root.marks.parallel.end() ? shared->reduction != loop::Reduction::owner : !root.marks.parallel.empty()) return false;
  for (loop::AccessId access = 0; access < program.accesses.size(); ++access) {
    if (program.accesses[access].storage != id) continue;
    const bool bound =
        program.accesses[access].indices[0] == root.index && std::ranges::find(root.steps, access, &loop::Step::access) != root.steps.end();
    if (!bound) return false;
  }
  return true;
}

}  // namespace

bool leaves_rows_out(const loop::Program& program) {
  const auto& root = std::get<loop::For>(program.body.front().node);
  Depths depths(program.accesses.size(), 0);
  return std::ranges::any_of(root.steps, [&](const loop::Step& step) {
    const bool sparse = !is_dense(next_level(program, step.access, depths));
    ++depths[step.access];
    return sparse;
  });
}

std::vector<BegunOutput> begun_outputs(const loop::Program& program) {
  std::vector<BegunOutput> found;
  const bool baked =
      std::ranges::any_of(program.facts, [](const loop::Fact& fact) { return std::holds_alternative<loop::PatternFact>(fact); });
  if (!is_ranged(program) || baked) return found;
  const auto& root = std::get<loop::For>(program.body.front().node);
  if (!visits_in_order(program, root)) return found;
  for (loop::StorageId id = 0; id < program.storages.size(); ++id)
    if (is_begun(program, root, id)) found.push_back({id, writes_whole_block(program, root.body, id, 1)});
  return found;
}

}  // namespace weft
