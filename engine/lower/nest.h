// Nest: one root loop nest of a schedule, every access resolved to a storage and its indices in storage order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/program.h"
#include "engine/lower/caches.h"
#include "engine/plan/schedule/schedule.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

struct NestAccess {
  loop::StorageId storage = 0;
  std::vector<IndexId> indices;  ///< level by level
  bool operator==(const NestAccess&) const = default;
};

/// A storage of the nest. `indices` are those of its levels where the storage is a workspace (a workspace is accessed
/// with one list of indices only); empty for inputs and outputs, whose accesses may differ.
struct NestStorage {
  loop::Storage storage;
  std::uint32_t tensor = ~0u;  ///< position in Schedule::tensors; ~0u for workspaces
  std::optional<std::uint32_t> like = {};  ///< an output with the positions of this tensor of the schedule
  bool scaled = false;          ///< an output whose sums always have a coefficient word
  bool tells_presence = false;  ///< an output of order 0 whose reader has to know whether anything was accumulated into it
  std::vector<IndexId> indices;
  std::vector<IndexPart> parts = {};  ///< of an operand, by level: what it holds of the index of an access; empty: whole indices
  std::vector<ModeSum> sums = {};     ///< likewise, `mode` of the others a level
  std::vector<std::uint64_t> extents = {};  ///< of the levels, where there are sums
  bool operator==(const NestStorage&) const = default;

  bool is_sum(std::size_t level) const { return level < sums.size() && !sums[level].is_whole(); }
  bool is_cover(std::size_t level) const { return level < sums.size() && sums[level].cover.has_value(); }
  /// Whether a level drives no loop: it is located at what an index gives, or has no order.
  bool is_located(std::size_t level) const { return is_given(level) || storage.is_unordered(level); }
  bool is_given(std::size_t level) const { return is_sum(level) || (level < parts.size() && !parts[level].is_whole()); }
  /// The indices that a level of an access is bound at: its own, and those that a sum has beside it.
  std::vector<IndexId> indices_at(const NestAccess& access, std::size_t level) const {
    std::vector<IndexId> at{access.indices[level]};
    if (is_sum(level))
      for (const ModeSum::Other& other : sums[level].others) at.push_back(access.indices[other.mode]);
    return at;
  }
};

struct NestStatement {
  NestAccess target;
  std::vector<NestAccess> factors;
  double coefficient = 1;
  std::vector<IndexId> loops;  ///< outermost first
  std::uint32_t fused = 0;     ///< loops shared with the statement before
  std::optional<IndexId> vector;
  std::optional<std::uint32_t> flat = {};   ///< the depth of the loop where a flat walk begins (flat_walks.h)
  bool gathers = false;                     ///< the innermost loop sums a vector of entries at a time (gathers.h)
  std::vector<Intersection> intersections;  ///< parts count statements as `origin` does
  std::uint32_t origin = ~0u;               ///< statement of the schedule; ~0u where lowering added it
  std::optional<LevelKind> drained = {};    ///< the target is summed in a workspace of this kind first (drains.h)
  bool operator==(const NestStatement&) const = default;
};

struct Nest {
  std::vector<NestStorage> storages;
  std::vector<NestStatement> statements;
  RootReduction root = RootReduction::serial;
  CacheBytes caches = {};
  bool operator==(const Nest&) const = default;
};

/// How many loops all statements from `first` to `last` share: the least `fused` after `first`.
std::size_t shared_loops(const std::vector<NestStatement>& statements, std::size_t first, std::size_t last);

/// The last of the statements behind `first`, itself included, that share the loop at `depth` with it.
std::size_t last_sharer(const std::vector<NestStatement>& statements, std::size_t first, std::size_t depth);

/// The levels of an access that can be bound only by the loop over `index` when all other indices are bound already
/// start here; the order of the access if it has no such level.
std::size_t first_level_of(const NestAccess& access, IndexId index);

/// The nests of a schedule in the order they run. Statements that share loops but neither exchange an intermediate nor
/// feed a common one inside the nest become nests of their own. Internal errors where the schedule is no schedule: a
/// loop missing, shared loops that differ, an intermediate without producer. `finite` as lower() takes it: an intermediate of
/// order 0 between two nests tells whether it is there where its absence annihilates NaN or Inf.
Expected<std::vector<Nest>> nests(const Schedule& schedule, const Network& network, const std::vector<bool>& finite = {});

}  // namespace weft
