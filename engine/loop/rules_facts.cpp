#include <fmt/format.h>

#include <map>
#include <optional>

#include "engine/loop/overloaded.h"
#include "engine/loop/rules.h"
#include "runtime/level_traits.h"
#include "runtime/widths.h"

namespace weft::loop {
namespace {

/// A fact about a pattern or about values is re-checked on a tensor that is bound, so it is about an input.
Expected<void> check_storage(const Program& program, StorageId id, std::optional<std::uint32_t> level,
                             std::string_view fact) {
  if (id >= program.storages.size())
    return input_error(fmt::format("facts: {} of storage number {}, there are {}", fact, id, program.storages.size()));
  const Storage& storage = program.storages[id];
  if (storage.role != Role::input)
    return input_error(fmt::format("facts: {} of {}: only an input can be checked before the run", fact, storage.name));
  const bool falls = level ? storage.falls(*level) : fact == "pattern" && storage.falling != 0;
  if (falls && fact != "fiber") return input_error(fmt::format("facts: {} of {}, whose coordinates fall", fact, storage.name));
  const bool unordered = level ? storage.is_unordered(*level) : fact == "pattern" && storage.unordered != 0;
  if (unordered && fact != "fiber")
    return input_error(fmt::format("facts: {} of {}, whose coordinates come in no order", fact, storage.name));
  if (level && *level >= storage.levels.size())
    return input_error(fmt::format("facts: {} of level {} of {}, which has {} levels", fact, *level, storage.name,
                                   storage.levels.size()));
  return {};
}

Expected<void> check_told(const Program& program, StorageId id) {
  if (id >= program.storages.size())
    return input_error(fmt::format("facts: presence of storage number {}, there are {}", id, program.storages.size()));
  const Storage& storage = program.storages[id];
  if (storage.role == Role::output && storage.levels.empty()) return {};
  return input_error(fmt::format("facts: presence of {}: only an output of order 0 can be absent", storage.name));
}

/// Coordinates below an extent that a fact gives fit into the level.
Expected<void> check_width(const Program& program, const Access& access, std::size_t level, std::uint64_t extent) {
  const Storage& storage = program.storages[access.storage];
  const unsigned needed = needed_coordinate_bits(storage.levels[level].kind, extent);
  if (storage.levels[level].crd_bits >= needed) return {};
  return input_error(fmt::format("facts: extent({}) = {}, but level {} of {} has coordinates of {} bits",
                                 program.indices[access.indices[level]], extent, level, storage.name,
                                 storage.levels[level].crd_bits));
}

/// The extents that facts give to the levels of storages agree, since a level has one extent.
Expected<void> check_extents(const Program& program, const std::map<IndexId, std::uint64_t>& extents) {
  std::map<std::pair<StorageId, std::size_t>, IndexId> stated;  // level to an index whose extent is a fact
  for (const Access& access : program.accesses)
    for (std::size_t level = 0; level < access.indices.size(); ++level) {
      const IndexId index = access.indices[level];
      if (!extents.contains(index)) continue;
      if (Expected<void> wide = check_width(program, access, level, extents.at(index)); !wide) return wide;
      const IndexId other = stated.try_emplace({access.storage, level}, index).first->second;
      if (extents.at(other) != extents.at(index))
        return input_error(
            fmt::format("facts: indices {} and {} are both at level {} of {}, but extent({}) = {} and extent({}) = {}",
                        program.indices[other], program.indices[index], level, program.storages[access.storage].name,
                        program.indices[other], extents.at(other), program.indices[index], extents.at(index)));
    }
  return {};
}

}  // namespace

Expected<void> check_facts(const Program& program) {
  std::map<IndexId, std::uint64_t> extents;
  std::map<std::pair<StorageId, std::uint32_t>, std::uint64_t> fibers;
  std::map<StorageId, std::uint64_t> patterns;
  std::map<StorageId, bool> adjacent;
  for (const Fact& fact : program.facts) {
    const Expected<void> checked = std::visit(
        Overloaded{[&](const ExtentFact& f) -> Expected<void> {
                     if (f.index >= program.indices.size())
                       return input_error(fmt::format("facts: extent of index number {}, there are {}", f.index,
                                                      program.indices.size()));
                     if (extents.try_emplace(f.index, f.extent).first->second != f.extent)
                       return input_error(fmt::format("facts: extent({}) is {} and {}", program.indices[f.index],
                                                      extents[f.index], f.extent));
                     return {};
                   },
                   [&](const FullFact& f) { return check_storage(program, f.storage, f.level, "full"); },
                   [&](const FiberFact& f) -> Expected<void> {
                     if (Expected<void> named = check_storage(program, f.storage, f.level, "fiber"); !named)
                       return named;
                     const LevelKind kind = program.storages[f.storage].levels[f.level].kind;
                     if (f.exact && !is_compressed(kind))
                       return input_error(fmt::format("facts: fiber({}.{}) = {}: only compressed levels count their entries",
                                                      program.storages[f.storage].name, f.level, f.maximum));
                     if (!is_packed(kind))
                       return input_error(
                           fmt::format("facts: fiber of level {} of {}: only compressed and nonunique levels "
                                       "have fibers of their own length",
                                       f.level, program.storages[f.storage].name));
                     if (fibers.try_emplace({f.storage, f.level}, f.maximum).first->second != f.maximum)
                       return input_error(fmt::format("facts: fiber({}.{}) is bounded twice",
                                                      program.storages[f.storage].name, f.level));
                     return {};
                   },
                   [&](const AdjacentFact& f) -> Expected<void> {
                     if (Expected<void> named = check_storage(program, f.storage, f.level, "adjacent"); !named) return named;
                     if (!adjacent.try_emplace(f.storage, f.from_zero).second)
                       return input_error(fmt::format("facts: adjacent({}.{}) is stated twice", program.storages[f.storage].name, f.level));
                     const std::vector<Level>& levels = program.storages[f.storage].levels;
                     if (f.level + 1 == levels.size() && is_compressed(levels.back().kind)) return {};
                     return input_error(fmt::format("facts: adjacent({}.{}): it is said of a last level that is compressed",
                                                    program.storages[f.storage].name, f.level));
                   },
                   [&](const FiniteFact& f) { return check_storage(program, f.storage, std::nullopt, "finite"); },
                   [&](const PatternFact& f) -> Expected<void> {
                     if (Expected<void> named = check_storage(program, f.storage, std::nullopt, "pattern"); !named)
                       return named;
                     for (const Level& level : program.storages[f.storage].levels)
                       if (is_sparse(level.kind) && !is_compressed(level.kind))
                         return input_error(fmt::format("facts: pattern of {}: its levels must be dense or compressed",
                                                        program.storages[f.storage].name));
                     if (patterns.try_emplace(f.storage, f.digest).first->second != f.digest)
                       return input_error(
                           fmt::format("facts: pattern({}) is stated twice", program.storages[f.storage].name));
                     return {};
                   },
                   [&](const PresenceFact& f) { return check_told(program, f.storage); },
                   [](const LikeFact&) -> Expected<void> { return {}; }},  // the rule "like"
        fact);
    if (!checked) return checked;
  }
  for (const IndexDefinition& each : program.definitions) {
    if (extents.contains(each.index))
      return input_error(
          each.is_sum() ? fmt::format("facts: extent({}), which its definition tells", program.indices[each.index])
                        : fmt::format("facts: extent({}), which the extent of {} gives", program.indices[each.index],
                                      program.indices[each.of.front().index]));
    if (each.is_sum())
      extents[each.index] = *each.extent;
    else if (extents.contains(each.of.front().index))
      extents[each.index] = each.part.extent(extents[each.of.front().index]);
  }
  return check_extents(program, extents);
}

}  // namespace weft::loop
