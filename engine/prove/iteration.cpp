#include "engine/prove/iteration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

using namespace logic;
using loop::Algorithm;
using loop::Program;
using loop::Step;
using loop::Use;

const std::vector<Level>& levels_of(const Program& program, loop::AccessId access) {
  return program.storages[program.accesses[access].storage].levels;
}

/// What is like an operand has its positions, in the levels that are shared.
loop::StorageId stored_in(const Program& program, loop::AccessId access, std::size_t level) {
  const loop::StorageId storage = program.accesses[access].storage;
  if (level >= appended_levels(program.storages[storage].levels)) return storage;
  return loop::pattern_of(program, storage).value_or(storage);
}

bool is_singleton_of_chain(const std::vector<Level>& levels, std::size_t level) {
  return is_per_parent(levels[level].kind) && begins_chain(levels[chain_head(levels, level)].kind);
}

std::string array_of(std::string_view array, const Program& program, loop::StorageId storage, std::size_t level) {
  return fmt::format("{}_{}_{}", array, program.storages[storage].name, level);
}

}  // namespace

loop::Path entered(const loop::Statement& statement, const loop::Path& path) {
  loop::Path inside = path;
  for (const Step& step : loop::steps_of(statement)) inside.bound[step.access].push_back({path.enclosing.size(), step});
  inside.enclosing.push_back(&statement);
  return inside;
}

std::vector<LoopDriver> drivers(const Program& program, const loop::Path& path, std::size_t depth) {
  std::vector<LoopDriver> all;
  std::vector<LoopDriver> merged;
  for (const Step& step : path.loop(depth)->steps) {
    const auto& bound = path.bound[step.access];
    const auto level =
        static_cast<std::size_t>(std::ranges::count_if(bound, [&](const auto& each) { return each.depth < depth; }));
    if (step.use != Use::drive || is_dense(levels_of(program, step.access)[level])) continue;
    all.push_back({step, level});
    if (step.algorithm != Algorithm::gallop && step.algorithm != Algorithm::search) merged.push_back(all.back());
  }
  if (merged.empty() && !all.empty()) merged.push_back(all.front());  // one has to lead
  return merged;
}

bool is_in_key(const std::vector<Level>& levels, std::size_t level) {
  return levels[level].joined || (level + 1 < levels.size() && levels[level + 1].joined);
}

std::size_t chain_head(const std::vector<Level>& levels, std::size_t level) {
  while (level > 0 && is_per_parent(levels[level].kind)) --level;
  return level;
}

Iteration::Iteration(Query& query, const Program& program, const loop::Path& path, std::size_t shared,
                     std::string suffix, const AssumedOfArrays& assumed)
    : query_(query), program_(program), path_(path), shared_(shared), suffix_(std::move(suffix)), assumed_(assumed) {}

std::string Iteration::named(const std::string& name, std::size_t depth) {
  if (depth < shared_) return query_.constant(name);
  const std::string& constant = query_.constant(name + suffix_);
  decided_[depth].emplace(name, constant);
  return constant;
}

std::string Iteration::extent(loop::IndexId index) {
  for (const loop::Fact& fact : program_.facts)
    if (const auto* known = std::get_if<loop::ExtentFact>(&fact); known != nullptr && known->index == index)
      return fmt::format("{}", known->extent);
  const loop::IndexDefinition* const definition = loop::definition_of(program_, index);
  const std::string name = fmt::format("n_{}", program_.indices[index]);
  return definition == nullptr ? query_.constant(name) : given_extent(*definition, name);
}

/// Of n coordinates x there are nq values of x / d, d * (nq - 1) < n <= d * nq; of these % m there are min(nq, m).
std::string Iteration::given_extent(const loop::IndexDefinition& definition, const std::string& name) {
  if (definition.is_sum()) return fmt::format("{}", *definition.extent);
  const std::string all = extent(definition.of.front().index);
  std::uint64_t known = 0;
  if (const auto read = std::from_chars(all.data(), all.data() + all.size(), known); read.ec == std::errc())
    return fmt::format("{}", definition.part.extent(known));
  std::string quotients = all;
  if (definition.part.divisor != 1) {
    quotients = query_.constant("q" + name);
    query_.require(fmt::format("(< (* {} (- {} 1)) {})", definition.part.divisor, quotients, all));
    query_.require(fmt::format("(<= {} (* {} {}))", all, definition.part.divisor, quotients));
  }
  if (definition.part.modulus == 0) return quotients;
  const std::string modulus = fmt::format("{}", definition.part.modulus);
  return fmt::format("(ite {} {} {})", not_above(quotients, modulus), quotients, modulus);
}

std::string Iteration::wanted(loop::IndexId index) {
  const loop::IndexDefinition* const definition = loop::definition_of(program_, index);
  return definition != nullptr && definition->cover ? sum(*definition) : coordinate(index);
}

/// The sum of an index that is given by several: "(+ j (* (- 1) i) 3)".
std::string Iteration::sum(const loop::IndexDefinition& definition) {
  if (!definition.is_sum()) return coordinate(definition.of.front().index);
  std::vector<std::string> parts;
  for (const loop::Summand& summand : definition.of) {
    const std::string of = part_of(summand.index, summand.part);
    parts.push_back(summand.factor == 1 ? of : fmt::format("(* {} {})", number_text(summand.factor), of));
  }
  if (definition.offset != 0) parts.push_back(number_text(definition.offset));
  return joined("+", parts, "0");
}

/// A part of the coordinate of an index, in a sum with others.
std::string Iteration::part_of(loop::IndexId index, const IndexPart& part) {
  const std::string of = coordinate(index);
  if (part.is_whole()) return of;
  const std::size_t depth = path_.depth_of_loop(index);
  const std::string name = fmt::format("{}_{}_{}", program_.indices[index], part.divisor, part.modulus);
  const bool known = depth < shared_ || decided_[depth].contains("part_" + name);
  std::string constant = named("part_" + name, depth);
  if (!known) divide(of, part, name, constant, depth);
  return constant;
}

/// x / d as q: d * q + h = x, 0 <= h < d; q % m as r: m * e + r = q, 0 <= r < m.
void Iteration::divide(std::string of, const IndexPart& part, const std::string& name, const std::string& constant, std::size_t depth) {
  if (part.divisor != 1) {
    const std::string quotient = part.modulus == 0 ? constant : named(fmt::format("q_{}", name), depth);
    const std::string rest = named(fmt::format("h_{}", name), depth);
    query_.require(equal(fmt::format("(+ (* {} {}) {})", part.divisor, quotient, rest), of));
    query_.require(not_above("0", rest));
    query_.require(less(rest, fmt::format("{}", part.divisor)));
    of = quotient;
  }
  if (part.modulus == 0) return;
  const std::string times = named(fmt::format("e_{}", name), depth);
  query_.require(equal(fmt::format("(+ (* {} {}) {})", part.modulus, times, constant), of));
  query_.require(not_above("0", constant));
  query_.require(less(constant, fmt::format("{}", part.modulus)));
}

/// Of a sum alone what it is.
void Iteration::give(const loop::IndexDefinition& definition, const std::string& constant, std::size_t depth) {
  const std::string& name = program_.indices[definition.index];
  std::string of = sum(definition);
  if (definition.cover) {  // b <= j, j < b + 4; that it is the greatest such nothing rests on
    query_.require(not_above(constant, of));
    if (*definition.cover != 0) query_.require(less(of, fmt::format("(+ {} {})", constant, *definition.cover)));
    return;
  }
  if (definition.part.is_whole()) query_.require(equal(constant, of));
  else divide(of, definition.part, name, constant, depth);
}

bool Iteration::is_ranged(std::size_t depth) const { return drivers(program_, path_, depth).empty(); }

std::string Iteration::coordinate(loop::IndexId index) {
  const std::size_t depth = path_.depth_of_loop(index);
  const std::string name = fmt::format("c_{}", program_.indices[index]);
  const bool known = depth < shared_ || decided_[depth].contains(name);
  std::string constant = named(name, depth);
  if (known) return constant;
  if (const loop::IndexDefinition* const definition = loop::definition_of(program_, index)) {
    give(*definition, constant, depth);
    return constant;
  }
  if (is_ranged(depth) || assumed_.below_extents) {
    query_.require(not_above("0", constant));
    query_.require(less(constant, extent(index)));
  }
  return constant;
}

std::string Iteration::position(loop::AccessId access, std::size_t level) {
  const std::vector<Level>& levels = levels_of(program_, access);
  const LevelKind kind = levels[level].kind;
  if (is_in_key(levels, level)) return "0";
  const bool own_entry = !is_per_parent(kind) || is_singleton_of_chain(levels, level);
  const std::size_t depth = path_.bound[access][level].depth;
  if (!own_entry) {
    std::string above = parent(access, level);
    if (depth >= shared_ && std::ranges::none_of(entries_, [&](const Entry& entry) {
          return entry.storage == stored_in(program_, access, level) && entry.level == level && entry.position == above;
        }))
      bind_slot(access, level, above);
    return above;
  }
  if (is_by_extent(kind) && level == 0) return coordinate(program_.accesses[access].indices[0]);
  const std::string name = fmt::format("p_{}_{}", program_.accesses[access].name, level);
  const bool known = depth < shared_ || decided_[depth].contains(name);
  std::string constant = named(name, depth);
  if (known) return constant;
  if (is_by_extent(kind)) {
    query_.require(equal(
        constant, query_.value_of(array_of("at", program_, stored_in(program_, access, level), level),
                                  {parent(access, level), coordinate(program_.accesses[access].indices[level])})));
    note(access, level, constant);
  } else if (has_slots(kind) || is_compressed(kind)) {
    bind_packed(access, level, constant);
    bind_slot(access, level, constant);
  } else {
    bind_packed(access, level, constant);
    for (std::size_t l = chain_head(levels, level); l <= level; ++l) {
      if (l < level) query_.require(not_above(position(access, l), constant));  // runs begin with their first entry
      query_.require(equal(query_.value_of(array_of("crd", program_, stored_in(program_, access, l), l), {constant}),
                           coordinate(program_.accesses[access].indices[l])));
    }
    note(access, level, constant);
  }
  return constant;
}

/// Within the fiber of the parent.
void Iteration::bind_packed(loop::AccessId access, std::size_t level, const std::string& position) {
  const std::size_t head = chain_head(levels_of(program_, access), level);
  const std::string above = parent(access, head);
  const std::string pos = array_of("pos", program_, stored_in(program_, access, head), head);
  query_.require(not_above(query_.value_of(pos, {above}), position));
  query_.require(less(position, query_.value_of(pos, {plus_one(above)})));
}

void Iteration::bind_slot(loop::AccessId access, std::size_t level, const std::string& position) {
  query_.require(equal(query_.value_of(array_of("crd", program_, stored_in(program_, access, level), level), {position}),
                       coordinate(program_.accesses[access].indices[level])));
  note(access, level, position);
}

void Iteration::note(loop::AccessId access, std::size_t level, const std::string& position) {
  const std::vector<Level>& levels = levels_of(program_, access);
  const std::size_t head = begins_chain(levels[chain_head(levels, level)].kind) ? chain_head(levels, level) : level;
  Entry entry{stored_in(program_, access, level), level, position, parent(access, head), {}};
  for (std::size_t l = head; l <= level; ++l)
    entry.coordinates.push_back(coordinate(program_.accesses[access].indices[l]));
  entries_.push_back(std::move(entry));
}

std::string Iteration::time(std::size_t depth) {
  const loop::IndexId index = path_.loop(depth)->index;
  const std::vector<LoopDriver> driving = drivers(program_, path_, depth);
  if (driving.size() != 1) return coordinate(index);
  const loop::AccessId access = driving.front().step.access;
  const std::size_t level = driving.front().level;
  const std::vector<Level>& levels = levels_of(program_, access);
  const LevelKind kind = levels[level].kind;
  if (may_be_key(kind)) {
    const std::size_t first = loop::key_level(levels, level);
    const bool sorted = path_.bound[access][first].step.algorithm == Algorithm::sort;
    if (sorted || first != level) return coordinate(index);
    // An input is visited slot by slot, a workspace in any order.
    const bool of_workspace = program_.storages[program_.accesses[access].storage].role == loop::Role::workspace;
    return of_workspace ? named(fmt::format("t_{}", program_.indices[index]), depth) : position(access, level);
  }
  if (is_by_extent(kind)) return coordinate(index);
  const bool falls = program_.storages[program_.accesses[access].storage].falls(level);  // from the last entry on
  return falls ? fmt::format("(- {})", position(access, level)) : position(access, level);
}

std::vector<std::string> Iteration::times(std::size_t first, std::size_t last) {
  std::vector<std::string> found;
  for (std::size_t depth = first; depth <= last; ++depth)
    if (path_.loop(depth) != nullptr) found.push_back(time(depth));
  return found;
}

std::vector<ClaimValue> Iteration::told(std::size_t last) {
  std::vector<ClaimValue> values;
  for (std::size_t depth = 0; depth < last; ++depth)
    if (const loop::For* each = path_.loop(depth))
      values.push_back({program_.indices[each->index], coordinate(each->index)});
  return values;
}

namespace {

using Entry = Iteration::Entry;

/// What arrays say of two entries, in the order of these two.
void relate_entries(Query& query, const Program& program, const Entry& a, const Entry& b,
                    const AssumedOfArrays& assumed) {
  const std::vector<Level>& levels = program.storages[a.storage].levels;
  const LevelKind kind = levels[a.level].kind;
  const std::string same = equal(a.parent, b.parent);
  const std::string later = all_of({same, less(a.position, b.position)});
  if (is_by_extent(kind)) {
    query.require(implies(comes_before({a.parent, a.coordinates[0]}, {b.parent, b.coordinates[0]}),
                          less(a.position, b.position)));
    return;
  }
  const std::size_t head =
      begins_chain(levels[chain_head(levels, a.level)].kind) ? chain_head(levels, a.level) : a.level;
  if (has_pos(levels[head].kind) && assumed.fibers_in_order) {
    const std::string pos = array_of("pos", program, a.storage, head);
    query.require(implies(less(a.parent, b.parent),
                          not_above(query.value_of(pos, {plus_one(a.parent)}), query.value_of(pos, {b.parent}))));
  }
  const bool in_chain = begins_chain(levels[head].kind);
  if (in_chain && assumed.chains_rise) query.require(implies(later, comes_before(a.coordinates, b.coordinates)));
  const bool falls = program.storages[a.storage].falls(a.level);
  const bool unordered = program.storages[a.storage].is_unordered(a.level);
  if (is_compressed(kind) && !unordered && (falls ? assumed.coordinates_fall : assumed.coordinates_rise))
    query.require(implies(later, falls ? less(b.coordinates[0], a.coordinates[0]) : less(a.coordinates[0], b.coordinates[0])));
  if ((has_slots(kind) || unordered) && assumed.coordinates_differ)
    query.require(implies(all_of({same, equal(a.coordinates[0], b.coordinates[0])}), equal(a.position, b.position)));
}

}  // namespace

void relate(Query& query, const Program& program, const Iteration& a, const Iteration& b,
            const AssumedOfArrays& assumed) {
  for (const Entry& one : a.entries()) {
    for (const Entry& other : b.entries()) {
      if (one.storage != other.storage || one.level != other.level) continue;
      relate_entries(query, program, one, other, assumed);
      relate_entries(query, program, other, one, assumed);
    }
  }
}

void decide_alike(Query& query, Iteration& a, Iteration& b, std::size_t first, std::size_t last) {
  std::vector<std::string> same;
  const std::vector<std::string> one = a.times(first, last);
  const std::vector<std::string> other = b.times(first, last);
  for (std::size_t n = 0; n < one.size(); ++n) same.push_back(equal(one[n], other[n]));
  for (const auto& [name, constant] : a.decided(last)) {
    const auto there = b.decided(last).find(name);
    if (there != b.decided(last).end()) query.require(implies(all_of(same), equal(constant, there->second)));
  }
}

}  // namespace weft
