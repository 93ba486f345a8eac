#include "engine/lower/flat_walks.h"

#include <algorithm>
#include <optional>

#include "engine/lower/drains.h"
#include "engine/network/code_forms.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// The levels [first, last] of a factor's chain and the depth of the loop over the first.
struct Chain {
  const NestAccess* access = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t depth = 0;
};

bool is_long(const Nest& nest, const RunLengths& runs, const NestAccess& access, std::size_t level) {
  const std::uint32_t tensor = nest.storages[access.storage].tensor;
  const double length = tensor < runs.size() && level < runs[tensor].size() ? runs[tensor][level] : 0;
  return length == 0 || length >= long_run_entries;
}

/// The rest of a chain from its first level with short runs on, where the loops of the statement go through it level by level.
std::optional<Chain> short_chain(const Nest& nest, const RunLengths& runs, const NestStatement& statement, const NestAccess& access) {
  const std::vector<Level>& levels = nest.storages[access.storage].storage.levels;
  std::size_t begin = 0;
  while (begin < levels.size() && !begins_chain(levels[begin].kind)) ++begin;
  if (begin == levels.size()) return std::nullopt;
  Chain chain{&access, begin, begin, 0};
  while (chain.last + 1 < levels.size() && is_per_parent(levels[chain.last + 1].kind)) ++chain.last;
  while (chain.first < chain.last && is_long(nest, runs, access, chain.first)) ++chain.first;
  if (chain.first == chain.last) return std::nullopt;
  for (std::size_t level = chain.first; level <= chain.last; ++level)
    if (nest.storages[access.storage].is_located(level)) return std::nullopt;
  const auto loop = std::ranges::find(statement.loops, access.indices[chain.first]);
  chain.depth = static_cast<std::size_t>(loop - statement.loops.begin());
  const auto in_chain = access.indices.begin() + static_cast<std::ptrdiff_t>(chain.first);
  const auto past_chain = access.indices.begin() + static_cast<std::ptrdiff_t>(chain.last) + 1;
  if (statement.loops.end() - loop < past_chain - in_chain || !std::equal(in_chain, past_chain, loop)) return std::nullopt;
  // The levels above: a sum i+j is found where the last of its indices is bound, and the chain below it then too.
  const auto is_outside = [&](IndexId index) { return std::find(statement.loops.begin(), loop, index) != loop; };
  for (std::size_t level = 0; level < chain.first; ++level)
    if (!std::ranges::all_of(nest.storages[access.storage].indices_at(access, level), is_outside)) return std::nullopt;
  return chain;
}

/// Another access with a sparse level of its own at one of the loops.
bool filters(const Nest& nest, const NestAccess& access, const NestStatement& statement, const Chain& chain) {
  const auto begin = statement.loops.begin() + static_cast<std::ptrdiff_t>(chain.depth);
  const auto end = begin + static_cast<std::ptrdiff_t>(chain.last - chain.first) + 1;
  for (std::size_t level = 0; level < access.indices.size(); ++level) {
    const NestStorage& storage = nest.storages[access.storage];
    const std::vector<IndexId> at = storage.indices_at(access, level);
    const bool here = std::ranges::any_of(at, [&](IndexId index) { return std::find(begin, end, index) != end; });
    if (here && (is_sparse(storage.storage.levels[level].kind) || storage.is_sum(level))) return true;
  }
  return false;
}

/// The statements from `first` on that share the first of the loops share all of them, and nothing but the chain is sparse there.
bool may_walk(const Nest& nest, std::size_t first, const Chain& chain) {
  const std::size_t innermost = chain.depth + chain.last - chain.first;
  const std::size_t last = last_sharer(nest.statements, first, chain.depth);
  if (first > 0 && nest.statements[first].fused > chain.depth) return false;
  if (last_sharer(nest.statements, first, innermost) != last) return false;
  for (std::size_t number = first; number <= last; ++number) {
    const NestStatement& statement = nest.statements[number];
    if (is_appended(nest.storages[statement.target.storage])) return false;
    for (const NestAccess& factor : statement.factors)
      if (&factor != chain.access && filters(nest, factor, nest.statements[first], chain)) return false;
  }
  return true;
}

}  // namespace

Nest with_flat_walks(Nest nest, const RunLengths& runs) {
  for (std::size_t number = 0; number < nest.statements.size(); ++number) {
    NestStatement& statement = nest.statements[number];
    for (const NestAccess& factor : statement.factors) {
      const auto chain = short_chain(nest, runs, statement, factor);
      if (!chain || !may_walk(nest, number, *chain)) continue;
      statement.flat = static_cast<std::uint32_t>(chain->depth);
      break;
    }
  }
  return nest;
}

}  // namespace weft
