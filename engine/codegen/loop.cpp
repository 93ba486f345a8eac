#include <algorithm>
#include <deque>

#include "engine/codegen/drain.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/long_sum.h"
#include "engine/loop/overloaded.h"
#include "engine/loop/print.h"
#include "engine/loop/short_fiber.h"
#include "engine/loop/walk.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

/// Counted loops of at most this many iterations are too short to need a look at the cancellation flag.
constexpr std::uint64_t short_loop = 256;
constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t prefetched_lines = 16;

/// Whether a finger, or something that is appended to, needs coordinates that rise in the loop. From the first entry on the others
/// are as quick as where coordinates rise: SpMV of nsjac 0.15 ms, 0.26 from the last entry on.
bool asks_for_order(std::span<const loop::Step> steps, const loop::Block& body) {
  const auto asks = [](const loop::Step& step) { return step.use == loop::Use::append || step.algorithm == loop::Algorithm::gallop; };
  return std::ranges::any_of(steps, asks) || std::ranges::any_of(body, [](const loop::Statement& statement) {
           const std::span<const loop::Step> inner = loop::steps_of(statement);
           return std::visit(loop::Overloaded{[&](const loop::For& each) { return asks_for_order(inner, each.body); },
                                              [&](const loop::Bind& late) { return asks_for_order(inner, late.body); },
                                              [&](const loop::With& live) { return asks_for_order(inner, live.body); },
                                              [](const loop::Accumulate&) { return false; }},
                             statement.node);
         });
}

}  // namespace

// "for i: drive T, locate x", as the loop program has it.
std::string Generator::header(const loop::For& each) const {
  std::string steps;
  for (const loop::Step& step : each.steps) steps += (steps.empty() ? ": " : ", ") + loop::print(program_, step);
  return "for " + program_.indices[each.index] + steps;
}

void Generator::loop(const loop::For& each, const Scope& scope, bool cut) {
  const Emitter::Within within(*emit_, [&] { return header(each); });
  if (const auto batch = batches_.find(&each); batch != batches_.end()) {
    put_aside(*batch->second, scope);
    return;
  }
  if (dense_tiles(each, scope, cut)) return;
  if (keeps_fingers_) {
    Scope inside = scope;
    for (const loop::Step& step : each.steps) ++inside.cursors[step.access].bound;
    start_kept_fingers(each, each.body, inside);
  }
  if (const std::optional<Drain> drain = find_drain(each, scope)) {
    append_table(*drain, scope);
    return;
  }
  if (const JoinedLoops loops = joined_loops(program_, each); !loops.empty()) {
    vector_loop(loops, scope, cut);
    return;
  }
  if (walk_entries(each, scope, cut)) return;
  // Steps that bind levels of indices known outside come before the loop, unless they lie below a level bound by it.
  std::vector<loop::Step> before;
  std::vector<loop::Step> inside;
  Depths depths = scope.depths();
  for (const loop::Step& step : each.steps) {
    const loop::Access& access = program_.accesses[step.access];
    const bool known = !loop::is_of_loop(program_, access.indices[depths[step.access]], each.index);
    const bool first = std::ranges::find(inside, step.access, &loop::Step::access) == inside.end();
    (known && first ? before : inside).push_back(step);
    ++depths[step.access];
  }
  if (!before.empty()) forgetting_.erase(&each);  // the loop may not be reached
  bind(makers_last(program_, before, scope.depths()), scope, {}, nullptr,
       [&](const Scope& inner) { filtered_loop(each, inside, inner, cut); });
}

void Generator::filtered_loop(const loop::For& each, std::span<const loop::Step> own, const Scope& outer, bool cut) {
  Scope scope = outer;
  find_flat_walk(each, scope);
  const std::vector<loop::Step> steps = walked_steps(each, own);
  const Depths depths = scope.depths();
  std::vector<Hold> held;
  std::deque<LongSum> sums;  // of those
  const bool from_zero = may_skip(program_, each, own, depths) && !options_.strict_fp;
  for (const Hold& each_hold : options_.symbolic ? std::vector<Hold>{} : holds(program_, each, own, depths))
    if (scope.held[program_.accesses[each_hold.access].storage].empty()) {
      hold(each_hold, from_zero, scope);
      held.push_back(each_hold);
      const StorageCode& storage = storage_of(each_hold.access);
      sums.emplace_back(*this, storage, scope.held[storage.id]);
    }
  load_steady_rows(each, scope);
  const auto release_all = [&] {
    for (; !sums.empty(); sums.pop_back()) sums.back().end();
    for (const Hold& each_hold : held) release(each_hold, from_zero, scope);
  };

  // A sparse drive that is not to be merged is looked up under the others.
  std::vector<loop::Step> driving;
  std::vector<loop::Step> rest;
  std::vector<bool> seen(program_.accesses.size(), false);
  for (const loop::Step& step : steps) {
    const bool sparse = is_sparse(next_level(program_, step.access, depths).kind);
    // A bitmap of a workspace below another level drives as a range with a look at the marks.
    const bool drives = step.use == loop::Use::drive && sparse && !seen[step.access] &&
                        (!has_bits(next_level(program_, step.access, depths).kind) ||
                         leaves_gaps(storage_of(step.access), depths[step.access]) ||
                         depths[step.access] < key_levels(*storage_of(step.access).storage));
    seen[step.access] = true;
    (drives ? driving : rest).push_back(step);
  }
  const auto merged = [](const loop::Step& step) {
    return step.algorithm != loop::Algorithm::gallop && step.algorithm != loop::Algorithm::search;
  };
  if (driving.size() > 1) {
    std::vector<loop::Step> merging;
    std::vector<loop::Step> looked_up;
    for (const loop::Step& step : driving) (merged(step) ? merging : looked_up).push_back(step);
    if (merging.empty()) {  // one has to lead
      merging.push_back(looked_up.front());
      looked_up.erase(looked_up.begin());
    }
    driving = merging;
    // The level a lookup binds has to be bound before the later levels of the same access.
    rest.insert(rest.begin(), looked_up.begin(), looked_up.end());
  }

  std::vector<Finger> fingers;
  seen.assign(seen.size(), false);
  for (const loop::Step& step : driving) seen[step.access] = true;
  for (const loop::Step& step : rest) {
    const StorageCode& storage = storage_of(step.access);
    const std::uint32_t next = depths[step.access];
    if (!seen[step.access] && step.algorithm == loop::Algorithm::gallop && storage.levels[next].longest == 0 &&
        is_sparse(next_level(program_, step.access, depths).kind)) {
      fingers.push_back(step.home ? kept_fingers_.at({&each, step.access}) : start_finger(step.access, scope));
    }
    seen[step.access] = true;
  }

  Depths driven = depths;
  for (const loop::Step& step : driving) ++driven[step.access];
  rest = makers_last(program_, rest, driven);
  open_fibers(rest, scope);
  if (driving.empty()) {
    dense_loop(each, rest, fingers, scope, cut);
  } else {
    std::vector<Driver> drivers;
    for (const loop::Step& step : driving) {
      // The symbolic phase needs no order, but for tables that tell equal keys by sorting.
      const StorageCode& driving_storage = storage_of(step.access);
      const bool only_counts = options_.symbolic && driving_storage.storage->role == loop::Role::workspace &&
                               !driving_storage.table && !contains_loop(each.body);
      loop::Step opened = step;
      if (only_counts) opened.algorithm = loop::Algorithm::standard;
      Driver driver = open_driver(opened, driving.size() == 1, scope, cut);
      const bool falls = driving_storage.storage->falls(depths[step.access]);
      if (falls && (cut || driving.size() > 1 || options_.strict_fp || asks_for_order(each.steps, each.body)))
        driver.mirror = emit_->sub(emit_->add(driver.range.begin, driver.range.end), emit_->constant(1));
      if (driving.size() == 1 && is_baked(storage_of(step.access), driver.range)) {
        unroll(each, driver, rest, fingers, scope, cut);
        release_all();
        return;
      }
      drivers.push_back(driver);
    }
    if (cut || drivers.size() != 1 || !walk_short_fiber(each, drivers.front(), rest, fingers, scope))
      iterate(each, drivers, rest, fingers, scope);
  }
  release_all();
}

/// Where the search of a level begins that is bound next: at the fiber's begin, or behind it where coordinates fall.
Generator::Finger Generator::start_finger(loop::AccessId access, const Scope& scope) {
  const StorageCode& storage = storage_of(access);
  const Range range = positions_below(*emit_, storage, scope.cursors[access]);
  const bool falls = storage.storage->falls(scope.cursors[access].bound);
  return {access, {emit_->slot(falls ? range.end : range.begin), falls ? range.begin : range.end}};
}

/// Those that are kept over all of a loop and moved by loops inside. Levels of `outside` that are bound there have one coordinate.
void Generator::start_kept_fingers(const loop::For& home, const loop::Block& inside, const Scope& outside) {
  for (const loop::Statement& statement : inside) {
    Scope scope = outside;
    const loop::Block* body = std::visit(loop::Overloaded{[](const loop::Accumulate&) -> const loop::Block* { return nullptr; },
                                                          [](const auto& nested) -> const loop::Block* { return &nested.body; }},
                                         statement.node);
    const auto* const each = std::get_if<loop::For>(&statement.node);
    for (const loop::Step& step : loop::steps_of(statement)) {
      Cursor& cursor = scope.cursors[step.access];
      if (each != nullptr && step.home == home.index)
        kept_fingers_.insert_or_assign({each, step.access}, start_finger(step.access, scope));
      cursor = {cursor.bound + 1, cursor.begin, nullptr};
    }
    if (body != nullptr) start_kept_fingers(home, *body, scope);
  }
}

/// The block always runs a loop in strips, which looks at the cancellation flag often enough for the loops around it.
bool Generator::always_strips(const loop::Block& statements) const {
  return std::ranges::any_of(statements, [&](const loop::Statement& statement) {
    if (const auto* live = std::get_if<loop::With>(&statement.node)) return always_strips(live->body);
    const auto* each = std::get_if<loop::For>(&statement.node);
    if (!each) return false;
    if (const JoinedLoops loops = joined_loops(program_, *each); !loops.empty())
      return !is_windowed(loops) && !is_unrolled(program_, loops);
    if (loop::is_short_loop(program_, *each) || is_written_out(program_, *each) || may_walk_adjacent(*each)) return false;
    // Nothing filters: every step binds the loop's own index, dense ones but for the driver, or has dense levels only.
    std::size_t drivers = 0;
    bool child_of_sparse = false;
    for (const loop::Step& step : each->steps) {
      const loop::Access& access = program_.accesses[step.access];
      const std::vector<Level>& levels = program_.storages[access.storage].levels;
      if (loop::pattern_of(program_, access.storage)) continue;
      bool misses = false;
      for (std::size_t level = 0; level < levels.size(); ++level) misses = misses || loop::may_miss(program_, access, level);
      if (!misses) continue;
      const auto place = std::ranges::find(access.indices, each->index);
      if (std::ranges::count(access.indices, each->index) != 1 ||
          std::ranges::count(each->steps, step.access, &loop::Step::access) != 1)
        return false;
      const auto level = static_cast<std::size_t>(place - access.indices.begin());
      if (!is_sparse(levels[level].kind)) continue;
      if (step.use != loop::Use::drive) return false;
      ++drivers;
      child_of_sparse = level > 0 && is_sparse(levels[level - 1].kind);
    }
    if (has_running_loop(each->body))  // below a stored position there is always another
      return drivers == 1 && child_of_sparse && always_strips(each->body);
    return known_extent(program_, each->index).value_or(short_loop + 1) > short_loop;
  });
}

bool Generator::has_running_loop(const loop::Block& statements) const {
  return std::ranges::any_of(statements, [&](const loop::Statement& statement) {
    return std::visit(loop::Overloaded{[&](const loop::For& each) {
                                         if (loop::is_short_loop(program_, each)) return has_running_loop(each.body);
                                         const JoinedLoops loops = joined_loops(program_, each);
                                         if (loops.empty()) return !is_written_out(program_, each);
                                         return !is_windowed(loops) && !is_unrolled(program_, loops);
                                       },
                                       [&](const loop::Bind& late) { return has_running_loop(late.body); },
                                       [&](const loop::With& live) { return has_running_loop(live.body); },
                                       [](const loop::Accumulate&) { return false; }},
                      statement.node);
  });
}

/// One iteration, whose coordinate and driver are bound: what else its steps bind, then its body.
void Generator::iteration(const loop::For& each, const loop::Block& body, std::span<const loop::Step> rest, std::span<const Finger> fingers,
                          const Scope& scope) {
  bind(rest, scope, fingers, &body, [&](const Scope& found) {
    Scope loaded = found;
    load_values(body, loaded);
    count(each, emit_->constant(1));
    begin_rows(each, loaded);
    fetch_masked_rows(each, body, loaded);
    block(body, loaded);
  });
}

void Generator::dense_loop(const loop::For& each, std::span<const loop::Step> rest, std::span<const Finger> fingers,
                           const Scope& scope, bool cut) {
  if (const auto known = known_extent(program_, each.index);
      known && (walks_baked(rest, scope) || (!cut && is_written_out(program_, each)))) {
    const auto is_held = [&](loop::AccessId target) { return !scope.held[storage_of(target).id].empty(); };
    const bool lanes = !cut && !options_.symbolic && is_lane_loop(program_, each) && is_held(uses(each.body).targets.front());
    if (lanes) lane_loop(each, rest, fingers, scope);
    else unroll_dense(each, *known, rest, fingers, scope, cut);
    return;
  }
  llvm::Value* extent = extents_[each.index];
  const Slot coordinate = emit_->slot(cut ? begin_ : emit_->constant(0));
  llvm::Value* end = cut ? emit_->minimum(end_, extent) : extent;
  const std::shared_ptr<Batch> batch = begin_batch(each, scope);
  const bool outer = batch || has_running_loop(each.body);
  const bool spends = outer && !(skips_nothing(rest, {}, scope) && always_strips(each.body));
  const auto step = [&](llvm::Value* now, const Scope& outside) {
    Scope here = outside;
    take_coordinate(here, each.index, now);
    iteration(each, each.body, rest, fingers, here);
  };
  std::vector<Scope> sums;
  if (!batch && sums_short_fibers(each, rest, scope)) sums = independent_sums(each, reduction_sums, scope);
  const auto inner = [&](std::span<llvm::Value* const> limits) {
    begin_sums(each, sums);
    if (!sums.empty()) {
      llvm::Value* block = emit_->constant(sums.size());
      emit_->while_loop([&] { return emit_->ir().CreateICmpUGE(emit_->ir().CreateSub(limits[0], emit_->get(coordinate)), block); },
                        [&] {
                          llvm::Value* first = emit_->get(coordinate);
                          for (std::size_t n = 0; n < sums.size(); ++n) step(emit_->add(first, emit_->constant(n)), sums[n]);
                          emit_->set(coordinate, emit_->add(first, block));
                        });
    }
    emit_->while_loop([&] { return has_room(batch.get(), emit_->ir().CreateICmpULT(emit_->get(coordinate), limits[0])); },
                      [&] {
                        llvm::Value* now = emit_->get(coordinate);
                        step(now, scope);
                        emit_->set(coordinate, emit_->add(now, emit_->constant(1)));
                        if (spends) emit_->spend_fuel();
                      });
    add_sums(each, sums, scope);
  };
  if (outer || known_extent(program_, each.index).value_or(short_loop + 1) <= short_loop)
    in_batches(
        batch.get(), scope, [&] { return emit_->ir().CreateICmpULT(emit_->get(coordinate), end); }, [&] { inner(std::span(&end, 1)); });
  else
    emit_->strips(std::span(&coordinate, 1), std::span(&end, 1), inner);
  end_batch(batch.get());
}

void Generator::iterate(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                        std::span<const Finger> fingers, const Scope& scope) {
  const bool adjacent = walks_adjacent(each, drivers, rest, scope);
  // Values of one long fiber: two vectors of sums to be added up behind it, instead of four.
  const bool one_fiber = !adjacent || (adds_up_values(program_, each) && scope.cursors[drivers[0].access].end == nullptr);
  if (one_fiber && gathers(each, drivers, rest, scope)) {
    gather_sums(each, drivers[0], rest, scope);
    return;
  }
  if (adjacent) {
    walk_adjacent(each, drivers[0], rest, scope);
    return;
  }
  const std::shared_ptr<Batch> batch = begin_batch(each, scope);
  const std::shared_ptr<AdjacentSums> fibers = batch ? nullptr : begin_sums_of_fibers(each, scope);
  const bool outer = batch || has_running_loop(walked_body(each));
  const bool spends =
      outer && !(drivers.size() == 1 && skips_nothing(rest, drivers, scope) && always_strips(walked_body(each)));
  std::vector<Slot> positions;
  std::vector<llvm::Value*> ends;
  for (const Driver& driver : drivers) {
    positions.push_back(driver.position);
    ends.push_back(driver.range.end);
  }
  std::vector<Scope> sums;
  if (sums_scalars(each, drivers, rest, scope)) sums = independent_sums(each, reduction_sums, scope);
  if (sums_rows(each, drivers, rest, scope)) sums = independent_sums(each, each.marks.unroll, scope);
  const auto below = [&](std::span<llvm::Value* const> limits) {
    llvm::Value* all = nullptr;
    for (std::size_t n = 0; n < positions.size(); ++n) {
      llvm::Value* one = emit_->ir().CreateICmpULT(emit_->get(positions[n]), limits[n]);
      all = all ? emit_->ir().CreateAnd(all, one) : one;
    }
    return all;
  };
  const std::optional<SideSums> side = find_side_sums(each, scope);
  if (side) side_sums_[side->written] = &*side;
  const auto inner = [&](std::span<llvm::Value* const> limits) {
    if (side) begin_side_sums(*side);
    if (!sums.empty()) {
      begin_sums(each, sums);
      llvm::Value* block = emit_->constant(sums.size());
      emit_->while_loop(
          [&] { return emit_->ir().CreateICmpUGE(emit_->ir().CreateSub(limits[0], emit_->get(positions[0])), block); },
          [&] {
            llvm::Value* first = emit_->get(positions[0]);
            for (std::size_t n = 0; n < sums.size(); ++n)
              step_one_driver(each, drivers[0], emit_->add(first, emit_->constant(n)), rest, fingers, sums[n]);
          });
    }
    emit_->while_loop(
        [&] { return has_room(batch.get(), below(limits)); },
        [&] {
          if (drivers.size() == 1)
            step_one_driver(each, drivers[0], emit_->get(positions[0]), rest, fingers, scope);
          else
            step_merge(each, drivers, rest, fingers, scope);
          if (spends) emit_->spend_fuel();
        });
    if (side) add_side_sums(*side);
    add_sums(each, sums, scope);  // before the flag is polled, where what the scope's have summed may move (long_sum.h)
  };
  if (outer)
    in_batches(batch.get(), scope, [&] { return below(ends); }, [&] { inner(ends); });
  else
    emit_->strips(positions, ends, inner);
  if (side) side_sums_.erase(side->written);
  if (fibers) end_adjacent_sums(*fibers, scope);
  end_batch(batch.get());
}

/// Nothing the loop looks up can be missing.
bool Generator::rest_is_dense(std::span<const loop::Step> rest, std::span<const Driver> drivers,
                              const Scope& scope) const {
  Depths depths = scope.depths();
  for (const Driver& driver : drivers) ++depths[driver.access];
  for (const loop::Step& step : rest) {
    if (loop::may_miss(program_, program_.accesses[step.access], depths[step.access])) return false;
    ++depths[step.access];
  }
  return true;
}

/// What has the positions of an operand is inserted wherever that has one.
bool Generator::skips_nothing(std::span<const loop::Step> rest, std::span<const Driver> drivers, const Scope& scope) const {
  std::vector<loop::Step> others;
  std::ranges::copy_if(rest, std::back_inserter(others), [&](const loop::Step& step) {
    return !loop::pattern_of(program_, program_.accesses[step.access].storage);
  });
  return rest_is_dense(others, drivers, scope);
}

void Generator::step_one_driver(const loop::For& each, const Driver& driver, llvm::Value* position,
                                std::span<const loop::Step> rest, std::span<const Finger> fingers, const Scope& scope) {
  Scope here = scope;
  bind_driven(each, driver, position, here);
  // What stands some slots ahead may be a gap.
  const bool foresees = !driver.list && !skips_gaps(driver, scope) && !is_baked(storage_of(driver.access), {position, position});
  if (foresees && !options_.symbolic) prefetch(each, driver, position, rest, scope);
  const loop::Block& body = walked_body(each);
  iteration(each, body, rest, fingers, here);
  if (const auto found = forgetting_.find(&each); found != forgetting_.end())
    forget(found->second, here.cursors[driver.access].begin);
  llvm::Value* run = here.cursors[driver.access].end;
  emit_->set(driver.position, run ? run : entry_from(driver, emit_->add(position, emit_->constant(1)), scope));
}

// Intersection. Two drivers compare with each other in the width their coordinates are stored in: match where equal,
// and whichever is not larger goes on. More compare with their minimum.
void Generator::step_merge(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                           std::span<const Finger> fingers, const Scope& scope) {
  llvm::IRBuilder<>& ir = emit_->ir();
  std::vector<llvm::Value*> positions;
  std::vector<llvm::Value*> coordinates;
  llvm::Type* type = ir.getInt32Ty();
  for (const Driver& driver : drivers) {
    positions.push_back(emit_->get(driver.position));
    coordinates.push_back(coordinate_of(driver, positions.back(), scope));
    if (coordinates.back()->getType() != type) type = emit_->word();
  }
  for (llvm::Value*& coordinate : coordinates) coordinate = ir.CreateZExt(coordinate, type);

  llvm::Value* match = nullptr;
  std::vector<llvm::Value*> advance;
  if (drivers.size() == 2) {
    match = ir.CreateICmpEQ(coordinates[0], coordinates[1]);
    advance = {ir.CreateICmpULE(coordinates[0], coordinates[1]), ir.CreateICmpULE(coordinates[1], coordinates[0])};
  } else {
    llvm::Value* least = coordinates[0];
    for (llvm::Value* coordinate : coordinates)
      if (coordinate != least) least = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, least, coordinate);
    for (llvm::Value* coordinate : coordinates) {
      advance.push_back(ir.CreateICmpEQ(coordinate, least));
      match = match ? ir.CreateAnd(match, advance.back()) : advance.back();
    }
  }
  // Where the next iteration starts: behind the entry, or behind its whole run where it matched.
  std::vector<Slot> runs(drivers.size());
  for (std::size_t n = 0; n < drivers.size(); ++n)
    if (is_run_level(*storage_of(drivers[n].access).storage, scope.cursors[drivers[n].access].bound))
      runs[n] = emit_->slot(emit_->add(positions[n], emit_->widen(advance[n])));
  emit_->if_then(match, [&] {
    Scope here = scope;
    take_coordinate(here, each.index, emit_->widen(coordinates[0]));
    for (std::size_t n = 0; n < drivers.size(); ++n) {
      const loop::AccessId access = drivers[n].access;
      here.cursors[access] = entry_of(drivers[n], positions[n], scope);
      if (here.cursors[access].end) emit_->set(runs[n], here.cursors[access].end);
    }
    bind(rest, here, fingers, &each.body, [&](const Scope& found) {
      Scope loaded = found;
      load_values(each.body, loaded);
      count(each, emit_->constant(1));
      begin_rows(each, loaded);
      block(each.body, loaded);
    });
  });
  for (std::size_t n = 0; n < drivers.size(); ++n)
    emit_->set(drivers[n].position, runs[n].place() ? emit_->get(runs[n])
                                                    : entry_from(drivers[n], emit_->add(positions[n], emit_->widen(advance[n])), scope));
}

void Generator::prefetch(const loop::For& each, const Driver& driver, llvm::Value* position, std::span<const loop::Step> rest,
                         const Scope& scope) {
  const std::vector<const loop::For*>* loops = flat_loops(each);
  if (!loops) {
    prefetch_level(each, driver, position, rest, scope);
    return;
  }
  Scope level = scope;
  for (const loop::For* one : *loops) {
    prefetch_level(*one, driver, position, rest, level);
    ++level.cursors[driver.access].bound;
  }
}

/// Touches what the factors located under the entry some iterations ahead will read: rows of dense ones, the beginning
/// of compressed ones, and further ahead where those begin.
void Generator::prefetch_level(const loop::For& each, const Driver& driver, llvm::Value* position,
                               std::span<const loop::Step> rest, const Scope& scope) {
  // Ends of fibers are read for that which a part of a slice does not have: nothing to check them with, and nothing depends on them.
  if (each.marks.prefetch == 0 || emit_->checked()) return;
  const StorageCode& storage = storage_of(driver.access);
  const std::uint32_t driven = scope.cursors[driver.access].bound;
  // Past the end of the fiber: the next fibers' entries follow in memory, and short fibers would gain nothing else. Of a
  // workspace nothing follows: behind the touched coordinates stands what was there before.
  const bool is_stored = storage.storage->role == loop::Role::input;
  llvm::Value* all = is_stored && !driver.mirror ? storage.levels[driven].positions : nullptr;
  llvm::Value* last = emit_->one_less(all ? all : driver.range.end);
  const auto coordinate_ahead = [&](std::uint64_t distance) {
    llvm::Value* ahead = emit_->minimum(emit_->add(position, emit_->constant(distance)), last);
    return emit_->widen(coordinate_at(*emit_, storage, driven, entry_place(driver, ahead)));
  };
  // Lines behind `end`, where a row may be shorter, are the last one again.
  const auto touch = [&](llvm::Value* first, std::uint64_t bytes, bool written = false, llvm::Value* end = nullptr) {
    for (std::uint64_t line = 0; line < bytes; line += line_bytes) {
      llvm::Value* offset = end && line > 0 ? emit_->minimum(emit_->constant(line), end) : emit_->constant(line);
      emit_->fetch(emit_->address(emit_->ir().getInt8Ty(), first, offset), written);
    }
  };
  llvm::Value* coordinate = coordinate_ahead(each.marks.prefetch);
  llvm::Value* further_coordinate = nullptr;
  for (const loop::Step& step : rest) {
    // Of an access whose further levels are bound here too, R[i,j,k] below loops over j and k, the rows at i are not what is read.
    if (std::ranges::count(rest, step.access, &loop::Step::access) > 1) continue;
    const StorageCode& factor = storage_of(step.access);
    const Cursor& cursor = scope.cursors[step.access];
    const loop::Access& access = program_.accesses[step.access];
    const bool written =
        factor.storage->role == loop::Role::output && !appended_.contains(factor.id) && !loop::pattern_of(program_, factor.id);
    if ((factor.storage->role != loop::Role::input && !written) || access.indices[cursor.bound] != each.index ||
        is_sparse(factor.level(cursor.bound).kind) || factor.level(cursor.bound).strided)
      continue;
    llvm::Value* row = dense_at(*emit_, factor, cursor, coordinate).begin;
    const std::uint32_t below = cursor.bound + 1;
    const unsigned value_bytes = scalar_bytes(factor.storage->scalar);
    if (below < factor.levels.size() && is_compressed(factor.level(below).kind)) {
      llvm::Type* pos = emit_->ir().getIntNTy(factor.level(below).pos_bits);
      llvm::Type* crd = emit_->ir().getIntNTy(factor.level(below).crd_bits);
      if (!further_coordinate) further_coordinate = coordinate_ahead(2 * std::uint64_t{each.marks.prefetch});
      llvm::Value* further = dense_at(*emit_, factor, cursor, further_coordinate).begin;
      touch(emit_->address(pos, factor.levels[below].pos, further), line_bytes);
      llvm::Value* first = positions_below(*emit_, factor, {below, row, nullptr}).begin;
      touch(emit_->address(crd, factor.levels[below].crd, first), line_bytes);
      if (below + 1 == factor.levels.size())
        touch(emit_->address(factor.type, factor.values, first), 2 * line_bytes);
      continue;
    }
    std::uint64_t bytes = value_bytes;
    for (std::size_t level = below; level < factor.levels.size(); ++level) {
      row = emit_->mul(row, factor.levels[level].extent);
      bytes =
          std::min(bytes * known_extent(program_, access.indices[level]).value_or(1), line_bytes * prefetched_lines);
    }
    llvm::Value* end = nullptr;
    if (window_ && below < factor.levels.size() && access.indices.back() == window_->index) {
      row = emit_->add(row, window_->begin);
      const bool open = !window_->masks.empty();
      bytes = open ? window_->most * value_bytes : std::min(bytes, window_->most * value_bytes);
      if (open) end = emit_->sub(emit_->mul(window_->elements, emit_->constant(value_bytes)), emit_->constant(1));
    }
    touch(emit_->address(factor.type, factor.values, row), bytes, written, end);
  }
}

}  // namespace weft
