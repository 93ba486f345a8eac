#include "engine/loop/finger_home.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "runtime/level_traits.h"
#include "runtime/wide.h"

namespace weft::loop {
namespace {

/// What a loop drives in no order, of the loops from one depth on.
bool runs_in_order(const Program& program, const Path& path, std::size_t depth) {
  for (AccessId access = 0; access < path.bound.size(); ++access)
    for (std::size_t level = 0; level < path.bound[access].size(); ++level) {
      const BoundLevel& bound = path.bound[access][level];
      if (bound.depth == depth && is_unordered(program, path, bound.step, level)) return false;
    }
  return true;
}

std::int64_t factor_of(const IndexDefinition& sum, IndexId index) {
  const auto found = std::ranges::find(sum.of, index, &Summand::index);
  return found == sum.of.end() ? 0 : found->factor;
}

/// Whether a level has one coordinate, so that the position below it is the same in every iteration: a dense one at J / 2000, J below 2000.
bool has_one_place(const Program& program, AccessId access, std::size_t level, const KnownExtents& extents) {
  const Access& located = program.accesses[access];
  const IndexDefinition* const given = definition_of(program, located.indices[level]);
  if (!is_dense(program.storages[located.storage].levels[level]) || given == nullptr || given->is_sum()) return false;
  const std::optional<std::uint64_t> of = extents(given->of.front().index);
  return of && given_extent(*given, *of) == 1;
}

}  // namespace

bool is_unordered(const Program& program, const Path& path, const Step& step, std::size_t level) {
  const std::vector<Level>& levels = program.storages[program.accesses[step.access].storage].levels;
  if (step.use != Use::drive || !may_be_key(levels[level].kind)) return false;
  const std::size_t first = key_level(levels, level);
  return (first == level ? step : path.bound[step.access][first].step).algorithm != Algorithm::sort;
}

Expected<void> may_be_kept(const Program& program, const Path& path, const For& own, AccessId access, std::size_t level, IndexId home,
                           const KnownExtents& extents) {
  const auto name = [&](IndexId index) { return program.indices[index]; };
  const std::size_t end = path.enclosing.size();
  std::size_t depth = 0;
  while (depth < end && (path.loop(depth) == nullptr || path.loop(depth)->index != home)) ++depth;
  if (depth == end) return input_error(fmt::format("{} is no loop around {}", name(home), name(own.index)));
  for (std::size_t above = 0; above < level; ++above)
    if (above >= path.bound[access].size() || (path.bound[access][above].depth >= depth && !has_one_place(program, access, above, extents)))
      return input_error(fmt::format("level {} of {} is bound inside of loop {}, so that the finger's parent position moves", above,
                                     print(program, program.accesses[access]), name(home)));
  const IndexId wanted = program.accesses[access].indices[level];
  const IndexDefinition* const sum = definition_of(program, wanted);
  if (sum == nullptr || !sum->is_sum() || sum->part.modulus != 0)
    return input_error(fmt::format("{} begins anew with each {}", name(wanted), name(home)));
  if (std::ranges::any_of(sum->of, [&](const Summand& each) { return definition_of(program, each.index) != nullptr; }))
    return input_error(fmt::format("{} counts from a start", name(wanted)));
  // What the loops inside reach from their first iterations to their last.
  Wide reach = 0;
  std::optional<IndexId> unknown;
  for (std::size_t at = end + 1; at-- > depth;) {
    const For* const each = at == end ? &own : path.loop(at);
    if (each == nullptr) {
      if (std::holds_alternative<With>(path.enclosing[at]->node))
        return input_error(fmt::format("a workspace lives inside of loop {}, whose rows may be gone through in parts", name(home)));
      continue;
    }
    const Wide factor = factor_of(*sum, each->index);
    if (factor < 0) return input_error(fmt::format("{} falls while {} rises", name(wanted), name(each->index)));
    if (at < end && !runs_in_order(program, path, at))
      return input_error(fmt::format("loop {} runs in no order: sort", name(each->index)));
    if (at < end && unknown)
      return input_error(fmt::format("how far {} goes inside of loop {} is not known: extent({})", name(wanted), name(each->index),
                                     name(*unknown)));
    if (factor < reach)
      return input_error(fmt::format("{} falls where {} goes on: by {} with what is inside, and rises by {}", name(wanted),
                                     name(each->index), static_cast<std::int64_t>(std::min<Wide>(reach, INT64_MAX)),
                                     static_cast<std::int64_t>(factor)));
    if (factor == 0 || at == depth) continue;  // how far the home goes decides nothing
    const std::optional<std::uint64_t> extent = extents(each->index);
    if (!extent) unknown = each->index;
    else if (*extent > 0) reach += factor * (static_cast<Wide>(*extent) - 1);
    if (reach > static_cast<Wide>(UINT64_MAX)) reach = UINT64_MAX;
  }
  return {};
}

std::size_t home_depth(const Path& inside, const Step& step) {
  const std::size_t own = inside.enclosing.size() - 1;
  return step.home ? std::min(inside.depth_of_loop(*step.home), own) : own;
}

}  // namespace weft::loop
