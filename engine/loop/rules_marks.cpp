#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"

namespace weft::loop {
namespace {

bool is_dense(const Level& level) { return level.kind == LevelKind::dense; }

/// Whether one Accumulate below a parallel loop may be split among threads as `reduction` says.
Expected<void> check_reduction(const Program& program, const PlacedAccumulate& each, const For& loop,
                               Reduction reduction, const std::string& what) {
  const Access& access = program.accesses[each.accumulate->target];
  const Storage& storage = program.storages[access.storage];
  const std::string& index = program.indices[loop.index];
  const std::string target = fmt::format("{}: {}: {}", what, print(program, *each.accumulate), print(program, access));
  const auto own = std::ranges::find(access.indices, loop.index);
  switch (reduction) {
    case Reduction::owner: {
      if (own == access.indices.end())
        return input_error(
            fmt::format("{} has no index {}, so that several iterations write one entry: not by owner", target, index));
      const auto level = static_cast<std::size_t>(own - access.indices.begin());
      if (each.path.bound[each.accumulate->target][level].step.use != Use::insert)
        return input_error(fmt::format("{} appends level {}: not by owner, but by append", target, level));
      return {};
    }
    case Reduction::private_copies:
      if (std::ranges::all_of(storage.levels, is_dense)) return {};
      return unsupported(fmt::format("{}: private copies of {}, which is not dense: not yet", target, storage.name));
    case Reduction::append:
      if (own == access.indices.begin() && own != access.indices.end() &&
          each.path.bound[each.accumulate->target][0].step.use == Use::append)
        return {};
      return input_error(fmt::format("{} does not append level 0 in loop {}: not by append", target, index));
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
        return input_error(fmt::format("{}: {} writes {}, which has no reduction: name it owner, private or append",
                                       what, print(program, *each.accumulate), program.storages[storage].name));
      if (Expected<void> checked = check_reduction(program, each, *loop, mark->reduction, what); !checked)
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
