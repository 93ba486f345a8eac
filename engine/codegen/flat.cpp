// Flat walks (engine/loop/flat_walk.h): the loops over the levels of a chain as one loop over its entries. Every function that
// writes a loop is told of the outermost; what it asks for here, of the walk as of a single loop, are the body of the innermost and the
// steps of all. Of levels whose coordinates nothing asks for only the innermost loop is written, over the range of all their entries.
#include "engine/codegen/generate.h"
#include "engine/loop/flat_walk.h"
#include "runtime/level_traits.h"

namespace weft {

/// Where iterations are counted, loops are walked one inside the other: only so is each of them counted. A pattern that is known is
/// written out entry by entry anyway.
void Generator::find_flat_walk(const loop::For& each, const Scope& scope) {
  if (!each.marks.flat || options_.count) return;
  auto walk = loop::flat_walk(program_, each, scope.depths());
  if (walk && !storage_of(walk->access).baked) flat_[&each] = std::move(walk->loops);
}

/// Whether the loop stands around entries whose coordinates are not asked for, which have then been gone over: the norm of 424,315 entries
/// in three compressed levels took 0.94 ms in three loops. Where iterations are counted or checked, every loop is written.
bool Generator::walk_entries(const loop::For& each, const Scope& scope, bool cut) {
  if (options_.count || options_.symbolic || emit_->checked()) return false;
  const auto walk = loop::walk_of_entries(program_, each, scope.depths());
  if (!walk || storage_of(walk->access).baked) return false;
  const StorageCode& storage = storage_of(walk->access);
  Scope inside = scope;
  Cursor& cursor = inside.cursors[walk->access];
  for (const loop::For* one : std::span(walk->loops).first(walk->loops.size() - 1)) {
    Range range = positions_below(*emit_, storage, cursor);
    if (cut && one == &each)
      range = is_dense(storage.level(cursor.bound)) ? Range{begin_, emit_->minimum(end_, range.end)}
                                                    : chunk_of(*emit_, storage, cursor.bound, range, begin_, end_);
    cursor = {cursor.bound + 1, range.begin, range.end};
  }
  loop(*walk->loops.back(), inside, false);
  return true;
}

const std::vector<const loop::For*>* Generator::flat_loops(const loop::For& each) const {
  const auto found = flat_.find(&each);
  return found == flat_.end() ? nullptr : &found->second;
}

const loop::Block& Generator::walked_body(const loop::For& each) const {
  const std::vector<const loop::For*>* loops = flat_loops(each);
  return loops ? loops->back()->body : each.body;
}

/// The steps of the loop, and of a flat walk those of the loops inside but for its driver's.
std::vector<loop::Step> Generator::walked_steps(const loop::For& each, std::span<const loop::Step> steps) const {
  std::vector<loop::Step> all(steps.begin(), steps.end());
  if (const std::vector<const loop::For*>* loops = flat_loops(each))
    for (std::size_t n = 1; n < loops->size(); ++n)
      for (const loop::Step& step : (*loops)[n]->steps)
        if (step.use != loop::Use::drive) all.push_back(step);
  return all;
}

/// The coordinates of the driver's entry at `position`, and its cursor: below one level, or below all that a flat walk goes through.
void Generator::bind_driven(const loop::For& each, const Driver& driver, llvm::Value* position, Scope& here) {
  const std::vector<const loop::For*>* loops = flat_loops(each);
  if (!loops) {
    take_coordinate(here, each.index, emit_->widen(coordinate_of(driver, position, here)));
    here.cursors[driver.access] = entry_of(driver, position, here);
    return;
  }
  Cursor& cursor = here.cursors[driver.access];
  for (const loop::For* one : *loops)
    take_coordinate(here, one->index, emit_->widen(coordinate_at(*emit_, storage_of(driver.access), cursor.bound++, position)));
  cursor.begin = position;
  cursor.end = nullptr;
}

}  // namespace weft
