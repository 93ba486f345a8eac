#include "engine/prove/kernel_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <tuple>
#include <utility>

#include "engine/loop/finger_home.h"
#include "engine/prove/fiber_claims.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

using namespace logic;
using loop::Algorithm;
using loop::Program;
using loop::Step;
using loop::Use;

/// The indices of the loops from one depth to before another: "i j", "none".
std::string loops_text(const Program& program, const loop::Path& path, std::size_t first, std::size_t last) {
  std::vector<std::string> names;
  for (std::size_t depth = first; depth < last; ++depth)
    if (const loop::For* each = path.loop(depth)) names.push_back(program.indices[each->index]);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " "));
}

/// A level of an access bound by a step of the last statement on a path.
struct BoundHere {
  const Step* step = nullptr;
  std::size_t level = 0;
};

std::vector<BoundHere> bound_here(const loop::Path& inside) {
  std::vector<BoundHere> found;
  const std::size_t depth = inside.enclosing.size() - 1;
  std::vector<std::size_t> next(inside.bound.size());
  for (std::size_t access = 0; access < next.size(); ++access)
    next[access] = static_cast<std::size_t>(
        std::ranges::count_if(inside.bound[access], [&](const auto& each) { return each.depth < depth; }));
  for (const Step& step : loop::steps_of(*inside.enclosing.back())) found.push_back({&step, next[step.access]++});
  return found;
}

class KernelClaims {
 public:
  KernelClaims(const Program& program, const AssumedOfArrays& assumed) : program_(program), assumed_(assumed) {}

  std::vector<Claim> all() {
    const Expected<void> walked =
        loop::walk(program_, [&](const loop::Statement& statement, const loop::Path& path) -> Expected<void> {
          if (const auto* each = std::get_if<loop::For>(&statement.node); each != nullptr)
            claim_owners(*each, path.enclosing.size());
          if (std::holds_alternative<loop::Accumulate>(statement.node)) {
            claim_accesses(std::get<loop::Accumulate>(statement.node), path);
          } else if (!loop::steps_of(statement).empty()) {
            const loop::Path inside = entered(statement, path);
            for (const BoundHere& here : bound_here(inside)) claim_lookup(inside, here);
          }
          return {};
        });
    static_cast<void>(walked);  // this visitor has no error
    return std::move(claims_);
  }

 private:
  const std::vector<Level>& levels_of(loop::AccessId access) const {
    return program_.storages[program_.accesses[access].storage].levels;
  }

  std::string at_text(loop::AccessId access, std::size_t level) const {
    const loop::Access& each = program_.accesses[access];
    return fmt::format("{} at {}", each.name, program_.indices[each.indices[level]]);
  }

  bool has_fact(const loop::FullFact& fact) const {
    return std::ranges::find(program_.facts, loop::Fact(fact)) != program_.facts.end();
  }

  bool is_short(loop::StorageId storage, std::size_t level) const {
    return std::ranges::any_of(program_.facts, [&](const loop::Fact& fact) {
      const auto* fiber = std::get_if<loop::FiberFact>(&fact);
      return fiber != nullptr && fiber->storage == storage && fiber->level == level;
    });
  }

  void add(Claim claim) {
    if (asked_.emplace(claim.kind, claim.says, claim.query).second) claims_.push_back(std::move(claim));
  }

  void claim_lookup(const loop::Path& inside, const BoundHere& here) {
    const Step& step = *here.step;
    const std::vector<Level>& levels = levels_of(step.access);
    const LevelKind kind = levels[here.level].kind;
    const bool single = is_per_parent(kind) && !begins_chain(levels[chain_head(levels, here.level)].kind);
    if (single || step.use == Use::insert || step.use == Use::append) return;
    Lookup lookup{levels, here.level, at_text(step.access, here.level), {}, may_be_key(kind) && step.use == Use::drive};
    lookup.falls = program_.storages[program_.accesses[step.access].storage].falls(here.level);
    lookup.unordered = program_.storages[program_.accesses[step.access].storage].is_unordered(here.level);
    if (const loop::IndexDefinition* const start = loop::cover_at(program_, program_.accesses[step.access], here.level))
      lookup.cover = start->cover;
    const std::size_t depth = inside.enclosing.size() - 1;
    const std::vector<LoopDriver> driving =
        inside.loop(depth) != nullptr ? drivers(program_, inside, depth) : std::vector<LoopDriver>();
    const auto drives = [&](const LoopDriver& driver) { return driver.step == step && driver.level == here.level; };
    if (std::ranges::any_of(driving, drives)) {
      lookup.skeleton = lookup.falls ? "merge downwards" : "merge";
      if (driving.size() > 1) claim_each(lookup, {passed_claim, candidate_claim});
    } else if (lookup.unordered && lookup.cover) {
      lookup.skeleton = "covering scan";
      claim_each(lookup, {covering_claim});
    } else if (lookup.unordered) {
      lookup.skeleton = "scan";
      claim_each(lookup, {unique_claim});
    } else if (has_slots(kind) || has_bits(kind)) {
      lookup.skeleton = has_bits(kind) ? "bitmap" : "hash";
      if (!is_in_key(levels, here.level)) claim_each(lookup, {unique_claim});
    } else if (is_packed(kind) || is_per_parent(kind)) {
      claim_search(lookup, inside, here);
    }
  }

  void claim_search(Lookup& lookup, const loop::Path& inside, const BoundHere& here) {
    const loop::StorageId storage = program_.accesses[here.step->access].storage;
    if (lookup.cover) return claim_cover(lookup, inside, here);
    if (is_compressed(lookup.levels[here.level].kind) && has_fact({storage, static_cast<std::uint32_t>(here.level)})) {
      lookup.skeleton = "table";
      return claim_each(lookup, {table_claim});
    }
    lookup.skeleton = is_short(storage, here.level) ? "few entries in turn" : "bisection";
    if (lookup.falls) lookup.skeleton += " downwards";
    if (here.step->algorithm != Algorithm::gallop) return claim_each(lookup, {candidate_claim, probe_claim});
    lookup.skeleton = claim_cursor(inside, here, lookup.falls ? "downward " : "");
    if (lookup.falls) lookup.skeleton = "downward " + lookup.skeleton;
    claim_each(lookup, {passed_claim, candidate_claim, probe_claim});
  }

  /// The last start that is not above, by halves or from where the last one was found: the one block that may cover a coordinate.
  void claim_cover(Lookup& lookup, const loop::Path& inside, const BoundHere& here) {
    lookup.skeleton = lookup.falls ? "covering search downwards" : "covering search";
    if (here.step->algorithm != Algorithm::gallop) return claim_each(lookup, {covering_claim, probe_claim});
    lookup.skeleton = "covering " + claim_cursor(inside, here, "covering ");
    claim_each(lookup, {passed_claim, covering_claim, probe_claim});
  }

  void claim_each(const Lookup& lookup, std::initializer_list<Claim (*)(const Lookup&, const AssumedOfArrays&)> kinds) {
    for (const auto kind : kinds) add(kind(lookup, assumed_));
  }

  /// A finger starts anew with every run of the loop that it is kept above, its own or one further out: the loops around that are the
  /// state.
  /// The skeleton: "cursor j", "cursor from J".
  std::string claim_cursor(const loop::Path& inside, const BoundHere& here, std::string_view kind = "") {
    const std::size_t own = inside.enclosing.size() - 1;
    if (inside.loop(own) == nullptr) return kind.empty() ? "bisection" : "search";  // a finger is moved by a loop
    const std::size_t home = loop::home_depth(inside, *here.step);
    const loop::Access& access = program_.accesses[here.step->access];
    const loop::IndexId index = access.indices[here.level];
    std::string skeleton = fmt::format("cursor {}{}", home < own ? "from " : "", program_.indices[inside.loop(home)->index]);
    Query query;
    Iteration a(query, program_, inside, home, "_1", assumed_);
    Iteration b(query, program_, inside, home, "_2", assumed_);
    const std::vector<std::string> before = a.times(home, own);
    query.require(comes_before(before, b.times(home, own)));
    const std::string parent = a.parent(here.step->access, here.level);
    const std::string another = negated(equal(parent, b.parent(here.step->access, here.level)));
    const std::string earlier = a.wanted(index);
    query.require(any_of({another, less(b.wanted(index), earlier)}));
    std::vector<std::vector<ClaimValue>> examples = {a.told(own + 1), b.told(own + 1)};
    relate(query, program_, a, b, assumed_);
    for (std::size_t depth = home; depth < own; ++depth)
      if (inside.loop(depth) != nullptr) decide_alike(query, a, b, home, depth);
    add({"cursor",
         fmt::format("{} never moves back, loops {}, state {}", at_text(here.step->access, here.level),
                     loops_text(program_, inside, 0, own + 1), loops_text(program_, inside, 0, home)),
         query.text(), std::move(examples), true, std::string(kind) + skeleton});
    return skeleton;
  }

  /// Of a parallel root at a depth: what two of its iterations write.
  void claim_owners(const loop::For& root, std::size_t depth) {
    for (const loop::ParallelTarget& target : root.marks.parallel) {
      if (target.reduction != loop::Reduction::owner) continue;
      std::vector<const loop::PlacedAccumulate*> writers;
      for (const loop::PlacedAccumulate& each : all_)
        if (depth < each.path.enclosing.size() && each.path.loop(depth) == &root &&
            program_.accesses[each.accumulate->target].storage == target.storage)
          writers.push_back(&each);
      for (std::size_t one = 0; one < writers.size(); ++one)
        for (std::size_t other = one; other < writers.size(); ++other)
          claim_owner(root, depth, *writers[one], *writers[other]);
    }
  }

  void claim_owner(const loop::For& root, std::size_t depth, const loop::PlacedAccumulate& one,
                   const loop::PlacedAccumulate& other) {
    Query query;
    Iteration a(query, program_, one.path, depth, "_1", assumed_);
    Iteration b(query, program_, other.path, depth, "_2", assumed_);
    const std::string time = a.time(depth);
    query.require(negated(equal(time, b.time(depth))));
    const std::string written = place(a, one);
    query.require(equal(written, place(b, other)));
    std::vector<std::vector<ClaimValue>> examples = {a.told(last_bound(one) + 1), b.told(last_bound(other) + 1)};
    relate(query, program_, a, b, assumed_);
    add({"owner",
         fmt::format("iterations of {} write entries of {} of their own", program_.indices[root.index],
                     program_.storages[program_.accesses[one.accumulate->target].storage].name),
         query.text(), std::move(examples), true, "owner"});
  }

  static std::string place(Iteration& iteration, const loop::PlacedAccumulate& writer) {
    const loop::AccessId target = writer.accumulate->target;
    return iteration.parent(target, writer.path.bound[target].size());
  }

  /// Depth of the statement that binds the last level of a target.
  static std::size_t last_bound(const loop::PlacedAccumulate& writer) {
    const auto& bound = writer.path.bound[writer.accumulate->target];
    return bound.empty() ? 0 : bound.back().depth;
  }

  void claim_accesses(const loop::Accumulate& accumulate, const loop::Path& path) {
    std::vector<loop::AccessId> used = accumulate.factors;
    used.push_back(accumulate.target);
    for (const loop::AccessId access : used) claim_within(access, path);
    const auto& bound = path.bound[accumulate.target];
    for (std::size_t level = 0; level < bound.size(); ++level)
      if (bound[level].step.use == Use::append) claim_append(accumulate.target, level, path);
  }

  /// The coordinates at which levels with a place for each are looked up; those of ranges are within them by
  /// definition.
  void claim_within(loop::AccessId access, const loop::Path& path) {
    Query query;
    Iteration iteration(query, program_, path, 0, "", assumed_);
    std::vector<std::string> outside;
    std::vector<ClaimValue> example;
    const std::vector<Level>& levels = levels_of(access);
    for (std::size_t level = 0; level < levels.size(); ++level) {
      const loop::IndexId index = program_.accesses[access].indices[level];
      const std::size_t depth = path.depth_of_loop(index);
      const loop::IndexDefinition* const given = loop::definition_of(program_, index);
      const bool ranged = given == nullptr && drivers(program_, path, depth).empty();
      const bool checked = given != nullptr && given->is_sum();  // a sum out of range finds nothing
      if (!is_by_extent(levels[level].kind) || ranged || checked) continue;
      const std::string coordinate = iteration.coordinate(index);
      outside.push_back(less(coordinate, "0"));
      outside.push_back(not_above(iteration.extent(index), coordinate));
      example.push_back({program_.indices[index], coordinate});
    }
    if (outside.empty()) return;
    query.require(any_of(outside));
    add({"within",
         fmt::format("{} is looked up within its extents", program_.accesses[access].name),
         query.text(),
         {example},
         true,
         "table"});
  }

  /// Of two entries that one level gets, the later one comes behind the other.
  void claim_append(loop::AccessId target, std::size_t level, const loop::Path& path) {
    const loop::Access& access = program_.accesses[target];
    const std::size_t last = path.bound[target][level].depth;
    const bool inside = program_.storages[access.storage].role == loop::Role::workspace;
    const std::size_t first = inside ? path.depth_of_with(access.storage) + 1 : 0;
    Query query;
    Iteration a(query, program_, path, first, "_1", assumed_);
    Iteration b(query, program_, path, first, "_2", assumed_);
    const std::vector<std::string> before = a.times(first, last);
    query.require(comes_before(before, b.times(first, last)));
    std::vector<std::string> one;
    std::vector<std::string> other;
    for (std::size_t l = 0; l <= level; ++l) {
      one.push_back(a.coordinate(access.indices[l]));
      other.push_back(b.coordinate(access.indices[l]));
    }
    query.require(negated(comes_before(one, other)));
    std::vector<std::vector<ClaimValue>> examples = {a.told(last + 1), b.told(last + 1)};
    relate(query, program_, a, b, assumed_);
    for (std::size_t depth = first; depth < last; ++depth)
      if (path.loop(depth) != nullptr) decide_alike(query, a, b, first, depth);
    add({"append",
         fmt::format("{} is appended in order, loops {}", at_text(target, level),
                     loops_text(program_, path, first, last + 1)),
         query.text(), std::move(examples), true, "append"});
  }

  const Program& program_;
  const AssumedOfArrays& assumed_;
  std::vector<loop::PlacedAccumulate> all_ = loop::accumulates(program_);
  std::vector<Claim> claims_;
  std::set<std::tuple<std::string, std::string, std::string>> asked_;
};

}  // namespace

std::vector<Claim> kernel_claims(const Program& program, const AssumedOfArrays& assumed) {
  return KernelClaims(program, assumed).all();
}

}  // namespace weft
