#include "engine/codegen/presence.h"

#include <algorithm>

#include "engine/loop/overloaded.h"

namespace weft {

using loop::Accumulate;
using loop::Bind;
using loop::Block;
using loop::For;
using loop::Program;
using loop::Statement;
using loop::Step;
using loop::StorageId;
using loop::Use;
using loop::With;

namespace {

bool has_crd(LevelKind kind) {
  return kind == LevelKind::compressed || kind == LevelKind::compressed_nonunique || kind == LevelKind::singleton;
}

const loop::Storage& storage_of(const Program& program, loop::AccessId access) {
  return program.storages[program.accesses[access].storage];
}

const With* with_of(const Block& block, StorageId workspace) {
  for (const Statement& statement : block) {
    const With* found = std::visit(
        loop::Overloaded{[&](const For& each) { return with_of(each.body, workspace); },
                         [&](const Bind& late) { return with_of(late.body, workspace); },
                         [&](const With& live) {
                           return live.workspace == workspace ? &live : with_of(live.body, workspace);
                         },
                         [](const Accumulate&) -> const With* { return nullptr; }},
        statement.node);
    if (found) return found;
  }
  return nullptr;
}

void collect_sums(const Block& block, std::vector<const Accumulate*>& found) {
  for (const Statement& statement : block)
    std::visit(loop::Overloaded{[&](const For& each) { collect_sums(each.body, found); },
                                [&](const Bind& late) { collect_sums(late.body, found); },
                                [&](const With& live) { collect_sums(live.body, found); },
                                [&](const Accumulate& sum) { found.push_back(&sum); }},
               statement.node);
}

/// Which levels the steps of one loop bind: of an access, those of the loop's index and the late ones before and after.
bool filters_nothing(const Program& program, const std::vector<Step>& steps) {
  return std::ranges::all_of(steps, [&](const Step& step) {
    if (step.use == Use::insert || step.use == Use::append) return true;
    const std::vector<Level>& levels = storage_of(program, step.access).levels;
    return std::ranges::none_of(levels, [](const Level& level) { return is_sparse(level.kind); });
  });
}

/// The loop runs its body at least once and leaves out nothing on the way: over a known range with dense steps, or
/// driven by a level that has something stored below every position above it.
bool certainly_runs(const Program& program, const For& each) {
  const Step* driver = nullptr;
  for (const Step& step : each.steps) {
    if (step.use == Use::insert || step.use == Use::append) continue;
    const loop::Access& access = program.accesses[step.access];
    const std::vector<Level>& levels = program.storages[access.storage].levels;
    const bool sparse = std::ranges::any_of(levels, [](const Level& level) { return is_sparse(level.kind); });
    if (!sparse) continue;
    // Which of its levels the step binds is told by the index, if no other level has it.
    const auto place = std::ranges::find(access.indices, each.index);
    if (std::ranges::count(access.indices, each.index) != 1 ||
        std::ranges::count(each.steps, step.access, &Step::access) != 1)
      return false;
    const auto level = static_cast<std::size_t>(place - access.indices.begin());
    if (!is_sparse(levels[level].kind)) continue;
    const bool never_empty = step.use == Use::drive && storage_of(program, step.access).role == loop::Role::input &&
                             level > 0 && has_crd(levels[level].kind) && has_crd(levels[level - 1].kind);
    if (driver || !never_empty) return false;
    driver = &step;
  }
  return driver || known_extent(program, each.index).value_or(0) > 0;
}

/// Zero times the other factors is zero and adding it to a result that has the entry anyway, a dense one or one like an
/// operand, changes nothing, here and wherever it is read.
bool zero_is_harmless(const Program& program, const std::vector<const Accumulate*>& sums, const Accumulate& reader,
                      StorageId absent);

bool is_finite(const Program& program, const std::vector<const Accumulate*>& sums, StorageId storage) {
  if (program.storages[storage].role == loop::Role::input)
    return std::ranges::any_of(program.facts, [&](const loop::Fact& fact) {
      const auto* finite = std::get_if<loop::FiniteFact>(&fact);
      return finite && finite->storage == storage;
    });
  return std::ranges::all_of(sums, [&](const Accumulate* sum) {
    return program.accesses[sum->target].storage != storage ||
           std::ranges::all_of(sum->factors, [&](loop::AccessId factor) {
             return is_finite(program, sums, program.accesses[factor].storage);
           });
  });
}

bool reads(const Program& program, const Accumulate& sum, StorageId storage) {
  return std::ranges::any_of(sum.factors,
                             [&](loop::AccessId factor) { return program.accesses[factor].storage == storage; });
}

bool zero_is_harmless(const Program& program, const std::vector<const Accumulate*>& sums, const Accumulate& reader,
                      StorageId absent) {
  for (const loop::AccessId factor : reader.factors)
    if (program.accesses[factor].storage != absent && !is_finite(program, sums, program.accesses[factor].storage))
      return false;
  const StorageId target = program.accesses[reader.target].storage;
  const loop::Storage& storage = program.storages[target];
  const bool sparse = std::ranges::any_of(storage.levels, [](const Level& level) { return is_sparse(level.kind); });
  if (sparse && !loop::pattern_of(program, target)) return false;
  if (storage.role == loop::Role::output) return true;
  return std::ranges::all_of(sums, [&](const Accumulate* next) {
    return !reads(program, *next, target) || zero_is_harmless(program, sums, *next, target);
  });
}

}  // namespace

bool certainly_accumulates(const Program& program, const Block& block, StorageId storage) {
  return std::ranges::any_of(block, [&](const Statement& statement) {
    return std::visit(
        loop::Overloaded{
            [&](const For& each) {
              return certainly_runs(program, each) && certainly_accumulates(program, each.body, storage);
            },
            [&](const Bind& late) {
              return filters_nothing(program, late.steps) && certainly_accumulates(program, late.body, storage);
            },
            [&](const With& live) { return certainly_accumulates(program, live.body, storage); },
            [&](const Accumulate& sum) {
              return program.accesses[sum.target].storage == storage && flagged_factors(program, sum).empty();
            }},
        statement.node);
  });
}

bool needs_flag(const Program& program, StorageId workspace) {
  const loop::Storage& storage = program.storages[workspace];
  if (storage.role != loop::Role::workspace || !storage.levels.empty()) return false;
  const With* live = with_of(program.body, workspace);
  if (!live || certainly_accumulates(program, live->body, workspace)) return false;
  std::vector<const Accumulate*> sums;
  collect_sums(program.body, sums);
  return !std::ranges::all_of(sums, [&](const Accumulate* sum) {
    return !reads(program, *sum, workspace) || zero_is_harmless(program, sums, *sum, workspace);
  });
}

std::vector<StorageId> flagged_factors(const Program& program, const Accumulate& sum) {
  std::vector<StorageId> found;
  for (const loop::AccessId factor : sum.factors) {
    const StorageId storage = program.accesses[factor].storage;
    if (std::ranges::find(found, storage) == found.end() && needs_flag(program, storage)) found.push_back(storage);
  }
  return found;
}

}  // namespace weft
