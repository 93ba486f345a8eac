#include "engine/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/loop/presence.h"
#include "engine/loop/short_fiber.h"
#include "engine/loop/text_order.h"
#include "engine/loop/walk.h"
#include "engine/lower/batches.h"
#include "engine/lower/drains.h"
#include "engine/lower/facts.h"
#include "engine/lower/flat_walks.h"
#include "engine/lower/forest.h"
#include "engine/lower/gathers.h"
#include "engine/lower/independent_sums.h"
#include "engine/lower/joined_results.h"
#include "engine/lower/kept_fingers.h"
#include "engine/lower/nest.h"
#include "engine/lower/registers.h"
#include "engine/lower/widths.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Storages in the order of the text, so that the text needs no line for their order.
LoweredNest in_text_order(LoweredNest nest) {
  const loop::TextOrder order = loop::text_order(nest.program);
  std::vector<std::uint32_t> tensors;
  for (const loop::StorageId storage : order.storages) tensors.push_back(nest.tensors[storage]);
  nest.program = loop::renumbered(nest.program, order);
  nest.tensors = std::move(tensors);
  return nest;
}

/// Which outputs have the positions of an input, and which tell whether they are there.
std::vector<loop::Fact> facts_of_outputs(const Nest& nest, const LoweredNest& lowered) {
  const auto storage_of = [&](std::uint32_t tensor) {
    return static_cast<loop::StorageId>(std::ranges::find(lowered.tensors, tensor) - lowered.tensors.begin());
  };
  std::vector<loop::Fact> result;
  for (const NestStorage& storage : nest.storages) {
    const bool written = storage.storage.role == loop::Role::output;
    if (written && storage.like) result.push_back(loop::LikeFact{storage_of(storage.tensor), storage_of(*storage.like)});
    if (storage.tells_presence) result.push_back(loop::PresenceFact{storage_of(storage.tensor)});
  }
  return result;
}

LoweredNest lowered(const Nest& nest, const Network& network, const std::vector<bool>& finite) {
  LoweredNest result = in_text_order(forest(nest, network));
  result.program.facts = facts_of_outputs(nest, result);
  std::ranges::copy(facts(result, network, finite), std::back_inserter(result.program.facts));
  return result;
}

/// A register row is added to its target whole, which makes the entries of a target that knows them: only where
/// every loop that sums into the row provably runs (the verifier's rule of presence); so too a workspace that is read beside factors that
/// are not known finite. A target with the positions of an operand is found through that operand, which the loop that adds the row does
/// not read: only where its levels are bound before (the rule of like).
LoweredNest lowered_with_rows(const Nest& nest, const Network& network, const std::vector<bool>& finite) {
  LoweredNest rows = lowered(with_register_rows(with_register_sums(nest), network), network, finite);
  const bool may_not = std::ranges::any_of(nest.storages, [](const NestStorage& storage) {
    return is_appended(storage) || storage.tells_presence || storage.like || storage.storage.role == loop::Role::workspace;
  });
  return !may_not || loop::verify(rows.program) ? rows : lowered(nest, network, finite);
}

/// The fewest facts with which the program is proven correct: none, finite values, or extents too.
LoweredNest with_fewest_facts(const LoweredNest& all) {
  LoweredNest fewer = all;
  const auto keep = [&](const auto& wanted) {
    fewer.program.facts.clear();
    std::ranges::copy_if(all.program.facts, std::back_inserter(fewer.program.facts), wanted);
    return loop::verify(fewer.program).has_value();
  };
  const auto of_output = [](const loop::Fact& fact) {
    return std::holds_alternative<loop::LikeFact>(fact) || std::holds_alternative<loop::PresenceFact>(fact);
  };
  if (keep(of_output)) return fewer;
  if (keep([](const loop::Fact& fact) { return !std::holds_alternative<loop::ExtentFact>(fact); })) return fewer;
  return all;
}

/// Rows in windows need no fact, but that a row is added whole may need some (lowered_with_rows): then there are none.
LoweredNest lowered_generic(const Nest& nest, const Network& network, const std::vector<bool>& finite) {
  LoweredNest plain = with_fewest_facts(lowered(nest, network, finite));
  LoweredNest rows = with_fewest_facts(lowered(with_windowed_rows(nest), network, finite));
  return rows.program.facts.size() <= plain.program.facts.size() && loop::verify(rows.program) ? rows : plain;
}

void add_full_levels(LoweredNest& nest, const std::vector<std::vector<bool>>& full) {
  for (loop::StorageId storage = 0; storage < nest.program.storages.size(); ++storage) {
    const loop::Storage& input = nest.program.storages[storage];
    if (input.role != loop::Role::input || nest.tensors[storage] >= full.size()) continue;
    const std::vector<bool>& levels = full[nest.tensors[storage]];
    for (std::uint32_t level = 0; level < levels.size(); ++level) {
      if (levels[level] && is_compressed(input.levels[level].kind) && !input.falls(level) && !input.is_unordered(level))
        nest.program.facts.push_back(loop::FullFact{storage, level});
    }
  }
}

/// Whether a loop over fibers of the storage's last level has sums alone inside, so that it may be one over vectors.
bool sums_over_fibers(const loop::Program& program, loop::StorageId storage) {
  bool found = false;
  (void)loop::walk(program, [&](const loop::Statement& statement, const loop::Path&) -> Expected<void> {
    const auto* each = std::get_if<loop::For>(&statement.node);
    if (each == nullptr || each->marks.flat || each->marks.batch > 0) return {};
    const auto is_sum = [](const loop::Statement& inner) { return std::holds_alternative<loop::Accumulate>(inner.node); };
    const auto driver = std::ranges::find(each->steps, loop::Use::drive, &loop::Step::use);
    if (driver == each->steps.end() || !std::ranges::all_of(each->body, is_sum)) return {};
    const loop::Access& access = program.accesses[driver->access];
    found = found || (access.storage == storage && access.indices.back() == each->index);
    return {};
  });
  return found;
}

void add_adjacent_levels(LoweredNest& nest, const std::vector<Adjacency>& adjacent) {
  for (loop::StorageId storage = 0; storage < nest.program.storages.size(); ++storage) {
    const loop::Storage& input = nest.program.storages[storage];
    if (input.role != loop::Role::input || nest.tensors[storage] >= adjacent.size()) continue;
    const Adjacency how = adjacent[nest.tensors[storage]];
    const auto last = static_cast<std::uint32_t>(input.levels.size() - 1);
    if (how == Adjacency::none || input.falls(last) || input.is_unordered(last)) continue;
    // A fact that no code needs would only keep the kernel from other patterns.
    if (how == Adjacency::from_first && input.place_bits == 0 && !sums_over_fibers(nest.program, storage)) continue;
    nest.program.facts.push_back(loop::AdjacentFact{storage, last, how == Adjacency::from_zero});
  }
}

void add_short_fibers(LoweredNest& nest, const std::vector<std::vector<LoweringFacts::Fiber>>& fibers) {
  for (loop::StorageId storage = 0; storage < nest.program.storages.size(); ++storage) {
    const loop::Storage& input = nest.program.storages[storage];
    if (input.role != loop::Role::input || nest.tensors[storage] >= fibers.size()) continue;
    const std::vector<LoweringFacts::Fiber>& levels = fibers[nest.tensors[storage]];
    for (std::uint32_t level = 0; level < levels.size(); ++level) {
      if (levels[level].maximum == 0) continue;
      const loop::FiberFact fact{storage, level, levels[level].maximum, levels[level].exact};
      nest.program.facts.push_back(fact);
      if (!loop::is_used(nest.program, fact)) nest.program.facts.pop_back();
    }
  }
}

/// Patterns, and all extents: what is known of a level below a dense one depends on its extent.
void add_patterns(LoweredNest& nest, const Network& network, const std::vector<std::optional<std::uint64_t>>& patterns) {
  bool any = false;
  for (loop::StorageId storage = 0; storage < nest.program.storages.size(); ++storage) {
    const std::uint32_t tensor = nest.tensors[storage];
    const loop::Storage& input = nest.program.storages[storage];
    if (input.role != loop::Role::input || tensor >= patterns.size() || !patterns[tensor]) continue;
    if (input.falling != 0 || input.unordered != 0) continue;
    nest.program.facts.push_back(loop::PatternFact{storage, *patterns[tensor]});
    any = true;
  }
  for (loop::IndexId index = 0; any && index < nest.program.indices.size(); ++index) {
    if (loop::definition_of(nest.program, index) != nullptr) continue;
    const loop::Fact extent = loop::ExtentFact{index, network.indices[nest.indices[index]].extent};
    if (std::ranges::find(nest.program.facts, extent) == nest.program.facts.end()) nest.program.facts.push_back(extent);
  }
}

LoweredNest specialized(const Nest& given, const Network& network, const std::vector<bool>& finite,
                        const LoweringFacts& more) {
  if (more.grade == Specialization::generic) return lowered_generic(with_flat_walks(given, more.runs), network, finite);
  const Nest nest = with_gathers(with_flat_walks(given, more.runs), network, more.means);
  LoweredNest result = lowered_with_rows(nest, network, finite);
  // A full level is no driver to the rule of presence, so that one more fact may prove less.
  LoweredNest full = result;
  add_full_levels(full, more.full);
  if (loop::verify(full.program)) result = std::move(full);
  add_short_fibers(result, more.fibers);
  keep_fingers(result, network, more.means);
  mark_batches(result, more.means);
  mark_independent_sums(result, more.means);
  if (more.grade == Specialization::baked) add_patterns(result, network, more.patterns);
  return result;
}

bool is_read(const std::vector<Nest>& nests, std::uint32_t tensor) {
  return std::ranges::any_of(nests, [&](const Nest& nest) {
    return std::ranges::any_of(nest.storages, [&](const NestStorage& storage) {
      return storage.tensor == tensor && storage.storage.role == loop::Role::input;
    });
  });
}

/// Which results runs may scale, and which have strides: those that later nests do not read.
void mark_results(Nest& nest, const std::vector<Nest>& nests, const Schedule& schedule, const LoweringFacts& more) {
  for (NestStorage& storage : nest.storages) {
    if (storage.storage.role != loop::Role::output || schedule.tensors[storage.tensor].role != TensorRole::result) continue;
    const std::string& name = schedule.tensors[storage.tensor].name;
    if (is_read(nests, storage.tensor) || is_appended(storage)) continue;
    storage.scaled = more.scaled.contains(name);
    std::vector<Level>& levels = storage.storage.levels;
    if (storage.like || levels.empty() || !more.strided.contains(name)) continue;
    for (std::size_t level = 0; level + 1 < levels.size(); ++level) levels[level].strided = true;
    if (levels.size() == 1) levels[0].strided = true;
  }
}

/// Which operands have values that are read through places.
void mark_places(Nest& nest, const std::vector<std::uint8_t>& place_bits) {
  for (NestStorage& storage : nest.storages)
    if (storage.storage.role == loop::Role::input && storage.tensor < place_bits.size())
      storage.storage.place_bits = place_bits[storage.tensor];
}

}  // namespace

Expected<std::vector<LoweredNest>> lower(const Schedule& schedule, const Network& given,
                                         const std::vector<bool>& finite, const LoweringFacts& more) {
  const Network network = scheduled_network(schedule, given);
  const auto read = nests(schedule, network, finite);
  if (!read) return std::unexpected(read.error());
  std::vector<LoweredNest> result;
  const std::vector<Nest> joined = with_joined_results(*read, schedule, network);
  for (Nest nest : joined) {
    mark_results(nest, joined, schedule, more);
    mark_places(nest, more.place_bits);
    nest.caches = more.caches;
    LoweredNest lowered = specialized(with_workspace_widths(with_drains(nest), network), network, finite, more);
    lowered.program = loop::with_needed_finite_facts(std::move(lowered.program));
    add_adjacent_levels(lowered, more.adjacent);
    if (auto wide = check_widths(lowered, network); !wide) return std::unexpected(wide.error());
    if (const auto good = loop::verify(lowered.program); !good) {
      return internal_error(
          fmt::format("lower: {}\nin the program\n{}", good.error().message, loop::print(lowered.program)));
    }
    result.push_back(std::move(lowered));
  }
  return result;
}

}  // namespace weft
