#include "engine/codegen/baked_size.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/codegen/joined.h"
#include "engine/codegen/structure.h"
#include "engine/loop/overloaded.h"
#include "engine/loop/short_fiber.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

using loop::For;
using loop::Step;

// Sizes in instructions, measured. Time goes by basic blocks too: a search has a dozen, and LLVM takes for each as long as for several
// instructions.
constexpr std::uint64_t size_of_search = 64;
constexpr std::uint64_t size_of_insertion = 32;
constexpr std::uint64_t size_of_appending = 128;
constexpr std::uint64_t size_of_loop = 32;
constexpr std::uint64_t size_in_chunk = 8;  // of the look whether an iteration is in the kernel's range

/// Iterations that are written side by side at least once more, so that sums need not wait for each other.
constexpr std::uint64_t sums_side_by_side = 4;
/// Vectors of a loop at run time: several at a time, then one, then what is left.
constexpr std::uint64_t vectors_of_loop = 40;
constexpr std::uint64_t vector_elements = 4;

/// Of an access: how many levels are bound, and where, if code has the position as a constant.
struct KnownPlace {
  std::uint32_t bound = 0;
  std::optional<std::uint64_t> position = 0;
};

/// What is constant where a statement stands.
struct KnownPlaces {
  std::vector<KnownPlace> places;                               // by access
  std::vector<std::optional<std::uint64_t>> coordinates;  // by index

  Depths depths() const {
    Depths result;
    for (const KnownPlace& place : places) result.push_back(place.bound);
    return result;
  }
};

struct BakedFiber {
  std::uint64_t begin = 0, end = 0;
};

class BakedWalk {
 public:
  BakedWalk(const loop::Program& program, const CodeOptions& options, std::uint64_t most)
      : program_(program), most_(most), patterns_(program.storages.size(), nullptr) {
    for (const loop::Fact& fact : program.facts) {
      const auto* stated = std::get_if<loop::PatternFact>(&fact);
      if (stated == nullptr || !options.patterns || options.checked) continue;
      if (const auto found = options.patterns->find(stated->digest); found != options.patterns->end())
        patterns_[stated->storage] = &found->second;
    }
  }

  std::uint64_t size() {
    KnownPlaces known{std::vector<KnownPlace>(program_.accesses.size()),
                std::vector<std::optional<std::uint64_t>>(program_.indices.size())};
    block(program_.body, known);
    return size_;
  }

 private:
  const loop::Program& program_;
  const std::uint64_t most_;
  std::vector<const Pattern*> patterns_;  // by storage; null: not baked
  std::uint64_t size_ = 0;

  bool enough() const { return size_ > most_; }
  const loop::Access& access(const Step& step) const { return program_.accesses[step.access]; }
  const loop::Storage& storage(const Step& step) const { return program_.storages[access(step).storage]; }
  const Pattern* pattern(const Step& step) const { return patterns_[access(step).storage]; }

  /// An entry of a sparse level is looked for, or made: neither every coordinate has one nor do they follow each other.
  bool is_searched(const Step& step, std::uint32_t level) const {
    const loop::AdjacentFact* const adjacent = adjacent_fact(program_, access(step).storage);
    return is_sparse(storage(step).levels[level].kind) && !is_full(program_, access(step).storage, level) &&
           (adjacent == nullptr || adjacent->level != level);
  }

  void block(const loop::Block& statements, const KnownPlaces& known) {
    for (const loop::Statement& statement : statements) {
      if (enough()) return;
      ++size_;
      std::visit(loop::Overloaded{[&](const For& each) { loop(each, known); },
                                  [&](const loop::Bind& late) { bind(late.steps, {}, known, late.body); },
                                  [&](const loop::With& live) { block(live.body, known); },
                                  [&](const loop::Accumulate& sum) { size_ += sum.factors.size(); }},
                 statement.node);
    }
  }

  /// What stands in a loop that is written `times` times at most.
  template <class Body>
  void repeated(std::uint64_t times, const Body& body) {
    const std::uint64_t before = size_;
    body();
    size_ += (size_ - before) * (times - 1);
  }

  void loop(const For& each, const KnownPlaces& known) {
    if (const JoinedLoops loops = joined_loops(program_, each); !loops.empty()) {
      const std::uint64_t vectors = is_unrolled(program_, loops) ? *known_elements(program_, loops) / vector_elements + 1 : vectors_of_loop;
      repeated(vectors, [&] { block(loops.back()->body, known); });
      return;
    }
    std::vector<Step> before;
    std::vector<Step> own;
    Depths depths = known.depths();
    for (const Step& step : each.steps) {
      const bool outside = !loop::is_of_loop(program_, access(step).indices[depths[step.access]++], each.index);
      const bool first = std::ranges::find(own, step.access, &Step::access) == own.end();
      (outside && first ? before : own).push_back(step);
    }
    KnownPlaces here = known;
    if (!bound(before, {}, here)) return;
    iterations(each, own, here);
  }

  /// The drivers of a loop, and what is looked up under them.
  struct SortedSteps {
    std::vector<Step> driving;
    std::vector<Step> rest;
  };
  SortedSteps sorted(const std::vector<Step>& steps, const KnownPlaces& known) const {
    SortedSteps result;
    const Depths depths = known.depths();
    std::vector<bool> seen(program_.accesses.size(), false);
    for (const Step& step : steps) {
      const LevelKind kind = next_level(program_, step.access, depths).kind;
      const bool stored_bits = storage(step).role == loop::Role::input && has_gaps(kind);
      const bool drives = step.use == loop::Use::drive && is_sparse(kind) && !seen[step.access] &&
                          (!has_bits(kind) || stored_bits || depths[step.access] < key_levels(storage(step)));
      seen[step.access] = true;
      (drives ? result.driving : result.rest).push_back(step);
    }
    if (result.driving.size() < 2) return result;
    const auto is_looked_up = [](const Step& step) {
      return step.algorithm == loop::Algorithm::gallop || step.algorithm == loop::Algorithm::search;
    };
    std::ranges::stable_partition(result.driving, std::not_fn(is_looked_up));
    auto looked_up = std::ranges::find_if(result.driving, is_looked_up);
    if (looked_up == result.driving.begin()) ++looked_up;  // one has to lead
    result.rest.insert(result.rest.begin(), looked_up, result.driving.end());
    result.driving.erase(looked_up, result.driving.end());
    return result;
  }

  void iterations(const For& each, const std::vector<Step>& own, const KnownPlaces& known) {
    const SortedSteps steps = sorted(own, known);
    const std::vector<loop::AccessId> fingers = galloping(steps, known);
    const bool cut = is_ranged(program_) && &each == std::get_if<For>(&program_.body.front().node);
    if (steps.driving.size() == 1) {
      const Step& driver = steps.driving.front();
      if (const auto fiber = baked_fiber(driver, known)) {
        const std::uint32_t level = known.places[driver.access].bound;
        for (std::uint64_t position = fiber->begin; position < fiber->end && !enough(); ++position) {
          KnownPlaces here = known;
          here.places[driver.access] = {level + 1, position};
          take(each.index, pattern(driver)->crd[level].at(position), here);
          if (cut) size_ += size_in_chunk;
          iteration(steps.rest, fingers, here, each.body);
        }
        return;
      }
    }
    const std::optional<std::uint64_t> extent = known_extent(program_, each.index);
    const bool walks_baked = std::ranges::any_of(
        steps.rest, [&](const Step& step) { return pattern(step) != nullptr && known.places[step.access].position; });
    if (steps.driving.empty() && extent && (walks_baked || is_written_out(program_, each))) {
      for (std::uint64_t coordinate = 0; coordinate < *extent && !enough(); ++coordinate) {
        KnownPlaces here = known;
        take(each.index, coordinate, here);
        if (cut) size_ += size_in_chunk;
        iteration(steps.rest, fingers, here, each.body);
      }
      return;
    }
    KnownPlaces here = known;
    take(each.index, std::nullopt, here);
    for (const Step& step : steps.driving) here.places[step.access] = {here.places[step.access].bound + 1, std::nullopt};
    size_ += size_of_loop;
    const bool searches =
        std::ranges::any_of(steps.rest, [&](const Step& step) { return is_searched(step, known.places[step.access].bound); });
    const std::uint64_t sums = contains_loop(each.body) ? each.marks.unroll : sums_side_by_side;
    repeated(searches ? 1 : 1 + sums, [&] { iteration(steps.rest, fingers, here, each.body); });
  }

  void iteration(std::span<const Step> rest, std::span<const loop::AccessId> fingers, const KnownPlaces& known, const loop::Block& body) {
    ++size_;
    bind(rest, fingers, known, body);
  }

  void bind(std::span<const Step> steps, std::span<const loop::AccessId> fingers, const KnownPlaces& known, const loop::Block& body) {
    KnownPlaces here = known;
    if (bound(steps, fingers, here)) block(body, here);
  }

  /// Binds the levels. False where code knows that one has no such entry, and writes nothing.
  bool bound(std::span<const Step> steps, std::span<const loop::AccessId> fingers, KnownPlaces& known) {
    for (const Step& step : steps) {
      ++size_;
      KnownPlace& place = known.places[step.access];
      const std::uint32_t level = place.bound++;
      const std::optional<std::uint64_t> coordinate = known.coordinates[access(step).indices[level]];
      const bool by_finger = step.algorithm == loop::Algorithm::gallop && is_searched(step, level) &&
                             std::ranges::find(fingers, step.access) != fingers.end();
      if (pattern(step) == nullptr || !place.position || !coordinate || by_finger) {
        place.position.reset();
        if (is_searched(step, level)) size_ += size_of(step.use);
        continue;
      }
      if (is_dense(storage(step).levels[level])) {
        const std::uint64_t extent = known_extent(program_, access(step).indices[level]).value_or(*coordinate + 1);
        if (*coordinate >= extent) return false;
        place.position = *place.position * extent + *coordinate;
        continue;
      }
      const BakedFiber fiber = fiber_at(*pattern(step), level, *place.position);
      const std::vector<std::uint64_t>& crd = pattern(step)->crd[level];
      const auto end = crd.begin() + static_cast<std::ptrdiff_t>(fiber.end);
      const auto found = std::lower_bound(crd.begin() + static_cast<std::ptrdiff_t>(fiber.begin), end, *coordinate);
      if (found == end || *found != *coordinate) return false;
      place.position = static_cast<std::uint64_t>(found - crd.begin());
    }
    return true;
  }

  static std::uint64_t size_of(loop::Use use) {
    if (use == loop::Use::append) return size_of_appending;
    return use == loop::Use::insert ? size_of_insertion : size_of_search;
  }

  /// Accesses that are looked up from where the iteration before found them, which no constant tells.
  std::vector<loop::AccessId> galloping(const SortedSteps& steps, const KnownPlaces& known) const {
    std::vector<loop::AccessId> result;
    std::vector<bool> seen(program_.accesses.size(), false);
    for (const Step& step : steps.driving) seen[step.access] = true;
    for (const Step& step : steps.rest) {
      const std::uint32_t level = known.places[step.access].bound;
      if (!seen[step.access] && step.algorithm == loop::Algorithm::gallop && is_sparse(storage(step).levels[level].kind) &&
          !loop::short_fiber(program_, access(step).storage, level))
        result.push_back(step.access);
      seen[step.access] = true;
    }
    return result;
  }

  std::optional<BakedFiber> baked_fiber(const Step& driver, const KnownPlaces& known) const {
    const KnownPlace& place = known.places[driver.access];
    if (pattern(driver) == nullptr || !place.position) return std::nullopt;
    return fiber_at(*pattern(driver), place.bound, *place.position);
  }

  static BakedFiber fiber_at(const Pattern& pattern, std::uint32_t level, std::uint64_t parent) {
    return {pattern.pos[level].at(parent), pattern.pos[level].at(parent + 1)};
  }

  /// The coordinate of a loop, and those that it gives together with others.
  void take(loop::IndexId index, std::optional<std::uint64_t> coordinate, KnownPlaces& known) const {
    known.coordinates[index] = coordinate;
    for (const loop::IndexDefinition& each : program_.definitions) {
      if (!each.is_given_by(index)) continue;
      std::optional<std::uint64_t>& given = known.coordinates[each.index];
      given.reset();
      if (each.cover) continue;  // found, and not folded
      std::uint64_t sum = static_cast<std::uint64_t>(each.offset);  // in 64 bits, as code computes it
      const bool constant = std::ranges::all_of(each.of, [&](const loop::Summand& summand) {
        const std::optional<std::uint64_t>& of = known.coordinates[summand.index];
        if (of) sum += static_cast<std::uint64_t>(summand.factor) * summand.part.coordinate(*of);
        return of.has_value();
      });
      if (!constant) continue;
      const bool negative = each.is_sum() && !each.part.is_whole() && static_cast<std::int64_t>(sum) < 0;
      given = negative ? ~std::uint64_t{0} : each.part.coordinate(each.is_sum() ? sum : *coordinate);
    }
  }
};

}  // namespace

std::uint64_t baked_size(const loop::Program& program, const CodeOptions& options, std::uint64_t most) {
  return BakedWalk(program, options, most).size();
}

}  // namespace weft
