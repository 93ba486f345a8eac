#include "engine/loop/flat_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

/// The one step that drives; null: none does, or several.
const Step* driver(const For& each) {
  const auto drives = [](const Step& step) { return step.use == Use::drive; };
  if (std::ranges::count_if(each.steps, drives) != 1) return nullptr;
  return &*std::ranges::find_if(each.steps, drives);
}

/// What one of the loops may not have; the innermost may bind levels below the chain.
Expected<void> check_steps(const Program& program, const For& each, AccessId access, bool innermost) {
  const std::string loop = fmt::format("loop {}", program.indices[each.index]);
  const Step* drives = driver(each);
  if (drives == nullptr || drives->access != access || drives->algorithm != Algorithm::standard)
    return input_error(
        fmt::format("{}: {} alone drives, from its first entry to its last", loop, print(program, program.accesses[access])));
  for (const Step& step : each.steps) {
    if (&step == drives) continue;
    if (step.access == access && !innermost)
      return input_error(fmt::format("{}: {}: one level of the chain in each loop", loop, print(program, step)));
    if (step.use == Use::append || step.algorithm == Algorithm::gallop)
      return input_error(fmt::format("{}: {}: entries with equal coordinates are not visited as one", loop, print(program, step)));
  }
  return {};
}

}  // namespace

bool asks_for_no_coordinate(const Program& program, const For& each) {
  if (each.steps.size() != 1) return false;
  const AccessId own = each.steps.front().access;
  if (std::ranges::count(program.accesses[own].indices, each.index) != 1) return false;
  for (AccessId access = 0; access < program.accesses.size(); ++access)
    for (const IndexId index : program.accesses[access].indices)
      if (is_of_loop(program, index, each.index) && (access != own || index != each.index)) return false;
  return true;
}

std::optional<FlatWalk> walk_of_entries(const Program& program, const For& each, std::span<const std::uint32_t> bound) {
  if (each.steps.empty()) return std::nullopt;
  FlatWalk walk{each.steps.front().access, bound[each.steps.front().access], {}};
  const Access& access = program.accesses[walk.access];
  const Storage& storage = program.storages[access.storage];
  if (storage.role != Role::input) return std::nullopt;
  for (const For* one = &each;; one = &std::get<For>(one->body.front().node)) {
    const std::size_t level = walk.level + walk.loops.size();
    if (level >= storage.levels.size() || access.indices[level] != one->index || one->marks.batch > 0) return std::nullopt;
    const Level& here = storage.levels[level];
    const bool driven = is_compressed(here.kind) || begins_chain(here.kind) || is_per_parent(here.kind);
    const Step* drives = driver(*one);
    // A finger would have to go back where the next fiber begins.
    const auto gallops = [](const Step& step) { return step.algorithm == Algorithm::gallop; };
    const bool alone = drives != nullptr && drives->access == walk.access && drives->algorithm == Algorithm::standard &&
                       std::ranges::none_of(one->steps, gallops);
    walk.loops.push_back(one);
    const bool inner = one->body.size() == 1 && std::holds_alternative<For>(one->body.front().node);
    const bool passes = inner && !one->marks.vector && asks_for_no_coordinate(program, *one) &&
                        (is_dense(here) ? !here.strided && !is_at_sum(program, access, level) : driven && alone);
    if (passes) continue;
    // Equal coordinates of two fibers of the level above are no run.
    const bool one_by_one = one->marks.flat || last_of_chain(storage.levels, static_cast<std::uint32_t>(level)) == level;
    return driven && alone && one_by_one && walk.loops.size() > 1 ? std::optional(walk) : std::nullopt;
  }
}

std::uint32_t last_of_chain(const std::vector<Level>& levels, std::uint32_t level) {
  if (is_dense(levels[level]) || is_unique(levels[level].kind)) return level;
  while (level + 1 < levels.size() && is_per_parent(levels[level + 1].kind)) ++level;
  return level;
}

Expected<FlatWalk> flat_walk(const Program& program, const For& each, std::span<const std::uint32_t> bound) {
  const Step* drives = driver(each);
  const std::string loop = fmt::format("loop {}", program.indices[each.index]);
  if (drives == nullptr) return input_error(fmt::format("{}: one level drives a flat walk", loop));
  FlatWalk walk{drives->access, bound[drives->access], {&each}};
  const Storage& storage = program.storages[program.accesses[walk.access].storage];
  const std::uint32_t last = last_of_chain(storage.levels, walk.level);
  if (storage.role != Role::input || last == walk.level)
    return input_error(fmt::format("{}: level {} of {} is {}: no level of an input above a singleton", loop, walk.level,
                                   print(program, program.accesses[walk.access]), word(level_words, storage.levels[walk.level].kind)));
  for (std::uint32_t level = walk.level; level < last; ++level) {
    const Block& body = walk.loops.back()->body;
    const For* inner = body.size() == 1 ? std::get_if<For>(&body.front().node) : nullptr;
    if (inner == nullptr)
      return input_error(fmt::format("loop {}: the loop over level {} of {} is all that stands in it",
                                     program.indices[walk.loops.back()->index], level + 1, print(program, program.accesses[walk.access])));
    walk.loops.push_back(inner);
  }
  for (const For* one : walk.loops) {
    if (Expected<void> checked = check_steps(program, *one, walk.access, one == walk.loops.back()); !checked) {
      return std::unexpected(checked.error());
    }
    const bool inside = one != &each;
    if (one->marks.vector || (inside && (one->marks.flat || !one->marks.parallel.empty())))
      return input_error(fmt::format("loop {}: it has no other mark than @prefetch", program.indices[one->index]));
  }
  return walk;
}

}  // namespace weft::loop
