#include "engine/prove/fiber_claims.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/level_traits.h"

namespace weft {
namespace {

using namespace logic;

/// The fiber that is searched: constants of its entries, and what the arrays say of them. Below runs of a chain the
/// entries of one run.
class Fiber {
 public:
  Fiber(const Lookup& lookup, const AssumedOfArrays& assumed) : lookup_(lookup), assumed_(assumed) {
    const auto& levels = lookup.levels;
    head_ = chain_head(levels, lookup.level);
    last_ = lookup.level;
    while (last_ + 1 < levels.size() && is_per_parent(levels[last_ + 1].kind)) ++last_;
    chain_ = begins_chain(levels[head_].kind);
    if (!chain_) head_ = last_ = lookup.level;
  }

  Query& query() { return query_; }
  bool has_runs() const { return lookup_.level < last_; }

  std::string entry(const std::string& name) {
    std::string position = query_.constant(name);
    const std::string begin = query_.value_of("pos", {parent()});
    const std::string end = query_.value_of("pos", {plus_one(parent())});
    query_.require(not_above(begin, position));
    query_.require(less(position, end));
    for (std::size_t l = head_; l < lookup_.level; ++l)
      query_.require(equal(crd(l, position), query_.constant(fmt::format("run{}", l - head_))));
    return position;
  }
  std::string parent() { return query_.constant("parent"); }
  std::string coordinate(const std::string& position) { return crd(lookup_.level, position); }
  std::string wanted(const std::string& name) { return query_.constant(name); }

  /// What arrays say of two entries, in the order of these two.
  void relate(const std::string& a, const std::string& b) {
    if (chain_ && assumed_.chains_rise) query_.require(implies(less(a, b), comes_before(tuple(a), tuple(b))));
    if (lookup_.sorted) {
      query_.require(implies(less(a, b), not_above(coordinate(a), coordinate(b))));
      if (assumed_.coordinates_differ) query_.require(implies(equal(coordinate(a), coordinate(b)), equal(a, b)));
    }
    if (lookup_.falls && assumed_.coordinates_fall) query_.require(implies(less(a, b), less(coordinate(b), coordinate(a))));
    if (lookup_.unordered && assumed_.coordinates_differ) query_.require(implies(equal(coordinate(a), coordinate(b)), equal(a, b)));
    if (lookup_.cover && assumed_.starts_apart) {
      if (lookup_.falls) query_.require(implies(less(a, b), not_above(end_of_block(b), coordinate(a))));
      if (lookup_.unordered) query_.require(implies(less(coordinate(a), coordinate(b)), not_above(end_of_block(a), coordinate(b))));
    }
    if (lookup_.falls || lookup_.unordered) return;
    // A place for each coordinate of the extent, in their order, or coordinates that are stored so.
    if (is_by_extent(kind()) || (is_compressed(kind()) && assumed_.coordinates_rise))
      query_.require(implies(less(a, b), less(coordinate(a), coordinate(b))));
    if (lookup_.cover && assumed_.starts_apart) query_.require(implies(less(a, b), not_above(end_of_block(a), coordinate(b))));
  }

  /// Whether a search comes to the one before it comes to the other: from the last entry on where coordinates fall.
  std::string before(const std::string& a, const std::string& b) { return lookup_.falls ? less(b, a) : less(a, b); }
  /// What arrays say of both, in whatever order they stand.
  void relate_both(const std::string& a, const std::string& b) {
    relate(a, b);
    if (lookup_.falls || lookup_.unordered) relate(b, a);
  }

  /// Behind the last place of the block that begins at a position.
  std::string end_of_block(const std::string& position) {
    if (*lookup_.cover != 0) return fmt::format("(+ {} {})", coordinate(position), *lookup_.cover);
    const std::string length = query_.value_of("length", {position});
    query_.require(not_above("0", length));
    return fmt::format("(+ {} {})", coordinate(position), length);
  }
  std::string covers(const std::string& position, const std::string& wanted) {
    return all_of({not_above(coordinate(position), wanted), less(wanted, end_of_block(position))});
  }

  /// "(position=3,coordinate=7)"
  std::vector<ClaimValue> told(const std::string& position) {
    const std::string constant = query_.constant("crd_" + position);
    query_.require(equal(constant, coordinate(position)));
    return {{"position", position}, {"coordinate", constant}};
  }

 private:
  LevelKind kind() const { return lookup_.levels[lookup_.level].kind; }
  std::string crd(std::size_t level, const std::string& position) {
    return query_.value_of(fmt::format("crd{}", level - head_), {position});
  }
  std::vector<std::string> tuple(const std::string& position) {
    std::vector<std::string> coordinates;
    for (std::size_t l = head_; l <= last_; ++l) coordinates.push_back(crd(l, position));
    return coordinates;
  }

  const Lookup& lookup_;
  const AssumedOfArrays& assumed_;
  Query query_;
  std::size_t head_ = 0;
  std::size_t last_ = 0;  // of the chain
  bool chain_ = false;
};

Claim claimed(std::string kind, std::string says, Fiber& fiber, std::vector<std::vector<ClaimValue>> examples,
              const Lookup& lookup) {
  return {std::move(kind), std::move(says), fiber.query().text(), std::move(examples), true, lookup.skeleton};
}

}  // namespace

Claim passed_claim(const Lookup& lookup, const AssumedOfArrays& assumed) {
  Fiber fiber(lookup, assumed);
  const std::string behind = fiber.entry("p");
  const std::string last = fiber.entry("q");
  const std::string wanted = fiber.wanted("t");
  const std::string later = fiber.wanted("u");
  fiber.relate(behind, last);
  if (lookup.cover) {  // the finger stays at the last start that is not above
    fiber.query().require(less(behind, last));
    fiber.query().require(not_above(fiber.coordinate(last), wanted));
    fiber.query().require(not_above(wanted, later));
    fiber.query().require(fiber.covers(behind, later));
    std::vector<std::vector<ClaimValue>> passed = {fiber.told(behind), fiber.told(last), {{"wanted", wanted}, {"later", later}}};
    return claimed("passed", fmt::format("what is passed of {} covers no later coordinate", lookup.what), fiber, std::move(passed), lookup);
  }
  if (lookup.falls) fiber.relate(last, behind);
  fiber.query().require(lookup.falls ? not_above(last, behind) : not_above(behind, last));
  fiber.query().require(less(fiber.coordinate(last), wanted));
  fiber.query().require(not_above(wanted, later));
  fiber.query().require(equal(fiber.coordinate(behind), later));
  std::vector<std::vector<ClaimValue>> examples = {
      fiber.told(behind), fiber.told(last), {{"wanted", wanted}, {"later", later}}};
  return claimed("passed", fmt::format("what is passed of {} matches no later coordinate", lookup.what), fiber,
                 std::move(examples), lookup);
}

Claim candidate_claim(const Lookup& lookup, const AssumedOfArrays& assumed) {
  Fiber fiber(lookup, assumed);
  const std::string stop = fiber.entry("p");
  const std::string behind = fiber.entry("q");
  const std::string wanted = fiber.wanted("t");
  fiber.relate_both(stop, behind);
  fiber.query().require(fiber.before(stop, behind));
  fiber.query().require(equal(fiber.coordinate(behind), wanted));
  std::vector<std::vector<ClaimValue>> examples = {fiber.told(stop), fiber.told(behind), {{"wanted", wanted}}};
  if (!fiber.has_runs()) {
    fiber.query().require(not_above(wanted, fiber.coordinate(stop)));
  } else {
    const std::string between = fiber.entry("m");
    fiber.relate(stop, between);
    fiber.relate(between, behind);
    const std::string apart = all_of({equal(fiber.coordinate(stop), wanted), less(stop, between), less(between, behind),
                                      negated(equal(fiber.coordinate(between), wanted))});
    fiber.query().require(any_of({less(wanted, fiber.coordinate(stop)), apart}));
  }
  const std::string says = lookup.falls      ? "before the entry of {} where the search stops nothing matches"
                           : fiber.has_runs() ? "behind the run of {} where the search stops nothing matches"
                                            : "behind the entry of {} where the search stops nothing matches";
  return claimed("candidate", fmt::format(fmt::runtime(says), lookup.what), fiber, std::move(examples), lookup);
}

Claim covering_claim(const Lookup& lookup, const AssumedOfArrays& assumed) {
  Fiber fiber(lookup, assumed);
  const std::string stop = fiber.entry("p");
  const std::string other = fiber.entry("q");
  const std::string wanted = fiber.wanted("t");
  const std::string above = fiber.entry("m");  // behind the stop, and as far as the other
  fiber.relate(stop, other);
  fiber.relate(other, stop);
  if (!lookup.unordered) fiber.relate_both(above, other);
  fiber.query().require(not_above(fiber.coordinate(stop), wanted));
  fiber.query().require(fiber.covers(other, wanted));
  if (lookup.unordered) {  // of all that are not above the greatest
    fiber.query().require(negated(equal(stop, other)));
    fiber.query().require(not_above(fiber.coordinate(other), fiber.coordinate(stop)));
  } else {
    const std::string behind =
        all_of({fiber.before(stop, above), negated(fiber.before(other, above)), less(wanted, fiber.coordinate(above))});
    fiber.query().require(any_of({fiber.before(other, stop), behind}));
  }
  std::vector<std::vector<ClaimValue>> examples = {fiber.told(stop), fiber.told(other), {{"wanted", wanted}}};
  return claimed("candidate", fmt::format("beside the block of {} where the search stops none covers the coordinate", lookup.what), fiber,
                 std::move(examples), lookup);
}

Claim probe_claim(const Lookup& lookup, const AssumedOfArrays& assumed) {
  Fiber fiber(lookup, assumed);
  const std::string not_below = fiber.entry("p");
  const std::string below = fiber.entry("q");
  const std::string wanted = fiber.wanted("t");
  fiber.relate_both(not_below, below);
  fiber.query().require(fiber.before(not_below, below));
  const char* const where = lookup.falls ? "behind" : "before";
  if (lookup.cover) {
    fiber.query().require(less(wanted, fiber.coordinate(not_below)));
    fiber.query().require(not_above(fiber.coordinate(below), wanted));
    std::vector<std::vector<ClaimValue>> tells = {fiber.told(not_below), fiber.told(below), {{"wanted", wanted}}};
    return claimed("probe", fmt::format("starts of {} not above a coordinate come {} the others", lookup.what, where), fiber,
                   std::move(tells), lookup);
  }
  fiber.query().require(not_above(wanted, fiber.coordinate(not_below)));
  fiber.query().require(less(fiber.coordinate(below), wanted));
  std::vector<std::vector<ClaimValue>> examples = {fiber.told(not_below), fiber.told(below), {{"wanted", wanted}}};
  return claimed("probe", fmt::format("entries of {} below a coordinate come {} the others", lookup.what, where), fiber,
                 std::move(examples), lookup);
}

Claim table_claim(const Lookup& lookup, const AssumedOfArrays& assumed) {
  Fiber fiber(lookup, assumed);
  Query& query = fiber.query();
  const std::string first = fiber.entry("p");
  const std::string found = fiber.entry("q");
  const std::string last = fiber.entry("r");
  const std::string wanted = fiber.wanted("t");
  const std::string extent = query.constant("n");
  const std::string begin = query.value_of("pos", {fiber.parent()});
  const std::string end = query.value_of("pos", {plus_one(fiber.parent())});
  query.require(equal(first, begin));
  query.require(equal(end, plus_one(last)));
  query.require(equal(found, fmt::format("(+ {} {})", begin, wanted)));
  query.require(not_above("0", wanted));
  query.require(less(wanted, extent));
  if (assumed.fibers_full) query.require(equal(end, fmt::format("(+ {} {})", begin, extent)));
  for (const std::string& each : {first, found, last}) {
    if (!assumed.below_extents) break;
    query.require(not_above("0", fiber.coordinate(each)));
    query.require(less(fiber.coordinate(each), extent));
  }
  // What rises strictly over integers rises by as much as there are entries between.
  for (const auto& [a, b] : {std::pair{first, found}, std::pair{found, last}}) {
    if (assumed.coordinates_rise)
      query.require(not_above(fmt::format("(+ {} (- {} {}))", fiber.coordinate(a), b, a), fiber.coordinate(b)));
  }
  query.require(negated(equal(fiber.coordinate(found), wanted)));
  std::vector<std::vector<ClaimValue>> examples = {fiber.told(found), {{"wanted", wanted}}};
  return claimed("table", fmt::format("a full fiber of {} has each coordinate at its place", lookup.what), fiber,
                 std::move(examples), lookup);
}

Claim unique_claim(const Lookup& lookup, const AssumedOfArrays& assumed) {
  Fiber fiber(lookup, assumed);
  Query& query = fiber.query();
  const std::string wanted = fiber.wanted("t");
  const bool by_extent = is_by_extent(lookup.levels[lookup.level].kind);
  const auto place = [&](const std::string& name) {
    if (!by_extent) return fiber.entry(name);
    // A place for each coordinate of the extent.
    std::string position = query.constant(name);
    query.require(equal(position, query.value_of("at", {fiber.parent(), query.constant("crd_" + name)})));
    return position;
  };
  const auto stored = [&](const std::string& position) {
    return by_extent ? query.constant("crd_" + position) : fiber.coordinate(position);
  };
  const std::string one = place("p");
  const std::string other = place("q");
  if (!by_extent && assumed.coordinates_differ)
    query.require(implies(equal(stored(one), stored(other)), equal(one, other)));
  query.require(negated(equal(one, other)));
  query.require(equal(stored(one), wanted));
  query.require(equal(stored(other), wanted));
  std::vector<std::vector<ClaimValue>> examples = {
      {{"position", one}}, {{"position", other}}, {{"coordinate", wanted}}};
  return claimed("unique", fmt::format("a fiber of {} has one place for a coordinate", lookup.what), fiber,
                 std::move(examples), lookup);
}

}  // namespace weft
