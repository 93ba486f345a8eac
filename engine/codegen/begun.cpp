#include "engine/codegen/begun.h"

#include <algorithm>

#include "engine/codegen/presence.h"
#include "engine/codegen/structure.h"
#include "runtime/dense_levels.h"
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

/// Threads write parts of their own of the output, if there are several.
bool is_owned(const loop::For& root, loop::StorageId id) {
  const auto shared = std::ranges::find(root.marks.parallel, id, &loop::ParallelTarget::storage);
  return shared != root.marks.parallel.end() ? shared->reduction == loop::Reduction::owner : root.marks.parallel.empty();
}

/// A dense array that threads write parts of their own of.
bool is_plain_output(const loop::Program& program, const loop::For& root, loop::StorageId id) {
  const loop::Storage& storage = program.storages[id];
  const auto is_plain = [](const Level& level) { return is_dense(level) && !level.strided; };
  if (storage.role != loop::Role::output || storage.levels.size() < 2 || !std::ranges::all_of(storage.levels, is_plain)) return false;
  return !loop::pattern_of(program, id) && !loop::tells_presence(program, id) && is_owned(root, id);
}

bool is_begun(const loop::Program& program, const loop::For& root, loop::StorageId id) {
  if (!is_plain_output(program, root, id)) return false;
  for (loop::AccessId access = 0; access < program.accesses.size(); ++access) {
    if (program.accesses[access].storage != id) continue;
    const bool bound =
        program.accesses[access].indices[0] == root.index && std::ranges::find(root.steps, access, &loop::Step::access) != root.steps.end();
    if (!bound) return false;
  }
  return true;
}

/// Whether the one sum into an output like `pattern` is reached for each entry of that, and once: every loop around it binds a level of
/// both, driven by the pattern alone, and no step leaves coordinates out; or all of the block of an entry is written at once.
bool stores_each_entry(const loop::Program& program, const loop::Block& block, loop::StorageId id, loop::StorageId pattern,
                       Depths depths) {
  if (block.empty()) return false;
  const loop::Storage& storage = program.storages[id];
  const auto target = std::ranges::find(program.accesses, id, &loop::Access::storage) - program.accesses.begin();
  const auto shared = static_cast<std::uint32_t>(appended_levels(storage.levels));
  if (shared < storage.levels.size() && depths[static_cast<std::size_t>(target)] == shared)
    return writes_whole_block(program, block, id, shared);
  const auto leads_there = [&](const loop::Statement& statement) {
    BlockUses found = uses({statement});
    return std::ranges::any_of(found.targets, [&](loop::AccessId each) { return program.accesses[each].storage == id; });
  };
  const auto next = std::ranges::find_if(block, leads_there);
  if (next == block.end() || std::ranges::any_of(next + 1, block.end(), leads_there)) return false;
  if (const auto* sum = std::get_if<loop::Accumulate>(&next->node)) return flagged_factors(program, *sum).empty();
  if (const auto* live = std::get_if<loop::With>(&next->node)) return stores_each_entry(program, live->body, id, pattern, depths);
  const auto* each = std::get_if<loop::For>(&next->node);
  if (each == nullptr || each->marks.vector) return false;
  std::size_t written = 0;
  std::size_t walked = 0;
  for (const loop::Step& step : each->steps) {
    const loop::Access& access = program.accesses[step.access];
    const bool dense = !loop::may_miss(program, access, depths[step.access]);
    const bool of_loop = access.indices[depths[step.access]++] == each->index;  // of B[j,i] below i the loop over j binds both levels
    if (access.storage == id && of_loop)
      ++written;
    else if (access.storage == pattern && of_loop && (dense || step.use == loop::Use::drive))
      ++walked;
    else if (!dense)
      return false;
  }
  return written == 1 && walked == 1 && stores_each_entry(program, each->body, id, pattern, depths);
}

/// Positions of the level are entries: compressed ones, or those of a chain down to its last level.
bool is_of_entries(const std::vector<Level>& levels, std::size_t level) {
  if (levels[level].kind == LevelKind::compressed) return true;
  if (begins_chain(levels[level].kind)) return level + 1 < levels.size() && is_per_parent(levels[level + 1].kind);
  return level > 0 && is_per_parent(levels[level].kind) && !has_one_entry(levels[level - 1].kind, levels[level].kind);
}

/// The pattern has no positions that stand for no entry.
bool is_stored_at_positions(const loop::Program& program, const loop::For& root, loop::StorageId id) {
  const auto pattern = loop::pattern_of(program, id);
  if (!pattern || loop::tells_presence(program, id)) return false;
  const std::vector<Level>& levels = program.storages[id].levels;
  const auto shared = static_cast<std::ptrdiff_t>(appended_levels(program.storages[id].levels));
  for (std::size_t level = 0; level < static_cast<std::size_t>(shared); ++level)
    if (!is_of_entries(levels, level) && (level > 0 || !is_dense(levels[level]) || levels[level].strided)) return false;
  if (!is_owned(root, id)) return false;
  const auto is_of = [&](const loop::Access& access) { return access.storage == id; };
  if (std::ranges::count_if(program.accesses, is_of) != 1) return false;
  const std::vector<loop::IndexId>& indices = std::ranges::find_if(program.accesses, is_of)->indices;
  // No diagonal, and the operand under the same indices alone.
  for (const loop::IndexId index : indices)
    if (std::ranges::count(indices, index) != 1) return false;
  const auto reads_pattern = [&](const loop::Access& access) { return access.storage == *pattern; };
  if (std::ranges::count_if(program.accesses, reads_pattern) != 1) return false;
  const std::vector<loop::IndexId>& read = std::ranges::find_if(program.accesses, reads_pattern)->indices;
  if (!std::equal(indices.begin(), indices.begin() + shared, read.begin())) return false;
  const BlockUses all = uses(program.body);
  if (std::ranges::any_of(all.factors, [&](loop::AccessId factor) { return program.accesses[factor].storage == id; })) return false;
  return stores_each_entry(program, program.body, id, *pattern, Depths(program.accesses.size(), 0));
}

}  // namespace

bool leaves_rows_out(const loop::Program& program) {
  const auto& root = std::get<loop::For>(program.body.front().node);
  Depths depths(program.accesses.size(), 0);
  return std::ranges::any_of(root.steps, [&](const loop::Step& step) {
    const bool sparse = loop::may_miss(program, program.accesses[step.access], depths[step.access]);
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
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    if (is_begun(program, root, id))
      found.push_back({id, writes_whole_block(program, root.body, id, 1), true});
    else if (is_stored_at_positions(program, root, id) || (is_plain_output(program, root, id) && writes_each_once(program, root, id)))
      found.push_back({id, true, false});
  }
  return found;
}

}  // namespace weft
