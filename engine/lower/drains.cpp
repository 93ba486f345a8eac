#include "engine/lower/drains.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

std::string workspace_name(const Nest& nest, const std::string& target) {
  std::set<std::string> used;
  for (const NestStorage& storage : nest.storages) used.insert(storage.storage.name);
  std::string name = target + "_sum";
  for (int number = 2; used.contains(name); ++number) name = fmt::format("{}_sum{}", target, number);
  return name;
}

NestStorage sums(const Nest& nest, const NestAccess& target, std::size_t first, LevelKind kind) {
  const loop::Storage& stored = nest.storages[target.storage].storage;
  NestStorage made;
  made.storage.name = workspace_name(nest, stored.name);
  made.storage.role = loop::Role::workspace;
  made.storage.scalar = stored.scalar;
  const std::size_t keys = appended_levels(stored.levels);
  for (std::size_t level = first; level < stored.levels.size(); ++level) {
    Level each;
    if (level < keys) {
      each.kind = kind;
      each.joined = level > first && !has_bits(kind);
    }
    made.storage.levels.push_back(each);
    made.indices.push_back(target.indices[level]);
  }
  return made;
}

void drain(Nest& nest, std::size_t number) {
  NestStatement& statement = nest.statements[number];
  const std::size_t depth = levels_in_order(statement);
  NestStorage storage = sums(nest, statement.target, depth, *statement.drained);
  const NestAccess access{static_cast<loop::StorageId>(nest.storages.size()), storage.indices};

  NestStatement drained;
  drained.target = statement.target;
  drained.factors = {access};
  drained.loops.assign(statement.loops.begin(), statement.loops.begin() + static_cast<std::ptrdiff_t>(depth));
  drained.loops.insert(drained.loops.end(), access.indices.begin(), access.indices.end());
  drained.fused = static_cast<std::uint32_t>(depth);
  if (!storage.storage.levels.empty() && is_dense(storage.storage.levels.back().kind)) {
    drained.vector = access.indices.back();
  }
  statement.target = access;
  statement.drained.reset();
  nest.storages.push_back(std::move(storage));
  const std::size_t end = last_sharer(nest.statements, number, depth) + 1;
  nest.statements.insert(nest.statements.begin() + static_cast<std::ptrdiff_t>(end), std::move(drained));
}

}  // namespace

std::size_t levels_in_order(const NestStatement& statement) {
  const auto differ = std::ranges::mismatch(statement.target.indices, statement.loops);
  return static_cast<std::size_t>(differ.in1 - statement.target.indices.begin());
}

bool is_appended(const NestStorage& storage) {
  return storage.storage.role == loop::Role::output && !storage.like && appended_levels(storage.storage.levels) > 0;
}

Nest with_drains(Nest nest) {
  for (std::size_t number = 0; number < nest.statements.size(); ++number) {
    if (nest.statements[number].drained) drain(nest, number);
  }
  return nest;
}

}  // namespace weft
