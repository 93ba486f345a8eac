#include "engine/codegen/structure.h"

#include <algorithm>

#include "engine/codegen/joined.h"
#include "engine/codegen/presence.h"
#include "engine/loop/flat_walk.h"
#include "engine/loop/overloaded.h"
#include "engine/loop/short_fiber.h"
#include "runtime/extents.h"
#include "runtime/level_traits.h"

namespace weft {

using loop::Accumulate;
using loop::Bind;
using loop::Block;
using loop::For;
using loop::Program;
using loop::Statement;
using loop::Step;
using loop::Use;
using loop::With;

namespace {

void add_once(std::vector<std::uint32_t>& ids, std::uint32_t id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
}

void collect(const Block& block, BlockUses& found);

void collect(const Statement& statement, BlockUses& found) {
  std::visit(loop::Overloaded{[&](const For& each) { collect(each.body, found); },
                              [&](const Bind& bind) { collect(bind.body, found); },
                              [&](const With& with) {
                                add_once(found.workspaces, with.workspace);
                                collect(with.body, found);
                              },
                              [&](const Accumulate& sum) {
                                add_once(found.targets, sum.target);
                                for (const loop::AccessId factor : sum.factors) add_once(found.factors, factor);
                              }},
             statement.node);
}

void collect(const Block& block, BlockUses& found) {
  for (const Statement& statement : block) collect(statement, found);
}

bool uses_storage(const Program& program, const std::vector<loop::AccessId>& accesses, loop::StorageId storage) {
  return std::ranges::any_of(accesses,
                             [&](loop::AccessId access) { return program.accesses[access].storage == storage; });
}

std::uint32_t steps_on(const For& each, loop::AccessId access) {
  return static_cast<std::uint32_t>(std::ranges::count(each.steps, access, &Step::access));
}

/// The first level a vector loop binds of an access, all of whose levels are bound inside it.
std::uint32_t first_level(const Program& program, const For& each, loop::AccessId access) {
  return static_cast<std::uint32_t>(program.accesses[access].indices.size()) - steps_on(each, access);
}

/// Contiguous in the loop's index, or independent of it.
bool is_vector_target(const Program& program, const For& each, loop::AccessId target) {
  const loop::Access& access = program.accesses[target];
  const std::vector<Level>& levels = program.storages[access.storage].levels;
  for (std::uint32_t level = first_level(program, each, target); level < levels.size(); ++level)
    if (access.indices[level] == each.index && (level + 1 != levels.size() || levels[level].strided)) return false;
  return true;
}

bool touches_only_in_vector_loops(const Program& program, loop::StorageId storage, const Block& block) {
  const auto on_storage = [&](const Step& step) { return program.accesses[step.access].storage == storage; };
  return std::ranges::all_of(block, [&](const Statement& statement) {
    return std::visit(
        loop::Overloaded{[&](const For& each) {
                           if (std::ranges::any_of(each.steps, on_storage) && !is_vector_loop(program, each))
                             return false;
                           for (const Step& step : each.steps)
                             if (on_storage(step) && program.accesses[step.access].indices[0] != each.index)
                               return false;
                           return touches_only_in_vector_loops(program, storage, each.body);
                         },
                         [&](const Bind& bind) {
                           return std::ranges::none_of(bind.steps, on_storage) &&
                                  touches_only_in_vector_loops(program, storage, bind.body);
                         },
                         [&](const With& with) { return touches_only_in_vector_loops(program, storage, with.body); },
                         [&](const Accumulate&) { return true; }},
        statement.node);
  });
}

/// Products of scalars, within loops that are written out or none.
bool has_scalars_alone(const Program& program, const Block& block) {
  return std::ranges::all_of(block, [&](const Statement& statement) {
    const auto* inner = std::get_if<For>(&statement.node);
    return inner ? !is_vector_loop(program, *inner) && joined_loops(program, *inner).empty() && has_scalars_alone(program, inner->body)
                 : std::holds_alternative<Accumulate>(statement.node);
  });
}

/// The index of the unrolled vector loops, or of loops that are written out, that bind the last level of `access` inside the block, if
/// these are the only steps on it and they all agree.
struct RowSearch {
  const Program& program;
  loop::AccessId access;
  std::optional<loop::IndexId> row = {};
  bool possible = true;
  bool scalars = false;

  void visit(const Block& block) {
    for (const Statement& statement : block)
      std::visit(loop::Overloaded{[&](const For& each) { visit(each); },
                                  [&](const Bind& bind) {
                                    if (std::ranges::count(bind.steps, access, &Step::access) > 0) possible = false;
                                    visit(bind.body);
                                  },
                                  [&](const With& with) { visit(with.body); }, [&](const Accumulate&) {}},
                 statement.node);
  }

  void visit(const For& each) {
    const std::uint32_t steps = steps_on(each, access);
    if (steps > 0) {
      const bool lanes = is_lane_loop(program, each);
      const bool written =
          !lanes && is_written_out(program, each) && joined_loops(program, each).empty() && has_scalars_alone(program, each.body);
      const bool fits = steps == 1 && (lanes || written || (is_vector_loop(program, each) && is_unrolled(program, each.index))) &&
                        program.accesses[access].indices.back() == each.index && (!row || (*row == each.index && scalars == written));
      if (fits)
        row = each.index;
      else
        possible = false;
      scalars = written;
    }
    visit(each.body);
  }
};

/// The key of the workspace is looked up inside.
bool locates(const Program& program, const Block& block, loop::StorageId workspace) {
  const auto by = [&](const std::vector<Step>& steps) {
    return std::ranges::any_of(steps, [&](const Step& step) {
      return program.accesses[step.access].storage == workspace && step.use != Use::insert;
    });
  };
  return std::ranges::any_of(block, [&](const Statement& statement) {
    return std::visit(
        loop::Overloaded{[&](const For& each) { return by(each.steps) || locates(program, each.body, workspace); },
                         [&](const Bind& bind) { return by(bind.steps) || locates(program, bind.body, workspace); },
                         [&](const With& with) { return locates(program, with.body, workspace); },
                         [](const Accumulate&) { return false; }},
        statement.node);
  });
}

bool block_may_skip(const Program& program, const Block& block, const Depths& depths);

bool steps_may_skip(const Program& program, std::span<const Step> steps, Depths& depths) {
  bool skips = false;
  std::uint32_t sparse_drivers = 0;
  for (const Step& step : steps) {
    const bool sparse = is_sparse(next_level(program, step.access, depths).kind);
    if (step.use == Use::drive && sparse) ++sparse_drivers;
    if (step.use == Use::locate && loop::may_miss(program, program.accesses[step.access], depths[step.access])) skips = true;
    ++depths[step.access];
  }
  return skips || sparse_drivers > 1;
}

bool block_may_skip(const Program& program, const Block& block, const Depths& depths) {
  return std::ranges::any_of(block, [&](const Statement& statement) {
    return std::visit(loop::Overloaded{[&](const For& each) { return may_skip(program, each, each.steps, depths); },
                                       [&](const Bind& bind) {
                                         Depths inner = depths;
                                         return steps_may_skip(program, bind.steps, inner) ||
                                                block_may_skip(program, bind.body, inner);
                                       },
                                       [&](const With& with) { return block_may_skip(program, with.body, depths); },
                                       [&](const Accumulate&) { return false; }},
                      statement.node);
  });
}

}  // namespace

std::optional<std::uint64_t> known_extent(const Program& program, loop::IndexId index) {
  for (const loop::Fact& fact : program.facts)
    if (const auto* extent = std::get_if<loop::ExtentFact>(&fact); extent && extent->index == index)
      return extent->extent;
  const loop::IndexDefinition* const definition = loop::definition_of(program, index);
  if (definition != nullptr && definition->is_sum()) return definition->extent;
  if (definition != nullptr)
    if (const auto extent = known_extent(program, definition->of.front().index)) return definition->part.extent(*extent);
  return std::nullopt;
}

bool is_full(const Program& program, loop::StorageId storage, std::uint32_t level) {
  return std::ranges::any_of(program.facts, [&](const loop::Fact& fact) {
    const auto* full = std::get_if<loop::FullFact>(&fact);
    return full && full->storage == storage && full->level == level;
  });
}

bool is_unrolled(const Program& program, loop::IndexId index) {
  return known_extent(program, index).value_or(register_elements + 1) <= register_elements;
}

bool contains_loop(const Block& block) {
  return std::ranges::any_of(block, [](const Statement& statement) {
    return std::visit(
        loop::Overloaded{[](const For&) { return true; }, [](const Bind& bind) { return contains_loop(bind.body); },
                         [](const With& with) { return contains_loop(with.body); },
                         [](const Accumulate&) { return false; }},
        statement.node);
  });
}

/// Whether two statements of the loop sum into one storage, which has one running sum: s += a(i); s += b(i).
bool shares_sum(const Program& program, const For& each) {
  std::vector<loop::StorageId> summed;
  for (const Statement& statement : each.body) {
    const loop::AccessId target = std::get<Accumulate>(statement.node).target;
    if (std::ranges::count(each.steps, target, &Step::access) > 0) continue;
    const loop::StorageId storage = program.accesses[target].storage;
    if (std::ranges::find(summed, storage) != summed.end()) return true;
    summed.push_back(storage);
  }
  return false;
}

bool is_vector_loop(const Program& program, const For& each) {
  if (!each.marks.vector || each.body.empty()) return false;
  if (!std::ranges::all_of(
          each.body, [](const Statement& statement) { return std::holds_alternative<Accumulate>(statement.node); }))
    return false;
  if (shares_sum(program, each)) return false;
  const BlockUses found = uses(each.body);
  for (const Step& step : each.steps) {
    if (step.use == Use::append) return false;
    if (std::ranges::find(found.targets, step.access) == found.targets.end() &&
        std::ranges::find(found.factors, step.access) == found.factors.end())
      return false;
    const std::vector<Level>& levels = program.storages[program.accesses[step.access].storage].levels;
    for (std::uint32_t level = first_level(program, each, step.access); level < levels.size(); ++level)
      if (loop::may_miss(program, program.accesses[step.access], level)) return false;
  }
  const auto flagged = [&](const Statement& statement) {
    return flagged_factors(program, std::get<Accumulate>(statement.node));
  };
  // What may be absent is asked for once, before the loop.
  for (std::size_t n = 1; n < each.body.size(); ++n)
    if (flagged(each.body[n]) != flagged(each.body[0])) return false;
  return std::ranges::all_of(found.targets, [&](loop::AccessId target) {
    return is_vector_target(program, each, target) &&
           !uses_storage(program, found.factors, program.accesses[target].storage);
  });
}

const loop::AdjacentFact* adjacent_fact(const Program& program, loop::StorageId storage) {
  for (const loop::Fact& fact : program.facts)
    if (const auto* adjacent = std::get_if<loop::AdjacentFact>(&fact); adjacent && adjacent->storage == storage) return adjacent;
  return nullptr;
}

bool adds_up_values(const Program& program, const For& each) {
  if (!loop::asks_for_no_coordinate(program, each)) return false;
  const loop::Storage& storage = program.storages[program.accesses[each.steps.front().access].storage];
  return storage.role == loop::Role::input && storage.place_bits == 0 && each.steps.front().use == Use::drive &&
         !has_gaps(storage.levels.back().kind);
}

bool is_adjacent_loop(const Program& program, const For& each) {
  if (each.body.empty() || each.marks.flat || each.marks.batch > 0) return false;
  if (is_ranged(program) && &each == &std::get<For>(program.body.front().node)) return false;
  if (!std::ranges::all_of(each.body, [](const Statement& statement) { return std::holds_alternative<Accumulate>(statement.node); }))
    return false;
  if (shares_sum(program, each)) return false;
  std::size_t drivers = 0;
  for (const Step& step : each.steps) {
    const loop::Access& access = program.accesses[step.access];
    const loop::Storage& storage = program.storages[access.storage];
    const bool along = std::ranges::find(access.indices, each.index) != access.indices.end();
    if (loop::has_given(program, access, each.index)) return false;
    if (along && (access.indices.back() != each.index || std::ranges::count(access.indices, each.index) != 1)) return false;
    if (step.use == Use::drive && along && is_sparse(storage.levels.back().kind)) {
      const bool adjacent = adjacent_fact(program, access.storage) != nullptr || adds_up_values(program, each);
      if (!adjacent || steps_on(each, step.access) != 1 || ++drivers > 1) return false;
      continue;
    }
    if (step.use == Use::append || (storage.role == loop::Role::workspace && in_registers(program, access.storage))) return false;
    for (std::uint32_t level = first_level(program, each, step.access); level < storage.levels.size(); ++level)
      if (loop::may_miss(program, access, level)) return false;
  }
  if (drivers != 1) return false;
  const BlockUses found = uses(each.body);
  if (std::ranges::any_of(each.body, [&](const Statement& statement) {
        return !flagged_factors(program, std::get<Accumulate>(statement.node)).empty();
      }))
    return false;
  return std::ranges::all_of(found.targets, [&](loop::AccessId target) {
    const loop::StorageId id = program.accesses[target].storage;
    const std::vector<Level>& levels = program.storages[id].levels;
    const bool along = steps_on(each, target) > 0;
    return std::ranges::all_of(levels, [](const Level& level) { return is_dense(level); }) && !(along && levels.back().strided) &&
           (levels.empty() || !in_registers(program, id)) && !uses_storage(program, found.factors, id);
  });
}

bool in_registers(const Program& program, loop::StorageId storage) {
  const loop::Storage& workspace = program.storages[storage];
  if (workspace.levels.size() > 1) return is_register_tile(program, storage);
  if (workspace.role != loop::Role::workspace) return false;
  if (workspace.levels.empty()) return true;
  const auto access = std::ranges::find(program.accesses, storage, &loop::Access::storage);
  return access != program.accesses.end() && is_dense(workspace.levels[0].kind) &&
         std::ranges::all_of(
             program.accesses,
             [&](const loop::Access& other) { return other.storage != storage || other.indices == access->indices; }) &&
         (is_unrolled(program, access->indices[0]) || is_blocked_row(program, storage)) &&
         touches_only_in_vector_loops(program, storage, program.body);
}

namespace {

bool has_one_entry(const Program& program, loop::StorageId storage, std::uint32_t level) {
  const auto fiber = loop::short_fiber(program, storage, level);
  return fiber && fiber->exact && fiber->maximum == 1;
}

/// A level with one entry at each position drives the loop, which then is none: j of {dense, singleton} B[i,j].
bool goes_over_one_entry(const Program& program, const For& each) {
  std::size_t drivers = 0;
  for (const Step& step : each.steps) {
    if (step.use != Use::drive) continue;
    const loop::Access& access = program.accesses[step.access];
    const auto level = static_cast<std::uint32_t>(std::ranges::find(access.indices, each.index) - access.indices.begin());
    if (level >= access.indices.size() || !has_one_entry(program, access.storage, level)) return false;
    ++drivers;
  }
  return drivers == 1;
}

/// Vectors and scalars that a written loop is; more than written_parts where it cannot be written.
std::uint64_t parts_of(const Program& program, const For& each) {
  const std::uint64_t never = written_parts + 1;
  const std::uint64_t extent = known_extent(program, each.index).value_or(never);
  if (is_vector_loop(program, each)) return is_unrolled(program, each.index) ? (extent + 7) / 8 : never;
  const bool plain = each.marks.parallel.empty() && !each.marks.flat && each.marks.batch == 0;
  const bool one_entry = goes_over_one_entry(program, each);
  if (!plain || (extent > written_iterations && !one_entry) || each.body.empty()) return never;
  for (const Step& step : each.steps) {
    const loop::Access& access = program.accesses[step.access];
    const std::vector<Level>& levels = program.storages[access.storage].levels;
    for (std::uint32_t level = 0; level < levels.size(); ++level)
      if (loop::is_at_sum(program, access, level)) return never;
    auto first = static_cast<std::uint32_t>(std::ranges::find(access.indices, each.index) - access.indices.begin());
    if (one_entry && step.use == Use::drive) ++first;
    for (std::uint32_t level = first; level < levels.size(); ++level) {
      if (step.use == Use::append || !(is_dense(levels[level]) || (level > first && has_one_entry(program, access.storage, level))))
        return never;
    }
  }
  std::uint64_t parts = 0;
  for (const Statement& statement : each.body) {
    const auto* inner = std::get_if<For>(&statement.node);
    if (inner == nullptr && !std::holds_alternative<Accumulate>(statement.node)) return never;
    parts += inner != nullptr ? parts_of(program, *inner) : 1;
  }
  return std::min(never, one_entry ? parts : parts * extent);
}

/// Every loop that has a step on the access goes over the index of the level it binds: the last in vector loops, the others written out.
bool binds_tile(const Program& program, const Block& block, loop::StorageId storage) {
  const auto on_storage = [&](const Step& step) { return program.accesses[step.access].storage == storage; };
  return std::ranges::all_of(block, [&](const Statement& statement) {
    return std::visit(loop::Overloaded{[&](const For& each) {
                                         if (std::ranges::any_of(each.steps, on_storage)) {
                                           const std::vector<loop::IndexId>& indices =
                                               program.accesses[std::ranges::find_if(each.steps, on_storage)->access].indices;
                                           const bool last = each.index == indices.back();
                                           const bool own = std::ranges::find(indices, each.index) != indices.end();
                                           if (!own || std::ranges::count_if(each.steps, on_storage) != 1) return false;
                                           if (last ? !is_vector_loop(program, each) : !is_written_out(program, each)) return false;
                                         }
                                         return binds_tile(program, each.body, storage);
                                       },
                                       [&](const Bind& bind) {
                                         return std::ranges::none_of(bind.steps, on_storage) && binds_tile(program, bind.body, storage);
                                       },
                                       [&](const With& with) { return binds_tile(program, with.body, storage); },
                                       [&](const Accumulate&) { return true; }},
                      statement.node);
  });
}

}  // namespace

namespace {

const With* with_of(const Block& block, loop::StorageId workspace) {
  for (const Statement& statement : block) {
    const auto* live = std::get_if<With>(&statement.node);
    if (live != nullptr && live->workspace == workspace) return live;
    const With* inside = std::visit(
        [&](const auto& nested) -> const With* {
          if constexpr (requires { nested.body; }) return with_of(nested.body, workspace);
          return nullptr;
        },
        statement.node);
    if (inside != nullptr) return inside;
  }
  return nullptr;
}

bool binds_sparse_level(const Program& program, const For& each) {
  return std::ranges::any_of(each.steps, [&](const Step& step) {
    const loop::Access& access = program.accesses[step.access];
    for (std::size_t at = 0; at < access.indices.size(); ++at)
      if (loop::is_at_sum(program, access, at)) return true;
    const auto level = std::ranges::find(access.indices, each.index);
    return level != access.indices.end() &&
           is_sparse(program.storages[access.storage].levels[static_cast<std::size_t>(level - access.indices.begin())].kind);
  });
}

/// Loops over dense levels with nothing inside but a vector loop, which they may be joined with.
bool is_around_vector_loop(const Program& program, const For& each) {
  const auto* inner = each.body.size() == 1 ? std::get_if<For>(&each.body.front().node) : nullptr;
  return inner != nullptr && !binds_sparse_level(program, each) &&
         (is_vector_loop(program, *inner) || is_around_vector_loop(program, *inner));
}

/// Loops that are joined with a vector loop know no parts. Those that touch a row of unknown extent are not joined with it (joined_loops).
bool keeps_apart(const Program& program, const For& each, loop::StorageId row, bool known) {
  if (known) return joined_loops(program, each).empty();
  const BlockUses inside = uses(each.body);
  return !is_around_vector_loop(program, each) || uses_storage(program, inside.factors, row) || uses_storage(program, inside.targets, row);
}

/// Nothing in the block adds anything but in vector loops over the index of the row, or makes entries, so that it may run for a part of
/// these alone.
bool runs_in_parts(const Program& program, const Block& block, loop::StorageId row, loop::IndexId index, bool known) {
  const auto makes = [&](const Step& step) {
    const std::vector<Level>& levels = program.storages[program.accesses[step.access].storage].levels;
    return step.use == Use::append ||
           (step.use == Use::insert && !std::ranges::all_of(levels, [](const Level& level) { return is_dense(level); }));
  };
  const auto inside = [&](const Block& body) { return runs_in_parts(program, body, row, index, known); };
  return std::ranges::all_of(block, [&](const Statement& statement) {
    return std::visit(
        loop::Overloaded{
            [&](const For& each) {
              if (std::ranges::any_of(each.steps, makes)) return false;
              if (each.index == index) return is_vector_loop(program, each);
              return each.marks.batch == 0 && !is_vector_loop(program, each) && keeps_apart(program, each, row, known) &&
                     inside(each.body);
            },
            [&](const Bind& bind) { return std::ranges::none_of(bind.steps, makes) && inside(bind.body); },
            [&](const With& live) { return inside(live.body); }, [&](const Accumulate&) { return false; }},
        statement.node);
  });
}

}  // namespace

bool is_blocked_row(const Program& program, loop::StorageId storage) {
  const loop::Storage& row = program.storages[storage];
  const With* live = with_of(program.body, storage);
  if (live == nullptr || row.levels.size() != 1 || !is_dense(row.levels[0])) return false;
  const loop::IndexId index = std::ranges::find(program.accesses, storage, &loop::Access::storage)->indices[0];
  const std::optional<std::uint64_t> extent = known_extent(program, index);
  const bool suits = !extent || (*extent > register_elements && *extent <= blocked_elements);
  return suits && runs_in_parts(program, live->body, storage, index, extent.has_value());
}

bool is_windowed_row(const Program& program, loop::StorageId storage) {
  if (program.storages[storage].role != loop::Role::workspace || program.storages[storage].levels.size() != 1) return false;
  const auto access = std::ranges::find(program.accesses, storage, &loop::Access::storage);
  return access != program.accesses.end() && !known_extent(program, access->indices[0]) && in_registers(program, storage);
}

bool is_written_out(const Program& program, const For& each) {
  return !is_vector_loop(program, each) && !goes_over_one_entry(program, each) && parts_of(program, each) <= written_parts;
}

bool stands_side_by_side(const Program& program, loop::AccessId access, const For& lane_loop) {
  const loop::Access& read = program.accesses[access];
  const std::vector<Level>& levels = program.storages[read.storage].levels;
  const auto level = static_cast<std::size_t>(std::ranges::find(read.indices, lane_loop.index) - read.indices.begin());
  const auto& inner = std::get<For>(lane_loop.body.front().node);
  const std::size_t bound_here = steps_on(lane_loop, access) + steps_on(inner, access);
  return level < levels.size() && bound_here == levels.size() - level && is_dense(levels[level]) && !levels[level].strided &&
         std::ranges::all_of(levels.begin() + static_cast<std::ptrdiff_t>(level) + 1, levels.end(),
                             [](const Level& below) { return below.kind == LevelKind::singleton; });
}

bool is_lane_loop(const Program& program, const For& each) {
  const auto* inner = each.body.size() == 1 ? std::get_if<For>(&each.body.front().node) : nullptr;
  if (inner == nullptr || inner->body.size() != 1 || !goes_over_one_entry(program, *inner)) return false;
  const auto* sum = std::get_if<Accumulate>(&inner->body.front().node);
  if (known_extent(program, each.index).value_or(0) < fewest_lanes || sum == nullptr || sum->factors.empty() ||
      !flagged_factors(program, *sum).empty()) {
    return false;
  }
  const loop::Access& target = program.accesses[sum->target];
  const std::vector<Level>& row = program.storages[target.storage].levels;
  if (row.empty() || !is_dense(row.back()) || row.back().strided || target.indices.back() != each.index ||
      steps_on(each, sum->target) != 1 || steps_on(*inner, sum->target) != 0) {
    return false;
  }
  const auto is_input = [&](loop::AccessId factor) { return program.storages[program.accesses[factor].storage].role == loop::Role::input; };
  const auto finds_all = [&](const Step& step) {
    const loop::Access& access = program.accesses[step.access];
    const std::vector<Level>& levels = program.storages[access.storage].levels;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      const bool own = access.indices[level] == inner->index;
      if (own && step.use != Use::drive && (!is_dense(levels[level]) || loop::may_miss(program, access, level))) return false;
    }
    return true;
  };
  return std::ranges::all_of(sum->factors, is_input) && std::ranges::all_of(inner->steps, finds_all) && is_written_out(program, each);
}

bool is_register_tile(const Program& program, loop::StorageId storage) {
  const loop::Storage& workspace = program.storages[storage];
  if (workspace.role != loop::Role::workspace || workspace.levels.size() < 2) return false;
  const auto access = std::ranges::find(program.accesses, storage, &loop::Access::storage);
  if (access == program.accesses.end()) return false;
  std::uint64_t elements = 1;
  for (const loop::IndexId index : access->indices) {
    const std::optional<std::uint64_t> extent = known_extent(program, index);
    if (!extent) return false;  // also beside an extent of 0
    elements = saturating_product(elements, *extent);
  }
  return elements <= register_elements && std::ranges::all_of(workspace.levels, [](const Level& level) { return is_dense(level); }) &&
         std::ranges::all_of(program.accesses,
                             [&](const loop::Access& other) { return other.storage != storage || other.indices == access->indices; }) &&
         binds_tile(program, program.body, storage);
}

bool may_skip(const Program& program, const For& each, std::span<const Step> own, const Depths& depths) {
  Depths inner = depths;
  return steps_may_skip(program, own, inner) || block_may_skip(program, each.body, inner);
}

std::vector<Hold> holds(const Program& program, const For& each, std::span<const Step> own, const Depths& depths) {
  std::vector<Hold> found;
  const BlockUses inside = uses(each.body);
  for (const loop::AccessId target : inside.targets) {
    const loop::Access& access = program.accesses[target];
    const loop::Storage& storage = program.storages[access.storage];
    const bool alone = !uses_storage(program, inside.factors, access.storage) &&
                       std::ranges::none_of(inside.targets, [&](loop::AccessId other) {
                         return other != target && program.accesses[other].storage == access.storage;
                       });
    if (!alone || std::ranges::find(inside.workspaces, access.storage) != inside.workspaces.end() ||
        in_registers(program, access.storage))
      continue;
    if (depths[target] == storage.levels.size()) {
      found.push_back({target, std::nullopt});
    } else if (depths[target] + 1 == storage.levels.size() && !storage.levels.back().strided &&
               is_dense(storage.levels.back().kind)) {
      RowSearch search{program, target};
      search.visit(each);
      // A row costs its loads and stores even if nothing is added to it, so it is held only where something always is.
      const bool around = search.row && *search.row != each.index && !is_vector_loop(program, each);
      if (search.possible && around && !may_skip(program, each, own, depths))
        found.push_back({target, search.row, search.scalars});
    }
  }
  return found;
}

std::vector<SteadyRow> steady_rows(const Program& program, const For& each, const Depths& depths) {
  std::vector<SteadyRow> found;
  if (is_vector_loop(program, each)) return found;
  for (const loop::AccessId factor : uses(each.body).factors) {
    const loop::Storage& storage = program.storages[program.accesses[factor].storage];
    if (storage.role != loop::Role::input || depths[factor] + 1 != storage.levels.size() || storage.levels.back().strided ||
        is_sparse(storage.levels.back().kind))
      continue;
    RowSearch search{program, factor, std::nullopt};
    search.visit(each);
    if (search.possible && search.row) found.push_back({factor, *search.row});
  }
  return found;
}

const For* last_drain(const Program& program, const With& live) {
  if (key_levels(program.storages[live.workspace]) != 1 || live.body.empty()) return nullptr;
  const auto* each = std::get_if<For>(&live.body.back().node);
  if (!each) return nullptr;
  std::uint32_t drivers = 0;
  bool drives = false;
  for (const Step& step : each->steps) {
    const bool own = program.accesses[step.access].storage == live.workspace;
    if (step.use == Use::drive) {
      ++drivers;
      drives = drives || own;
    } else if (own) {
      return nullptr;
    }
  }
  return drives && drivers == 1 && !locates(program, each->body, live.workspace) ? each : nullptr;
}

bool is_ranged(const Program& program) {
  return program.body.size() == 1 && std::holds_alternative<For>(program.body.front().node);
}

std::vector<Step> makers_last(const Program& program, std::span<const Step> steps, const Depths& outside) {
  std::vector<loop::AccessId> makers;
  Depths depths = outside;
  for (const Step& step : steps) {
    const bool makes = step.use == Use::insert || step.use == Use::append;
    const bool follows = loop::pattern_of(program, program.accesses[step.access].storage).has_value();
    if (makes && (follows || is_sparse(next_level(program, step.access, depths).kind))) add_once(makers, step.access);
    ++depths[step.access];
  }
  std::vector<Step> result;
  for (const bool making : {false, true})
    for (const Step& step : steps)
      if (making == (std::ranges::find(makers, step.access) != makers.end())) result.push_back(step);
  return result;
}

const Level& next_level(const Program& program, loop::AccessId access, const Depths& depths) {
  return program.storages[program.accesses[access].storage].levels[depths[access]];
}

bool is_run_level(const loop::Storage& storage, std::uint32_t level) {
  const LevelKind kind = storage.levels[level].kind;
  if (level + 1 >= storage.levels.size()) return false;
  if (storage.levels[level + 1].joined) return true;
  return !is_unique(kind) && is_per_parent(storage.levels[level + 1].kind);
}

bool is_appended(const Program& program, loop::StorageId storage) {
  return program.storages[storage].role == loop::Role::output && !loop::pattern_of(program, storage) &&
         std::ranges::any_of(program.storages[storage].levels,
                             [](const Level& level) { return is_compressed(level.kind); });
}

std::uint32_t key_levels(const loop::Storage& storage) {
  if (storage.role != loop::Role::workspace || storage.levels.empty()) return 0;
  const LevelKind kind = storage.levels[0].kind;
  if (has_bits(kind) && std::ranges::count(storage.levels, kind, &Level::kind) == 1) return 1;
  if (!may_be_key(kind)) return 0;
  std::uint32_t levels = 1;
  while (levels < storage.levels.size() && storage.levels[levels].joined) ++levels;
  return levels;
}

bool is_hashed(const loop::Storage& storage) {
  return storage.role == loop::Role::workspace && !storage.levels.empty() && has_slots(storage.levels[0].kind);
}

std::uint32_t touched_bytes(const loop::Storage& storage) {
  return key_levels(storage) > 1 ? 8 : storage.levels[0].crd_bits / 8;
}

namespace {

bool reads_in_order_only(const Program& program, const Block& block, loop::StorageId storage, const Depths& depths) {
  const auto steps_in_order = [&](const std::vector<Step>& steps, Depths& inner) {
    return std::ranges::all_of(steps, [&](const Step& step) {
      const bool first = inner[step.access]++ == 0;
      if (program.accesses[step.access].storage != storage || step.use == Use::insert) return true;
      const bool in_key = inner[step.access] <= key_levels(program.storages[storage]);
      return step.use == Use::drive ? !first || step.algorithm == loop::Algorithm::sort : !in_key;
    });
  };
  return std::ranges::all_of(block, [&](const Statement& statement) {
    Depths inner = depths;
    return std::visit(
        loop::Overloaded{
            [&](const For& each) { return steps_in_order(each.steps, inner) && reads_in_order_only(program, each.body, storage, inner); },
            [&](const Bind& bind) { return steps_in_order(bind.steps, inner) && reads_in_order_only(program, bind.body, storage, inner); },
            [&](const With& live) { return reads_in_order_only(program, live.body, storage, inner); },
            [&](const Accumulate&) { return true; }},
        statement.node);
  });
}

}  // namespace

bool is_read_in_order_only(const Program& program, loop::StorageId storage) {
  return reads_in_order_only(program, program.body, storage, Depths(program.accesses.size(), 0));
}

bool only_adds_to(const Program& program, const Statement& statement, loop::StorageId storage) {
  BlockUses found;
  collect(statement, found);
  return uses_storage(program, found.targets, storage) && !uses_storage(program, found.factors, storage);
}

BlockUses uses(const Block& block) {
  BlockUses found;
  collect(block, found);
  return found;
}

bool accumulates_only_into(const Program& program, const Block& block, loop::StorageId storage) {
  const BlockUses found = uses(block);
  return std::ranges::all_of(found.targets, [&](loop::AccessId target) {
    const loop::StorageId other = program.accesses[target].storage;
    return other == storage || std::ranges::find(found.workspaces, other) != found.workspaces.end();
  });
}

}  // namespace weft
