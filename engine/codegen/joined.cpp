#include "engine/codegen/joined.h"

#include <algorithm>

#include "engine/codegen/structure.h"
#include "runtime/extents.h"

namespace weft {

namespace {

using loop::AccessId;
using loop::For;
using loop::Program;

bool is_joined_index(const JoinedLoops& loops, loop::IndexId index) {
  return std::ranges::find(loops, index, &For::index) != loops.end();
}

/// The loops bind the last levels of the access, which are adjacent elements, or nothing that depends on them.
bool is_adjacent_or_independent(const Program& program, const JoinedLoops& loops, AccessId access) {
  const std::vector<loop::IndexId>& indices = program.accesses[access].indices;
  const std::vector<Level>& levels = program.storages[program.accesses[access].storage].levels;
  std::size_t steps = 0;
  for (const For* each : loops)
    steps += static_cast<std::size_t>(std::ranges::count(each->steps, access, &loop::Step::access));
  std::size_t joined = 0;
  for (std::size_t level = levels.size() - steps; level < levels.size(); ++level) {
    const auto is_given = [&](const For* each) {
      return each->index != indices[level] && loop::is_of_loop(program, indices[level], each->index);
    };
    if (loop::may_miss(program, program.accesses[access], level) || std::ranges::any_of(loops, is_given)) return false;
    if (is_joined_index(loops, indices[level])) ++joined;
  }
  if (joined == 0) return true;
  if (joined != loops.size()) return false;
  for (std::size_t n = 0; n < loops.size(); ++n) {
    const std::size_t level = levels.size() - loops.size() + n;
    if (indices[level] != loops[n]->index || levels[level].strided) return false;
  }
  return true;
}

/// The steps of a loop around a vector loop say nothing but where the elements are.
bool has_joinable_steps(const For& each, const BlockUses& inside) {
  return std::ranges::all_of(each.steps, [&](const loop::Step& step) {
    return step.use != loop::Use::append && (std::ranges::find(inside.targets, step.access) != inside.targets.end() ||
                                             std::ranges::find(inside.factors, step.access) != inside.factors.end());
  });
}

}  // namespace

JoinedLoops joined_loops(const Program& program, const For& each) {
  if (is_vector_loop(program, each)) return {&each};
  if (is_ranged(program) && &each == &std::get<For>(program.body.front().node)) return {};
  if (each.body.size() != 1) return {};
  const auto* next = std::get_if<For>(&each.body.front().node);
  if (!next) return {};
  JoinedLoops loops = joined_loops(program, *next);
  if (loops.empty()) return {};
  loops.insert(loops.begin(), &each);
  const BlockUses inside = uses(loops.back()->body);
  const auto fits = [&](AccessId access) { return is_adjacent_or_independent(program, loops, access); };
  const auto is_apart = [&](AccessId access) {
    const loop::StorageId storage = program.accesses[access].storage;
    return is_register_tile(program, storage) || is_windowed_row(program, storage);
  };
  if (std::ranges::any_of(inside.targets, is_apart) || std::ranges::any_of(inside.factors, is_apart)) return {};
  const bool joins = has_joinable_steps(each, inside) && std::ranges::all_of(inside.targets, fits) &&
                     std::ranges::all_of(inside.factors, fits);
  return joins ? loops : JoinedLoops{};
}

std::optional<std::uint64_t> known_elements(const Program& program, const JoinedLoops& loops) {
  std::uint64_t elements = 1;
  for (const For* each : loops) {
    const std::optional<std::uint64_t> extent = known_extent(program, each->index);
    if (!extent) return std::nullopt;
    elements = saturating_product(elements, *extent);
  }
  return elements < saturated ? std::optional(elements) : std::nullopt;
}

bool is_unrolled(const Program& program, const JoinedLoops& loops) {
  return known_elements(program, loops).value_or(register_elements + 1) <= register_elements;
}

}  // namespace weft
