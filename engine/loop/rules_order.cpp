#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/finger_home.h"
#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

const std::vector<Level>& levels_of(const Program& program, AccessId access) {
  return program.storages[program.accesses[access].storage].levels;
}

bool key_goes_on(const Program& program, const Step& step, std::size_t level) {
  const std::vector<Level>& levels = levels_of(program, step.access);
  return level + 1 < levels.size() && levels[level + 1].joined;
}

/// Whether the body of a loop is one loop that the access drives.
bool drives_next_mode(const For& loop, AccessId access) {
  if (loop.body.size() != 1) return false;
  const For* inner = std::get_if<For>(&loop.body[0].node);
  return inner != nullptr && std::ranges::any_of(inner->steps, [&](const Step& step) {
           return step.use == Use::drive && step.access == access;
         });
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
      bool own = false;  // a late step binds another loop's index
      for (; level < bound.size() && bound[level].depth == depth; ++level)
        own = own || (loop != nullptr && program.accesses[target].indices[level] == loop->index);
      if (loop != nullptr && !own)
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
    const For* loop = std::get_if<For>(&statement.node);
    const auto drives = std::ranges::count(steps, Use::drive, &Step::use);
    // What drives this loop, or one around it, in no order.
    std::vector<BoundLevel> unordered;
    for (AccessId access = 0; access < path.bound.size(); ++access)
      for (std::size_t level = 0; level < path.bound[access].size(); ++level)
        if (is_unordered(program, path, path.bound[access][level].step, level))
          unordered.push_back(path.bound[access][level]);
    for (const Step& step : steps) {
      const std::size_t level = path.bound[step.access].size();  // a drive is the first step of its access
      if (step.use != Use::drive || !is_unordered(program, path, step, level)) continue;
      const std::string what = fmt::format("unordered: {} {}", print(program, step), where(program, path));
      if (drives > 1)
        return input_error(fmt::format("{}: without sort it has no order, it drives alone", what));
      for (const Step& other : steps)
        if (other.algorithm == Algorithm::gallop)
          return input_error(fmt::format("{}: the finger of {} needs increasing coordinates: sort", what,
                                         print(program, other)));
      if (key_goes_on(program, step, level) && !drives_next_mode(*loop, step.access))
        return input_error(
            fmt::format("{}: a coordinate of the first modes of a key comes up once per entry, so that the loop over "
                        "the next mode is all there is in this one: sort",
                        what));
      unordered.push_back({path.enclosing.size(), step});
    }
    for (const Step& step : steps) {
      if (step.use != Use::append) continue;
      const std::size_t born = first_depth(program, program.accesses[step.access].storage, path);
      for (const BoundLevel& driver : unordered)
        if (driver.depth >= born)
          return input_error(fmt::format("unordered: {} {}, below {}: an append needs increasing coordinates: sort",
                                         print(program, step), where(program, path), print(program, driver.step)));
    }
    return {};
  });
}

Expected<void> check_finger(const Program& program) {
  const auto known = [&](IndexId index) -> std::optional<std::uint64_t> {
    for (const Fact& fact : program.facts)
      if (const auto* extent = std::get_if<ExtentFact>(&fact); extent != nullptr && extent->index == index) return extent->extent;
    return std::nullopt;
  };
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
      if (loop == nullptr || (!driven && !step.home))
        return input_error(fmt::format("{}: only a loop with a driver moves a finger", what));
      const std::size_t level = path.bound[step.access].size() + earlier;
      const IndexDefinition* const given = definition_of(program, access.indices[level]);
      if (given != nullptr && given->is_given_by(loop->index)) {
        const Summand& moved = *std::ranges::find(given->of, loop->index, &Summand::index);
        const std::uint64_t modulus = given->part.modulus != 0 ? given->part.modulus : moved.part.modulus;
        if (modulus != 0)
          return input_error(fmt::format("{}: level {} of {} has the index {}, which falls with every {}-th {}", what, level,
                                         print(program, access), program.indices[given->index], modulus,
                                         program.indices[loop->index]));
        if (moved.factor < 0)
          return input_error(fmt::format("{}: level {} of {} has the index {}, which falls while {} rises", what, level,
                                         print(program, access), program.indices[given->index], program.indices[loop->index]));
      }
      if (!is_of_loop(program, access.indices[level], loop->index))
        return input_error(fmt::format(
            "{}: level {} of {} has the index {} of an outer loop, a finger follows its own loop {}", what, level,
            print(program, access), program.indices[access.indices[level]], program.indices[loop->index]));
      if (earlier > 0)
        return input_error(
            fmt::format("{}: level {} of {} is bound in the same loop, so that the finger's parent position moves",
                        what, level - 1, print(program, access)));
      if (!step.home) continue;
      if (auto kept = may_be_kept(program, path, *loop, step.access, level, *step.home, known); !kept)
        return input_error(fmt::format("{}: {}", what, kept.error().message));
    }
    return {};
  });
}

}  // namespace weft::loop
