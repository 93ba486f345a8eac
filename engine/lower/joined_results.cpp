#include "engine/lower/joined_results.h"

#include "runtime/level_traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weft {
namespace {

using Statement = NestStatement;

bool is_dense(const NestStorage& storage) {
  return std::ranges::all_of(storage.storage.levels, [](const Level& level) { return is_dense(level.kind); });
}

bool is_operand(const NestStorage& storage, const Schedule& schedule) {
  return schedule.tensors[storage.tensor].role == TensorRole::operand;
}

/// Whether the nest stores nothing but its last statement's target, which certainly has a sum at every position it shares.
bool fills_pattern(const Nest& nest, const Schedule& schedule, const Network& network) {
  const NestStorage& result = nest.storages[nest.statements.back().target.storage];
  if (!result.like) return false;
  const bool known = std::ranges::all_of(nest.storages, [&](const NestStorage& storage) {
    if (&storage == &result) return true;
    if (storage.storage.role == loop::Role::workspace) return is_dense(storage);
    if (storage.storage.role == loop::Role::output) return false;
    return storage.tensor == *result.like || (is_dense(storage) && is_operand(storage, schedule));
  });
  return known && std::ranges::all_of(nest.statements, [&](const Statement& statement) {
           return !statement.drained && std::ranges::none_of(statement.loops, [&](IndexId index) {
             return network.indices[index].extent == 0;
           });
         });
}

/// Whether the nest is one statement that reads `tensor` once, and nothing else that is sparse or may be absent.
bool only_reads(const Nest& nest, std::uint32_t tensor, const Schedule& schedule) {
  if (nest.statements.size() != 1 || nest.statements.front().drained || !nest.statements.front().intersections.empty()) return false;
  const std::vector<NestAccess>& factors = nest.statements.front().factors;
  const auto times =
      std::ranges::count_if(factors, [&](const NestAccess& factor) { return nest.storages[factor.storage].tensor == tensor; });
  return times == 1 && std::ranges::all_of(nest.storages, [&](const NestStorage& storage) {
           if (storage.tensor == tensor) return true;
           if (storage.storage.role == loop::Role::workspace) return false;
           const bool there =
               storage.storage.role == loop::Role::output || !storage.storage.levels.empty() || is_operand(storage, schedule);
           return there && is_dense(storage) && !storage.like;
         });
}

/// Whether both statements bind the target of the first by the same outermost loops, and no other ones.
bool same_loops(const Statement& writing, const Statement& reading, const NestAccess& read) {
  const std::vector<IndexId>& indices = writing.target.indices;
  const auto depth = static_cast<std::ptrdiff_t>(indices.size());
  if (read.indices != indices || writing.loops.size() < indices.size() || reading.loops.size() < indices.size()) return false;
  const std::vector<IndexId> outer(writing.loops.begin(), writing.loops.begin() + depth);
  const auto below = [&](const std::optional<IndexId>& vector) { return !vector || std::ranges::find(outer, *vector) == outer.end(); };
  return std::equal(outer.begin(), outer.end(), reading.loops.begin()) &&
         std::set<IndexId>(outer.begin(), outer.end()) == std::set<IndexId>(indices.begin(), indices.end()) && below(writing.vector) &&
         below(reading.vector);
}

std::string unused_name(const Nest& nest, const std::string& wanted) {
  std::string name = wanted;
  const auto taken = [&] {
    return std::ranges::any_of(nest.storages, [&](const NestStorage& storage) { return storage.storage.name == name; });
  };
  for (int number = 2; taken(); ++number) name = fmt::format("{}_{}", wanted, number);
  return name;
}

loop::StorageId added(Nest& nest, NestStorage storage) {
  storage.storage.name = unused_name(nest, storage.storage.name);
  nest.storages.push_back(std::move(storage));
  return static_cast<loop::StorageId>(nest.storages.size() - 1);
}

/// The sum of an entry is a workspace of order 0, which the result and the reader take.
Nest joined(Nest nest, const Nest& reader) {
  const NestStorage result = nest.storages[nest.statements.back().target.storage];
  NestStorage entry;
  entry.storage.name = result.storage.name + "_entry";
  entry.storage.role = loop::Role::workspace;
  entry.storage.scalar = result.storage.scalar;
  const NestAccess sum{added(nest, std::move(entry)), {}};

  Statement reading = reader.statements.front();
  const auto here = [&](const NestAccess& access) {
    const NestStorage& storage = reader.storages[access.storage];
    if (storage.tensor == result.tensor) return sum;
    for (loop::StorageId known = 0; known < nest.storages.size(); ++known) {
      if (nest.storages[known].tensor == storage.tensor && nest.storages[known].storage.role == storage.storage.role)
        return NestAccess{known, access.indices};
    }
    return NestAccess{added(nest, storage), access.indices};
  };
  for (NestAccess& factor : reading.factors) factor = here(factor);
  reading.target = here(reading.target);

  Statement& writing = nest.statements.back();
  Statement storing;
  storing.target = writing.target;
  storing.factors = {sum};
  storing.fused = static_cast<std::uint32_t>(writing.target.indices.size());
  storing.loops.assign(writing.loops.begin(), writing.loops.begin() + storing.fused);
  reading.fused = storing.fused;
  writing.target = sum;
  nest.statements.push_back(std::move(storing));
  nest.statements.push_back(std::move(reading));
  return nest;
}

bool may_join(const Nest& nest, const Nest& reader, const Schedule& schedule, const Network& network) {
  const bool rows = nest.root == RootReduction::owner || nest.root == RootReduction::serial;
  if (!rows || nest.root != reader.root || !fills_pattern(nest, schedule, network)) return false;
  const Statement& writing = nest.statements.back();
  const std::uint32_t tensor = nest.storages[writing.target.storage].tensor;
  if (!only_reads(reader, tensor, schedule)) return false;
  const Statement& reading = reader.statements.front();
  const auto read =
      std::ranges::find_if(reading.factors, [&](const NestAccess& factor) { return reader.storages[factor.storage].tensor == tensor; });
  return same_loops(writing, reading, *read);
}

}  // namespace

std::vector<Nest> with_joined_results(std::vector<Nest> nests, const Schedule& schedule, const Network& network) {
  std::vector<Nest> result;
  for (Nest& nest : nests) {
    if (!result.empty() && may_join(result.back(), nest, schedule, network))
      result.back() = joined(std::move(result.back()), nest);
    else
      result.push_back(std::move(nest));
  }
  return result;
}

}  // namespace weft
