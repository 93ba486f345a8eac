#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {


/// Whether one Accumulate below a parallel loop, at `depth` in its path, may be split among threads as `reduction` says.
Expected<void> check_reduction(const Program& program, const PlacedAccumulate& each, std::size_t depth,
                               Reduction reduction, const std::string& what) {
  const Access& access = program.accesses[each.accumulate->target];
  const Storage& storage = program.storages[access.storage];
  const IndexId loop = each.path.loop(depth)->index;
  const std::string& index = program.indices[loop];
  const std::string target = fmt::format("{}: {}: {}", what, print(program, *each.accumulate), print(program, access));
  const auto own = std::ranges::find(access.indices, loop);
  const std::vector<BoundLevel>& bound = each.path.bound[each.accumulate->target];
  const auto appended =
      std::ranges::find_if(bound, [](const BoundLevel& level) { return level.step.use == Use::append; });
  switch (reduction) {
    case Reduction::owner: {
      if (own == access.indices.end())
        return input_error(
            fmt::format("{} has no index {}, so that several iterations write one entry: not by owner", target, index));
      if (appended != bound.end())
        return input_error(
            fmt::format("{} appends level {}: not by owner, but by append", target, appended - bound.begin()));
      return {};
    }
    case Reduction::private_copies:
      if (std::ranges::all_of(storage.levels, [](const Level& level) { return is_dense(level); }) ||
          pattern_of(program, access.storage))
        return {};
      return unsupported(fmt::format("{}: private copies of {}, which is not dense: not yet", target, storage.name));
    case Reduction::append:
    case Reduction::count:
      if (appended == bound.end())
        return input_error(fmt::format("{} appends no level: not by {}", target, word(reduction_words, reduction)));
      if (own != access.indices.begin() || bound[0].depth != depth ||
          (bound[0].step.use == Use::insert && !is_dense(storage.levels[0])))
        return input_error(
            fmt::format("{}: level 0 is neither appended by loop {} nor dense and inserted by it: not by {}", target,
                        index, word(reduction_words, reduction)));
      return {};
  }
  return {};
}

}  // namespace

Expected<void> check_parallel(const Program& program) {
  const std::vector<PlacedAccumulate> all = accumulates(program);
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const For* loop = std::get_if<For>(&statement.node);
    if (loop == nullptr || loop->marks.parallel.empty()) return {};
    const std::string what = fmt::format("parallel: loop {} {}", program.indices[loop->index], where(program, path));
    for (const Statement* outer : path.enclosing)
      if (!std::holds_alternative<Bind>(outer->node))
        return input_error(fmt::format("{}: only a loop that no for or with encloses is run in parallel", what));
    std::set<StorageId> named;
    std::set<StorageId> written;
    for (const ParallelTarget& target : loop->marks.parallel)
      if (!named.insert(target.storage).second)
        return input_error(fmt::format("{}: {} is named twice", what, program.storages[target.storage].name));
    for (const PlacedAccumulate& each : all) {
      if (std::ranges::find(each.path.enclosing, &statement) == each.path.enclosing.end()) continue;
      const StorageId storage = program.accesses[each.accumulate->target].storage;
      if (program.storages[storage].role == Role::workspace)
        continue;  // its With is inside: nothing but For is outside
      written.insert(storage);
      const auto mark = std::ranges::find(loop->marks.parallel, storage, &ParallelTarget::storage);
      if (mark == loop->marks.parallel.end())
        return input_error(fmt::format("{}: {} writes {}, which has no reduction: name it owner, private, append or count",
                                       what, print(program, *each.accumulate), program.storages[storage].name));
      if (Expected<void> checked = check_reduction(program, each, path.enclosing.size(), mark->reduction, what); !checked)
        return checked;
    }
    for (StorageId storage : named)
      if (!written.contains(storage))
        return input_error(fmt::format("{}: nothing in the loop writes {}", what, program.storages[storage].name));
    return {};
  });
}

Expected<void> check_vector(const Program& program) {
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const For* loop = std::get_if<For>(&statement.node);
    if (loop == nullptr || !loop->marks.vector) return {};
    const std::string what = fmt::format("vector: loop {} {}", program.indices[loop->index], where(program, path));
    for (const Statement& inner : loop->body)
      if (!std::holds_alternative<Accumulate>(inner.node))
        return input_error(fmt::format("{}: only an innermost loop, with nothing but accumulations in it", what));
    std::size_t sparse = 0;
    std::vector<std::size_t> bound(program.accesses.size());
    for (const Step& step : loop->steps) {
      const Access& access = program.accesses[step.access];
      const std::size_t level = path.bound[step.access].size() + bound[step.access]++;
      const Level& type = program.storages[access.storage].levels[level];
      const IndexDefinition* const given = definition_of(program, access.indices[level]);
      if (given != nullptr && given->is_given_by(loop->index))
        return input_error(fmt::format("{}: {}: neighbours at {} are no neighbours of {}", what, print(program, step),
                                       program.indices[loop->index], program.indices[access.indices[level]]));
      if (is_at_sum(program, access, level))
        return input_error(fmt::format("{}: {}: it is at {}, which may be out of range", what, print(program, step),
                                       program.indices[access.indices[level]]));
      if (is_dense(type)) continue;
      if (step.use != Use::drive || ++sparse > 1)
        return input_error(fmt::format("{}: {}: level {} of {} is {}: steps are dense, or exactly one drives", what,
                                       print(program, step), level, print(program, access),
                                       word(level_words, type.kind)));
    }
    return {};
  });
}

}  // namespace weft::loop
