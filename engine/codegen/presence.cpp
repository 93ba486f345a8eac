#include "engine/codegen/presence.h"

#include <algorithm>
#include <optional>

#include "engine/loop/overloaded.h"
#include "engine/loop/presence.h"
#include "runtime/level_traits.h"

namespace weft {

using loop::Accumulate;
using loop::Bind;
using loop::Block;
using loop::For;
using loop::Program;
using loop::Statement;
using loop::Step;
using loop::StorageId;
using loop::Use;
using loop::With;

namespace {

const loop::Storage& storage_of(const Program& program, loop::AccessId access) {
  return program.storages[program.accesses[access].storage];
}

bool any_may_miss(const Program& program, const loop::Access& access) {
  for (std::size_t level = 0; level < access.indices.size(); ++level)
    if (loop::may_miss(program, access, level)) return true;
  return false;
}

/// Which levels the steps of one loop bind: of an access, those of the loop's index and the late ones before and after.
bool filters_nothing(const Program& program, const std::vector<Step>& steps) {
  return std::ranges::all_of(steps, [&](const Step& step) {
    if (step.use == Use::insert || step.use == Use::append) return true;
    return !any_may_miss(program, program.accesses[step.access]);
  });
}

/// The loop runs its body at least once and leaves out nothing on the way: over a known range with dense steps, or
/// driven by a level that has something stored below every position above it.
bool certainly_runs(const Program& program, const For& each) {
  const Step* driver = nullptr;
  for (const Step& step : each.steps) {
    if (step.use == Use::insert || step.use == Use::append) continue;
    const loop::Access& access = program.accesses[step.access];
    const std::vector<Level>& levels = program.storages[access.storage].levels;
    if (!any_may_miss(program, access)) continue;
    // Which of its levels the step binds is told by the index, if no other level has it.
    const auto place = std::ranges::find(access.indices, each.index);
    if (std::ranges::count(access.indices, each.index) != 1 ||
        std::ranges::count(each.steps, step.access, &Step::access) != 1)
      return false;
    const auto level = static_cast<std::size_t>(place - access.indices.begin());
    if (!is_sparse(levels[level].kind)) continue;
    const bool never_empty = step.use == Use::drive && storage_of(program, step.access).role == loop::Role::input &&
                             level > 0 && is_sparse(levels[level].kind) && is_sparse(levels[level - 1].kind);
    if (driver || !never_empty) return false;
    driver = &step;
  }
  return driver || known_extent(program, each.index).value_or(0) > 0;
}

}  // namespace

bool certainly_accumulates(const Program& program, const Block& block, StorageId storage) {
  return std::ranges::any_of(block, [&](const Statement& statement) {
    return std::visit(
        loop::Overloaded{
            [&](const For& each) {
              return certainly_runs(program, each) && certainly_accumulates(program, each.body, storage);
            },
            [&](const Bind& late) {
              return filters_nothing(program, late.steps) && certainly_accumulates(program, late.body, storage);
            },
            [&](const With& live) { return certainly_accumulates(program, live.body, storage); },
            [&](const Accumulate& sum) {
              return program.accesses[sum.target].storage == storage && flagged_factors(program, sum).empty();
            }},
        statement.node);
  });
}

std::vector<StorageId> flagged_factors(const Program& program, const Accumulate& sum) {
  std::vector<StorageId> found;
  for (const loop::AccessId factor : sum.factors) {
    const StorageId storage = program.accesses[factor].storage;
    if (std::ranges::find(found, storage) == found.end() && loop::may_be_absent(program, storage)) found.push_back(storage);
  }
  return found;
}

namespace {

bool is_target(const loop::Program& program, const loop::Accumulate& sum, loop::StorageId storage) {
  return program.accesses[sum.target].storage == storage;
}

std::size_t accumulates(const loop::Program& program, const loop::Block& block, loop::StorageId storage) {
  std::size_t count = 0;
  for (const loop::Statement& statement : block)
    std::visit(loop::Overloaded{[&](const loop::Accumulate& sum) { count += is_target(program, sum, storage) ? 1 : 0; },
                                [&](const auto& inner) { count += accumulates(program, inner.body, storage); }},
               statement.node);
  return count;
}

/// A loop over the whole range of its index: no step leaves a coordinate out.
bool visits_all(const loop::Program& program, const loop::For& each) {
  return std::ranges::all_of(each.steps, [&](const loop::Step& step) {
    const loop::Access& access = program.accesses[step.access];
    const auto place = std::ranges::find(access.indices, each.index);
    return place != access.indices.end() && std::ranges::count(access.indices, each.index) == 1 &&
           std::ranges::count(each.steps, step.access, &loop::Step::access) == 1 &&
           is_dense(program.storages[access.storage].levels[static_cast<std::size_t>(place - access.indices.begin())].kind);
  });
}

/// The levels that the loops on the way to the one accumulate bind, all of them dense; nothing if they do anything else, or if a
/// factor may be absent, where nothing is written.
std::optional<std::uint32_t> whole_levels(const loop::Program& program, const loop::Block& block, loop::StorageId storage) {
  for (const loop::Statement& statement : block) {
    if (const auto* sum = std::get_if<loop::Accumulate>(&statement.node)) {
      if (!is_target(program, *sum, storage)) continue;
      return flagged_factors(program, *sum).empty() ? std::optional<std::uint32_t>(0) : std::nullopt;
    } else if (const auto* live = std::get_if<loop::With>(&statement.node)) {
      if (accumulates(program, live->body, storage) > 0) return whole_levels(program, live->body, storage);
    } else if (const auto* each = std::get_if<loop::For>(&statement.node)) {
      if (accumulates(program, each->body, storage) == 0) continue;
      const bool binds = std::ranges::any_of(
          each->steps, [&](const loop::Step& step) { return program.accesses[step.access].storage == storage; });
      const auto inner = whole_levels(program, each->body, storage);
      return binds && inner && visits_all(program, *each) ? std::optional(*inner + 1) : std::nullopt;
    } else if (accumulates(program, std::get<loop::Bind>(statement.node).body, storage) > 0) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Whether the loops on the way to the one accumulate are over the whole extents of these indices, each once, and there are no others.
/// `depths`: levels of each access that are bound around the block.
bool are_loops_of(const loop::Program& program, const loop::Block& block, loop::StorageId storage, std::vector<loop::IndexId> left,
                  const Depths& depths) {
  const auto leads_there = [&](const loop::Statement& statement) {
    return std::visit(loop::Overloaded{[&](const loop::Accumulate& sum) { return is_target(program, sum, storage); },
                                       [&](const auto& inner) { return accumulates(program, inner.body, storage) > 0; }},
                      statement.node);
  };
  const auto next = std::ranges::find_if(block, leads_there);
  if (next == block.end()) return false;
  if (const auto* sum = std::get_if<loop::Accumulate>(&next->node)) return left.empty() && flagged_factors(program, *sum).empty();
  if (const auto* live = std::get_if<loop::With>(&next->node)) return are_loops_of(program, live->body, storage, std::move(left), depths);
  const auto* each = std::get_if<loop::For>(&next->node);
  if (each == nullptr || each->marks.flat || std::erase(left, each->index) != 1) return false;
  Depths inside = depths;
  for (const loop::Step& step : each->steps)
    if (loop::may_miss(program, program.accesses[step.access], inside[step.access]++)) return false;
  return are_loops_of(program, each->body, storage, std::move(left), inside);
}

}  // namespace

bool writes_each_once(const loop::Program& program, const loop::For& root, loop::StorageId storage) {
  const auto is_of = [&](const loop::Access& access) { return access.storage == storage; };
  if (std::ranges::count_if(program.accesses, is_of) != 1 || accumulates(program, root.body, storage) != 1) return false;
  if (!program.definitions.empty()) return false;  // loops may be clipped to where those are in range
  std::vector<loop::IndexId> left = std::ranges::find_if(program.accesses, is_of)->indices;
  if (root.marks.flat || std::erase(left, root.index) != 1) return false;
  Depths depths(program.accesses.size(), 0);
  for (const loop::Step& step : root.steps)
    if (loop::may_miss(program, program.accesses[step.access], depths[step.access]++)) return false;
  return are_loops_of(program, root.body, storage, std::move(left), depths);
}

bool writes_whole_block(const loop::Program& program, const loop::Block& block, loop::StorageId storage, std::uint32_t bound) {
  const std::vector<Level>& levels = program.storages[storage].levels;
  if (accumulates(program, block, storage) != 1) return false;
  const auto written = whole_levels(program, block, storage);
  return written && *written > 0 && bound + *written == levels.size();
}

}  // namespace weft
