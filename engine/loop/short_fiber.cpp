#include "engine/loop/short_fiber.h"

#include <algorithm>

#include "engine/loop/walk.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

bool contains_loop(const Block& block) {
  return std::ranges::any_of(block, [](const Statement& statement) {
    if (const auto* bind = std::get_if<Bind>(&statement.node)) return contains_loop(bind->body);
    if (const auto* with = std::get_if<With>(&statement.node)) return contains_loop(with->body);
    return std::holds_alternative<For>(statement.node);
  });
}

/// The level of the access that a loop over `index` binds; its number of levels where it binds none.
std::uint32_t level_of(const Access& access, IndexId index) {
  return static_cast<std::uint32_t>(std::ranges::find(access.indices, index) - access.indices.begin());
}

}  // namespace

std::optional<FiberFact> short_fiber(const Program& program, StorageId storage, std::uint32_t level) {
  const std::vector<Level>& levels = program.storages[storage].levels;
  if (level > 0 && has_one_entry(levels[level - 1].kind, levels[level].kind)) return FiberFact{storage, level, 1, true};
  for (const Fact& fact : program.facts) {
    const auto* fiber = std::get_if<FiberFact>(&fact);
    if (fiber && fiber->storage == storage && fiber->level == level && fiber->maximum > 0 &&
        fiber->maximum <= short_fiber_entries && is_compressed(levels[level].kind))
      return *fiber;
  }
  return std::nullopt;
}

bool is_short_loop(const Program& program, const For& each) {
  std::size_t drivers = 0;
  bool is_short = true;
  for (const Step& step : each.steps) {
    const Access& access = program.accesses[step.access];
    const std::vector<Level>& levels = program.storages[access.storage].levels;
    const std::uint32_t level = level_of(access, each.index);
    if (step.use != Use::drive || level >= levels.size() || is_dense(levels[level].kind)) continue;
    ++drivers;
    const std::optional<FiberFact> fact = level > 0 ? short_fiber(program, access.storage, level) : std::nullopt;
    is_short = is_short && fact && (fact->exact || fact->maximum == 1 || !contains_loop(each.body));
  }
  return drivers == 1 && is_short;
}

bool is_used(const Program& program, const FiberFact& fact) {
  if (fact.exact || fact.maximum == 1) return true;  // positions are computed, and a loop is none
  bool used = false;
  (void)walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    std::vector<std::size_t> bound(program.accesses.size());
    for (const Step& step : steps_of(statement)) {
      const bool here = path.bound[step.access].size() + bound[step.access]++ == fact.level;
      if (!here || program.accesses[step.access].storage != fact.storage) continue;
      const auto* each = std::get_if<For>(&statement.node);
      const bool found = step.use == Use::locate || step.algorithm == Algorithm::search || step.algorithm == Algorithm::gallop;
      used = used || found || (each && is_short_loop(program, *each));
    }
    return {};
  });
  return used;
}

}  // namespace weft::loop
