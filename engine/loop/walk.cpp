#include "engine/loop/walk.h"

#include <algorithm>

#include "engine/loop/overloaded.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

Expected<void> walk_block(const Block& block, Path& path, const Visit& visit) {
  for (const Statement& statement : block) {
    if (Expected<void> visited = visit(statement, path); !visited) return visited;
    const Block* body = std::visit(Overloaded{[](const Accumulate&) -> const Block* { return nullptr; },
                                              [](const auto& nested) -> const Block* { return &nested.body; }},
                                   statement.node);
    if (body == nullptr) continue;
    const std::vector<Step>& steps = steps_of(statement);
    for (const Step& step : steps) path.bound[step.access].push_back({path.enclosing.size(), step});
    path.enclosing.push_back(&statement);
    if (Expected<void> walked = walk_block(*body, path, visit); !walked) return walked;
    path.enclosing.pop_back();
    for (const Step& step : steps) path.bound[step.access].pop_back();
  }
  return {};
}

}  // namespace

std::size_t Path::depth_of_loop(IndexId index) const {
  const auto depth_of = [&](IndexId each) {
    std::size_t depth = 0;
    while (depth < enclosing.size() && (loop(depth) == nullptr || loop(depth)->index != each)) ++depth;
    return depth;
  };
  const IndexDefinition* const definition = definition_of(*program, index);
  if (definition == nullptr) return depth_of(index);
  std::size_t last = 0;
  for (const Summand& summand : definition->of) last = std::max(last, depth_of_loop(summand.index));
  if (definition->cover && last < enclosing.size())
    if (const std::optional<std::size_t> found = depth_of_start(index)) last = std::max(last, *found);
  return last;
}

std::optional<std::size_t> Path::depth_of_start(IndexId index) const {
  for (AccessId access = 0; access < bound.size(); ++access)
    for (std::size_t level = 0; level < bound[access].size(); ++level)
      if (program->accesses[access].indices[level] == index) return bound[access][level].depth;
  return std::nullopt;
}

std::size_t Path::depth_of_with(StorageId workspace) const {
  std::size_t depth = 0;
  for (; depth < enclosing.size(); ++depth)
    if (const With* with = std::get_if<With>(&enclosing[depth]->node); with && with->workspace == workspace) break;
  return depth;
}

Expected<void> walk(const Program& program, const Visit& visit) {
  Path path{{}, std::vector<std::vector<BoundLevel>>(program.accesses.size()), &program};
  return walk_block(program.body, path, visit);
}

std::vector<PlacedAccumulate> accumulates(const Program& program) {
  std::vector<PlacedAccumulate> found;
  const Expected<void> walked = walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    if (const Accumulate* accumulate = std::get_if<Accumulate>(&statement.node)) found.push_back({accumulate, path});
    return {};
  });
  static_cast<void>(walked);  // this visitor has no error
  return found;
}

const std::vector<Step>& steps_of(const Statement& statement) {
  static const std::vector<Step> none;
  if (const For* loop = std::get_if<For>(&statement.node)) return loop->steps;
  if (const Bind* bind = std::get_if<Bind>(&statement.node)) return bind->steps;
  return none;
}

std::size_t key_modes(const std::vector<Level>& levels, std::size_t level) {
  std::size_t end = level + 1;
  while (end < levels.size() && levels[end].joined) ++end;
  return end - level;
}

std::size_t key_level(const std::vector<Level>& levels, std::size_t level) {
  while (level > 0 && levels[level].joined) --level;
  return level;
}

std::optional<StorageId> pattern_of(const Program& program, StorageId output) {
  for (const Fact& fact : program.facts)
    if (const LikeFact* like = std::get_if<LikeFact>(&fact); like != nullptr && like->storage == output)
      return like->pattern;
  return std::nullopt;
}

const IndexDefinition* definition_of(const Program& program, IndexId index) {
  const auto found = std::ranges::find(program.definitions, index, &IndexDefinition::index);
  return found == program.definitions.end() ? nullptr : &*found;
}

bool IndexDefinition::is_given_by(IndexId loop) const { return std::ranges::find(of, loop, &Summand::index) != of.end(); }

bool is_of_loop(const Program& program, IndexId index, IndexId loop) {
  const IndexDefinition* const definition = definition_of(program, index);
  return definition == nullptr ? index == loop : definition->is_given_by(loop);
}

const IndexDefinition* start_of(const Program& program, const IndexDefinition& definition) {
  for (const Summand& summand : definition.of)
    if (const IndexDefinition* const start = definition_of(program, summand.index); start != nullptr && start->cover) return start;
  return nullptr;
}

const IndexDefinition* cover_at(const Program& program, const Access& access, std::size_t level) {
  const IndexDefinition* const definition = definition_of(program, access.indices[level]);
  return definition != nullptr && definition->cover ? definition : nullptr;
}

bool is_within_block(const Program& program, const IndexDefinition& definition) {
  const IndexDefinition* const start = start_of(program, definition);
  if (start == nullptr || *start->cover == 0 || !definition.is_sum() || *definition.extent < *start->cover) return false;
  std::vector<Summand> counted = start->of;
  counted.push_back({start->index, -1});
  return definition.part.is_whole() && definition.offset == start->offset && std::ranges::is_permutation(definition.of, counted);
}

std::uint64_t given_extent(const IndexDefinition& definition, std::uint64_t of_index) {
  return definition.is_sum() ? *definition.extent : definition.part.extent(of_index);
}

bool is_at_sum(const Program& program, const Access& access, std::size_t level) {
  const IndexDefinition* const definition = definition_of(program, access.indices[level]);
  return definition != nullptr && definition->is_sum();
}

bool may_miss(const Program& program, const Access& access, std::size_t level) {
  return is_sparse(program.storages[access.storage].levels[level].kind) || is_at_sum(program, access, level);
}

bool has_given(const Program& program, const Access& access, IndexId by) {
  return std::ranges::any_of(access.indices, [&](IndexId index) { return index != by && is_of_loop(program, index, by); });
}

bool tells_presence(const Program& program, StorageId output) {
  return std::ranges::find(program.facts, Fact(PresenceFact{output})) != program.facts.end();
}

std::string where(const Program& program, const Path& path) {
  std::string names;
  std::size_t count = 0;
  for (std::size_t depth = 0; depth < path.enclosing.size(); ++depth)
    if (const For* loop = path.loop(depth)) {
      if (count++ > 0) names += ", ";
      names += loop->index < program.indices.size() ? program.indices[loop->index] : std::to_string(loop->index);
    }
  if (count == 0) return "at the root";
  return std::string(count == 1 ? "under loop " : "under loops ").append(names);
}

}  // namespace weft::loop
