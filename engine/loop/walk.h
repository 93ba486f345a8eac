// Walking a Program with what is bound at each statement: what the verifier's rules see.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// A level of an access, bound by a step of the statement at `depth` in Path::enclosing.
struct BoundLevel {
  std::size_t depth = 0;
  Step step;
};

/// Where a statement stands.
struct Path {
  std::vector<const Statement*> enclosing;     ///< outermost first, without the statement itself
  std::vector<std::vector<BoundLevel>> bound;  ///< per access: the levels that the enclosing statements bound
  const Program* program = nullptr;            ///< whose statements these are

  const For* loop(std::size_t depth) const { return std::get_if<For>(&enclosing[depth]->node); }
  /// Depth of the loop that binds an index, of the With of a workspace; enclosing.size() where there is none.
  std::size_t depth_of_loop(IndexId index) const;
  std::size_t depth_of_with(StorageId workspace) const;
  /// Depth of the step that finds a start of blocks (IndexDefinition::cover); nothing where it is not found yet.
  std::optional<std::size_t> depth_of_start(IndexId index) const;
};

using Visit = std::function<Expected<void>(const Statement&, const Path&)>;

/// Every statement, outer before inner, in text order; stops at the first error. A statement's own steps are applied to
/// the path after it was visited, so a visitor that checks access ids protects the walk.
Expected<void> walk(const Program& program, const Visit& visit);

struct PlacedAccumulate {
  const Accumulate* accumulate = nullptr;
  Path path;
};
/// All of them, in text order. The Program must satisfy the rule "binding".
std::vector<PlacedAccumulate> accumulates(const Program& program);

/// The steps of a For or a Bind; none for the others.
const std::vector<Step>& steps_of(const Statement& statement);

/// How many levels from `level` on are the modes of one key: 1, or more where the next ones are joined to it.
std::size_t key_modes(const std::vector<Level>& levels, std::size_t level);
/// The first level of the key that a level belongs to: itself unless it is joined.
std::size_t key_level(const std::vector<Level>& levels, std::size_t level);

/// "at the root", "under loop i", "under loops i, j".
std::string where(const Program& program, const Path& path);

}  // namespace weft::loop
