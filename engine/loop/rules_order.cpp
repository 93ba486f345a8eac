#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"

namespace weft::loop {
namespace {

LevelKind kind_of(const Program& program, AccessId access, std::size_t level) {
  return program.storages[program.accesses[access].storage].levels[level].kind;
}

/// The kinds that the steps of a statement bind, step by step.
std::vector<LevelKind> kinds(const Program& program, const std::vector<Step>& steps, const Path& path) {
  std::vector<std::size_t> bound(program.accesses.size());
  std::vector<LevelKind> kinds;
  for (const Step& step : steps)
    kinds.push_back(kind_of(program, step.access, path.bound[step.access].size() + bound[step.access]++));
  return kinds;
}

/// Depth below which the storage's coordinates are made: 0 for outputs, behind its With for workspaces.
std::size_t first_depth(const Program& program, StorageId storage, const Path& path) {
  return program.storages[storage].role == Role::workspace ? path.depth_of_with(storage) + 1 : 0;
}

}  // namespace

Expected<void> check_append_order(const Program& program) {
  // Per storage the loops that bind it where it is appended to: they have to be the same for all its Accumulates.
  std::vector<const PlacedAccumulate*> first(program.storages.size());
  const std::vector<PlacedAccumulate> all = accumulates(program);
  for (const PlacedAccumulate& each : all) {
    const AccessId target = each.accumulate->target;
    const StorageId storage = program.accesses[target].storage;
    const std::vector<BoundLevel>& bound = each.path.bound[target];
    std::size_t appended = bound.size();  // the levels up to the last appended one
    while (appended > 0 && bound[appended - 1].step.use != Use::append) --appended;
    if (appended == 0) continue;
    const std::string what =
        fmt::format("append-order: {} {}", print(program, *each.accumulate), where(program, each.path));
    std::size_t level = 0;
    for (std::size_t depth = first_depth(program, storage, each.path); depth <= bound[appended - 1].depth; ++depth) {
      const For* loop = each.path.loop(depth);
      const std::size_t before = level;
      while (level < bound.size() && bound[level].depth == depth) ++level;
      if (loop != nullptr && level == before)
        return input_error(
            fmt::format("{}: loop {} encloses the append of level {} of {} without binding one of its levels: its "
                        "coordinates would "
                        "be appended once per iteration; drain a workspace in between",
                        what, program.indices[loop->index], appended - 1, print(program, program.accesses[target])));
    }
    if (first[storage] == nullptr) {
      first[storage] = &each;
      continue;
    }
    const PlacedAccumulate& other = *first[storage];
    const std::vector<BoundLevel>& others = other.path.bound[other.accumulate->target];
    for (std::size_t n = 0; n < appended; ++n)
      if (n >= others.size() || bound[n].depth != others[n].depth ||
          each.path.enclosing[bound[n].depth] != other.path.enclosing[others[n].depth])
        return input_error(fmt::format("{}: level {} of {} is appended by two loops: sum into a workspace first", what,
                                       n, program.storages[storage].name));
  }
  return {};
}

Expected<void> check_unordered(const Program& program) {
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const std::vector<Step>& steps = steps_of(statement);
    const std::vector<LevelKind> level_kinds = kinds(program, steps, path);
    const auto drives = std::ranges::count(steps, Use::drive, &Step::use);
    // The unordered level that drives this loop or one around it.
    std::optional<Step> unordered;
    bool own = false;
    for (std::size_t n = 0; n < steps.size(); ++n)
      if (steps[n].use == Use::drive && level_kinds[n] == LevelKind::hashed) {
        unordered = steps[n];
        own = true;
      }
    for (const std::vector<BoundLevel>& bound : path.bound)
      for (std::size_t level = 0; level < bound.size(); ++level)
        if (bound[level].step.use == Use::drive &&
            kind_of(program, bound[level].step.access, level) == LevelKind::hashed)
          unordered = bound[level].step;
    if (!unordered) return {};
    const std::string by = print(program, *unordered);
    if (own && drives > 1)
      return input_error(
          fmt::format("unordered: {} {}: a hashed level has no order, it drives alone", by, where(program, path)));
    for (const Step& step : steps) {
      const bool merge = step.use == Use::drive && drives > 1;
      if (step.use == Use::append || step.algorithm == Algorithm::gallop || merge)
        return input_error(
            fmt::format("unordered: {} {}, below {}: an append, a merge or a finger needs increasing coordinates",
                        print(program, step), where(program, path), by));
    }
    return {};
  });
}

Expected<void> check_finger(const Program& program) {
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const std::vector<Step>& steps = steps_of(statement);
    const For* loop = std::get_if<For>(&statement.node);
    const bool driven = std::ranges::find(steps, Use::drive, &Step::use) != steps.end();
    std::vector<std::size_t> bound(program.accesses.size());
    for (const Step& step : steps) {
      const std::size_t earlier = bound[step.access]++;
      if (step.algorithm != Algorithm::gallop) continue;
      const Access& access = program.accesses[step.access];
      const std::string what = fmt::format("finger: {} {}", print(program, step), where(program, path));
      if (loop == nullptr || !driven)
        return input_error(fmt::format("{}: only a loop with a driver moves a finger", what));
      const std::size_t level = path.bound[step.access].size() + earlier;
      if (access.indices[level] != loop->index)
        return input_error(fmt::format(
            "{}: level {} of {} has the index {} of an outer loop, a finger follows its own loop {}", what, level,
            print(program, access), program.indices[access.indices[level]], program.indices[loop->index]));
      if (earlier > 0)
        return input_error(
            fmt::format("{}: level {} of {} is bound in the same loop, so that the finger's parent position moves",
                        what, level - 1, print(program, access)));
    }
    return {};
  });
}

}  // namespace weft::loop
