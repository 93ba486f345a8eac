#include "engine/loop/dense_product.h"

#include <algorithm>

#include "engine/loop/presence.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

/// Loops that stand directly in each other, and what the innermost holds.
struct Chain {
  std::vector<const For*> loops;
  const Block* inside = nullptr;
};

Chain chain_of(const For& each) {
  Chain chain{{&each}, &each.body};
  while (chain.inside->size() == 1) {
    const auto* next = std::get_if<For>(&chain.inside->front().node);
    if (next == nullptr) break;
    chain.loops.push_back(next);
    chain.inside = &next->body;
  }
  return chain;
}

const Accumulate* only_sum(const Block& block) { return block.size() == 1 ? std::get_if<Accumulate>(&block.front().node) : nullptr; }

bool has_index(const std::vector<const For*>& loops, IndexId index) { return std::ranges::find(loops, index, &For::index) != loops.end(); }

/// All loops of a nest, the one accumulation of products, and the target that it ends in.
struct Nest {
  std::vector<const For*> loops;
  const Accumulate* product = nullptr;
  AccessId target = 0;
  std::optional<StorageId> workspace;
};

/// `with w { loops: w += product; loops: target += w }`.
bool read_workspace(const Program& program, const With& live, Nest& nest) {
  if (live.body.size() != 2) return false;
  const auto* fills = std::get_if<For>(&live.body[0].node);
  const auto* reads = std::get_if<For>(&live.body[1].node);
  if (fills == nullptr || reads == nullptr) return false;
  const Chain filling = chain_of(*fills);
  const Chain reading = chain_of(*reads);
  const Accumulate* into = only_sum(*filling.inside);
  const Accumulate* from = only_sum(*reading.inside);
  if (into == nullptr || from == nullptr || from->factors.size() != 1 || from->negative || from->coefficient) return false;
  const Access& written = program.accesses[into->target];
  const Access& read = program.accesses[from->factors.front()];
  const bool is_row = written.storage == live.workspace && read.storage == live.workspace && written.indices == read.indices &&
                      written.indices.size() == reading.loops.size() && !may_be_absent(program, live.workspace) &&
                      program.storages[live.workspace].scalar == program.storages[program.accesses[from->target].storage].scalar;
  const bool same = std::ranges::all_of(written.indices,
                                        [&](IndexId index) { return has_index(filling.loops, index) && has_index(reading.loops, index); });
  if (!is_row || !same) return false;
  nest.loops.insert(nest.loops.end(), filling.loops.begin(), filling.loops.end());
  nest.product = into;
  nest.target = from->target;
  nest.workspace = live.workspace;
  return true;
}

std::optional<Nest> nest_of(const Program& program, const For& each) {
  const Chain chain = chain_of(each);
  Nest nest{chain.loops, only_sum(*chain.inside), 0, {}};
  if (nest.product != nullptr) {
    nest.target = nest.product->target;
    return nest;
  }
  const auto* live = chain.inside->size() == 1 ? std::get_if<With>(&chain.inside->front().node) : nullptr;
  return live != nullptr && read_workspace(program, *live, nest) ? std::optional(nest) : std::nullopt;
}

/// The loops drive nothing and leave nothing out: their steps are on the accesses of the product.
bool only_locates(const Program& program, const Nest& nest) {
  const auto is_own = [&](AccessId access) {
    return access == nest.target || program.accesses[access].storage == nest.workspace ||
           std::ranges::find(nest.product->factors, access) != nest.product->factors.end();
  };
  return std::ranges::all_of(nest.loops, [&](const For* each) {
    return !each->marks.flat && std::ranges::all_of(each->steps, [&](const Step& step) {
      return step.use != Use::drive && step.use != Use::append && is_own(step.access);
    });
  });
}

/// The levels of an access that are not bound around the nest.
std::span<const IndexId> free_indices(const Program& program, AccessId access, std::span<const std::uint32_t> bound) {
  return std::span(program.accesses[access].indices).subspan(bound[access]);
}

bool is_dense_inside(const Program& program, AccessId access, std::span<const std::uint32_t> bound) {
  const std::vector<Level>& levels = program.storages[program.accesses[access].storage].levels;
  for (std::size_t level = bound[access]; level < levels.size(); ++level)
    if (!is_dense(levels[level]) || is_at_sum(program, program.accesses[access], level)) return false;
  return true;
}

/// An operand, or a workspace that is all there.
bool is_matrix(const Program& program, AccessId access) {
  const Storage& storage = program.storages[program.accesses[access].storage];
  const bool whole = std::ranges::all_of(storage.levels, [](const Level& level) { return is_dense(level); });
  return storage.role == Role::workspace ? whole : storage.role == Role::input && storage.place_bits == 0;
}

std::uint64_t extent_or(const Program& program, IndexId index, std::uint64_t unknown) {
  for (const Fact& fact : program.facts)
    if (const auto* known = std::get_if<ExtentFact>(&fact); known != nullptr && known->index == index) return known->extent;
  return unknown;
}

/// The longest of the loops that may be rows; of one whose extent is no fact it may be thought that it is long.
const For* longest(const Program& program, const std::vector<const For*>& loops) {
  const For* found = nullptr;
  for (const For* each : loops)
    if (found == nullptr || extent_or(program, each->index, 256) >= extent_or(program, found->index, 256)) found = each;
  return found;
}

}  // namespace

std::optional<DenseProduct> dense_product(const Program& program, const For& each, std::span<const std::uint32_t> bound) {
  const std::optional<Nest> nest = nest_of(program, each);
  if (!nest || nest->loops.size() < 3 || nest->product->factors.size() < 2 || !only_locates(program, *nest)) return std::nullopt;
  const auto free = [&](AccessId access) { return free_indices(program, access, bound); };
  const auto has = [&](AccessId access, IndexId index) { return std::ranges::find(free(access), index) != free(access).end(); };
  const std::span<const IndexId> written = free(nest->target);
  const Storage& result = program.storages[program.accesses[nest->target].storage];
  if (written.empty() || result.levels.back().strided || !is_dense_inside(program, nest->target, bound)) return std::nullopt;
  for (std::size_t n = 0; n < written.size(); ++n)
    if (std::ranges::find(written.subspan(n + 1), written[n]) != written.end()) return std::nullopt;  // a diagonal
  DenseProduct found;
  found.target = nest->target;
  found.product = nest->product;
  for (const For* one : nest->loops) {
    if (std::ranges::count(nest->loops, one->index, &For::index) > 1) return std::nullopt;
    if (one->index == written.back()) found.column = one;
    if (has(nest->target, one->index)) continue;
    if (found.sum != nullptr) return std::nullopt;
    found.sum = one;
  }
  if (found.column == nullptr || found.sum == nullptr) return std::nullopt;
  std::optional<AccessId> left;
  std::optional<AccessId> right;
  for (const AccessId factor : nest->product->factors) {
    if (!is_dense_inside(program, factor, bound) || program.accesses[factor].storage == program.accesses[nest->target].storage)
      return std::nullopt;
    const bool across = has(factor, found.column->index);
    if (!across && !has(factor, found.sum->index)) continue;
    std::optional<AccessId>& side = across ? right : left;
    if (side || !is_matrix(program, factor)) return std::nullopt;
    side = factor;
  }
  if (!left || !right || !has(*right, found.sum->index)) return std::nullopt;
  found.left = *left;
  found.right = *right;
  std::vector<const For*> rows;
  for (const For* one : nest->loops) {
    const bool scales = std::ranges::any_of(
        nest->product->factors, [&](AccessId factor) { return factor != *left && factor != *right && has(factor, one->index); });
    if (one != found.sum && one != found.column && has(*left, one->index) && !has(*right, one->index) && !scales) rows.push_back(one);
  }
  found.row = longest(program, rows);
  if (found.row == nullptr) return std::nullopt;
  for (const For* one : nest->loops)
    if (one != found.row && one != found.sum && one != found.column) found.outer.push_back(one);
  return found;
}

}  // namespace weft::loop
