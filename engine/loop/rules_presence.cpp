#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/loop/presence.h"
#include "engine/loop/print.h"
#include "engine/loop/products.h"
#include "engine/loop/rules.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

/// Whether a level of an input stores its coordinates, each with something stored below it.
bool stores(const Level& level) { return is_sparse(level.kind); }

/// What an index means to both the writer and a reader of a workspace.
struct Meaning {
  enum class Kind : std::uint8_t { outer, level, own, sum } kind = Kind::own;
  std::uint32_t number = 0;  ///< outer: the index; level: the first level of the workspace that has it
  // Of one that is given by others: the part of a sum of these.
  IndexPart part = {};
  std::vector<std::pair<Meaning, std::int64_t>> sum = {};
  std::int64_t offset = 0;
  std::optional<std::uint64_t> extent = {};
  bool operator==(const Meaning&) const = default;
};

/// A filter as both sides can compare it: a level of a storage under a prefix.
struct CommonFilter {
  StorageId storage = 0;
  std::vector<Meaning> prefix;
  bool operator==(const CommonFilter&) const = default;
};

class Presence {
 public:
  explicit Presence(const Program& program) : program_(program), all_(accumulates(program)) {}

  Expected<void> check() const {
    for (const PlacedAccumulate& reader : all_)
      for (AccessId factor : reader.accumulate->factors) {
        const Access& access = program_.accesses[factor];
        if (program_.storages[access.storage].role != Role::workspace) continue;
        if (is_exact(access.storage) || is_accumulated(reader, factor) || is_harmless(reader, factor)) continue;
        return input_error(fmt::format(
            "presence: {} {} reads workspace {}, whose level {} is dense, but not every coordinate read is provably "
            "accumulated, and absent is not as good as zero: the other factors are not known finite, or the result is "
            "not "
            "dense; use an accumulator or a bitmap",
            print(program_, *reader.accumulate), where(program_, reader.path), print(program_, access),
            dense_from(access.storage)));
      }
    return {};
  }

  bool may_be_absent(StorageId workspace) const {
    for (const PlacedAccumulate& reader : all_)
      for (AccessId factor : reader.accumulate->factors)
        if (program_.accesses[factor].storage == workspace && !is_accumulated(reader, factor) &&
            !is_harmless(reader, factor))
          return true;
    return false;
  }

 private:
  const Storage& storage_of(AccessId access) const { return program_.storages[program_.accesses[access].storage]; }

  /// The first of the trailing dense levels: those above it know absent entries by themselves. levels.size(): none is
  /// dense, all entries are known; so it is with the one entry of an order-0 workspace (may_be_absent).
  std::size_t dense_from(StorageId storage) const {
    return appended_levels(program_.storages[storage].levels);
  }
  bool is_exact(StorageId storage) const {
    return dense_from(storage) == program_.storages[storage].levels.size();
  }

  // --- provably accumulated -----------------------------------------------------------------------------------------
  /// Whether every entry of the workspace that `reader` reads through `factor` has been accumulated into.
  bool is_accumulated(const PlacedAccumulate& reader, AccessId factor) const {
    const StorageId storage = program_.accesses[factor].storage;
    return std::ranges::any_of(all_, [&](const PlacedAccumulate& writer) {
      return program_.accesses[writer.accumulate->target].storage == storage && reaches(writer, reader, factor);
    });
  }

  /// Whether `writer` accumulates into every entry that `reader` reads: each loop between them either runs over all the
  /// reader may ask for, or has at least one iteration.
  bool reaches(const PlacedAccumulate& writer, const PlacedAccumulate& reader, AccessId factor) const {
    const Access& written = program_.accesses[writer.accumulate->target];
    const Access& read = program_.accesses[factor];
    const std::size_t with = writer.path.depth_of_with(written.storage);
    const std::size_t dense = dense_from(written.storage);
    // A level that knows its entries: what is filtered above it is absent there too, and found absent by the reader.
    const std::size_t begin = dense > 0 ? writer.path.bound[writer.accumulate->target][dense - 1].depth + 1 : with + 1;

    for (std::size_t level = dense; level < written.indices.size(); ++level) {
      const std::size_t depth = writer.path.depth_of_loop(written.indices[level]);
      if (depth < with ? read.indices[level] != written.indices[level] : depth < begin) return false;
      for (std::size_t other = 0; other < level; ++other)
        if (written.indices[other] == written.indices[level] && read.indices[other] != read.indices[level])
          return false;
    }

    const std::vector<CommonFilter> met = filters(reader, read, 0, reader.path.enclosing.size(), with);
    const auto is_met = [&](const CommonFilter& filter) {
      // An index of one side alone is equal to nothing of the other side.
      return std::ranges::find(filter.prefix, Meaning{}) == filter.prefix.end() &&
             std::ranges::find(met, filter) != met.end();
    };
    for (std::size_t depth = begin; depth < writer.path.enclosing.size(); ++depth) {
      const bool reached = is_summed(writer, depth, written)
                               ? has_iterations(writer, depth)
                               : std::ranges::all_of(filters(writer, written, depth, depth + 1, with), is_met);
      if (!reached) return false;
    }
    // No step says so where a factor of order 0 is absent and nothing is accumulated.
    return std::ranges::all_of(writer.accumulate->factors, [&](AccessId other) {
      const Storage& scalar = storage_of(other);
      return scalar.role != Role::workspace || !scalar.levels.empty() || is_accumulated(writer, other) ||
             is_harmless(writer, other);
    });
  }

  /// Whether the statement at `depth` is a loop over an index that the workspace does not have.
  bool is_summed(const PlacedAccumulate& writer, std::size_t depth, const Access& written) const {
    const For* loop = writer.path.loop(depth);
    return loop != nullptr && std::ranges::find(written.indices, loop->index) == written.indices.end();
  }

  /// Whether a loop runs its body at least once whenever it is reached.
  bool has_iterations(const PlacedAccumulate& writer, std::size_t depth) const {
    const For& loop = *writer.path.loop(depth);
    std::size_t filtering = 0;
    bool never_empty = false;
    for (AccessId access = 0; access < writer.path.bound.size(); ++access)
      for (std::size_t level = 0; level < writer.path.bound[access].size(); ++level) {
        const BoundLevel& bound = writer.path.bound[access][level];
        if (bound.depth != depth || !is_filter(writer, access, level)) continue;
        ++filtering;
        // A stored coordinate has something stored below it, unless a dense level stands in between.
        const std::vector<Level>& levels = storage_of(access).levels;
        never_empty = bound.step.use == Use::drive && storage_of(access).role == Role::input && level > 0 &&
                      stores(levels[level]) && stores(levels[level - 1]);
      }
    if (filtering == 1) return never_empty;
    return filtering == 0 && std::ranges::any_of(program_.facts, [&](const Fact& fact) {
             const ExtentFact* extent = std::get_if<ExtentFact>(&fact);
             return extent != nullptr && extent->index == loop.index && extent->extent > 0;
           });
  }

  bool is_accumulated_wherever_read(AccessId access) const {
    return std::ranges::all_of(all_, [&](const PlacedAccumulate& reader) {
      const std::vector<AccessId>& factors = reader.accumulate->factors;
      return std::ranges::find(factors, access) == factors.end() || is_accumulated(reader, access);
    });
  }

  /// Whether the access is a factor of the sum, or of one that sums into a workspace that is.
  bool feeds(AccessId access, const Accumulate& sum) const {
    if (std::ranges::find(sum.factors, access) != sum.factors.end()) return true;
    return std::ranges::any_of(sum.factors, [&](AccessId factor) {
      if (storage_of(factor).role != Role::workspace) return false;
      return std::ranges::any_of(all_, [&](const PlacedAccumulate& writer) {
        return program_.accesses[writer.accumulate->target].storage == program_.accesses[factor].storage &&
               feeds(access, *writer.accumulate);
      });
    });
  }

  bool is_filter(const PlacedAccumulate& each, AccessId access, std::size_t level) const {
    const Step& step = each.path.bound[access][level].step;
    if (step.use != Use::drive && step.use != Use::locate) return false;
    const Storage& storage = storage_of(access);
    // A dense workspace that is a factor here leaves out nothing, or zeros do for it: check() asks for each such read, and
    // is_harmless() follows it to wherever this target is read. Beside it one leaves out nothing that is accumulated wherever it
    // is read.
    const bool dense = storage.role == Role::workspace && level >= dense_from(program_.accesses[access].storage);
    if (dense && (feeds(access, *each.accumulate) || is_accumulated_wherever_read(access))) return false;
    return leaves_out(program_, program_.accesses[access], level);
  }

  /// The filters of the statements of `each` at depths [begin, end), in terms of the workspace's `view`.
  std::vector<CommonFilter> filters(const PlacedAccumulate& each, const Access& view, std::size_t begin,
                                    std::size_t end, std::size_t with) const {
    std::vector<CommonFilter> found;
    for (AccessId access = 0; access < each.path.bound.size(); ++access)
      for (std::size_t level = 0; level < each.path.bound[access].size(); ++level) {
        const std::size_t depth = each.path.bound[access][level].depth;
        if (depth < begin || depth >= end || !is_filter(each, access, level)) continue;
        CommonFilter filter{program_.accesses[access].storage, {}};
        for (std::size_t n = 0; n <= level; ++n)
          filter.prefix.push_back(meaning(each.path, program_.accesses[access].indices[n], view, with));
        found.push_back(std::move(filter));
      }
    return found;
  }

  Meaning meaning(const Path& path, IndexId index, const Access& view, std::size_t with) const {
    if (const IndexDefinition* const definition = definition_of(program_, index)) {
      if (definition->cover) return {};  // each access finds its own start
      Meaning given{.kind = Meaning::Kind::sum, .part = definition->part, .offset = definition->offset, .extent = definition->extent};
      for (const Summand& summand : definition->of) {
        Meaning of = meaning(path, summand.index, view, with);
        if (of.kind == Meaning::Kind::own) return {};
        if (!summand.part.is_whole()) of = {.kind = Meaning::Kind::sum, .part = summand.part, .sum = {{std::move(of), 1}}};
        given.sum.emplace_back(std::move(of), summand.factor);
      }
      return given;
    }
    if (path.depth_of_loop(index) < with) return {Meaning::Kind::outer, index};
    const auto level = std::ranges::find(view.indices, index);
    if (level == view.indices.end()) return {};
    return {Meaning::Kind::level, static_cast<std::uint32_t>(level - view.indices.begin())};
  }

  // --- absent is as good as zero ------------------------------------------------------------------------------------
  /// Zero times the other factors is zero, and adding it changes nothing, here and wherever the target is read.
  bool is_harmless(const PlacedAccumulate& reader, AccessId factor) const {
    bool skipped = false;  // the factor itself, once
    for (AccessId other : reader.accumulate->factors) {
      if (other == factor && !skipped) {
        skipped = true;
        continue;
      }
      if (!is_finite(program_.accesses[other].storage)) return false;
    }
    const StorageId target = program_.accesses[reader.accumulate->target].storage;
    if (program_.storages[target].role == Role::output)
      return pattern_of(program_, target) ||
             (!tells_presence(program_, target) &&
              std::ranges::all_of(program_.storages[target].levels, [](const Level& level) { return is_dense(level.kind); }));
    for (const PlacedAccumulate& next : all_)
      for (AccessId each : next.accumulate->factors)
        if (program_.accesses[each].storage == target && !is_harmless(next, each)) return false;
    return true;
  }

  /// A fact, or computed from finite inputs.
  bool is_finite(StorageId storage) const {
    if (program_.storages[storage].role == Role::input)
      return std::ranges::any_of(program_.facts, [&](const Fact& fact) {
        const FiniteFact* finite = std::get_if<FiniteFact>(&fact);
        return finite != nullptr && finite->storage == storage;
      });
    for (const PlacedAccumulate& writer : all_) {
      if (program_.accesses[writer.accumulate->target].storage != storage) continue;
      for (AccessId factor : writer.accumulate->factors)
        if (!is_finite(program_.accesses[factor].storage)) return false;
    }
    return true;
  }

  const Program& program_;
  std::vector<PlacedAccumulate> all_;
};

}  // namespace

Expected<void> check_presence(const Program& program) { return Presence(program).check(); }

bool may_be_absent(const Program& program, StorageId workspace) {
  // Asked for every factor: others than these are not worth a walk over the program.
  const Storage& storage = program.storages[workspace];
  return storage.role == Role::workspace && storage.levels.empty() && Presence(program).may_be_absent(workspace);
}

Program with_needed_finite_facts(Program program) {
  const auto is_finite = [](const Fact& fact) { return std::holds_alternative<FiniteFact>(fact); };
  if (std::ranges::none_of(program.facts, is_finite)) return program;
  const auto told_apart = [](const Program& one) {
    const Presence presence(one);
    std::vector<StorageId> absent;
    for (StorageId storage = 0; storage < one.storages.size(); ++storage)
      if (one.storages[storage].role == Role::workspace && one.storages[storage].levels.empty() && presence.may_be_absent(storage))
        absent.push_back(storage);
    return absent;
  };
  const std::vector<StorageId> absent = told_apart(program);
  const auto holds = [&](const Program& fewer) { return Presence(fewer).check() && told_apart(fewer) == absent; };
  Program without = program;
  std::erase_if(without.facts, is_finite);
  if (holds(without)) return without;
  for (std::size_t fact = program.facts.size(); fact-- > 0;) {
    if (!is_finite(program.facts[fact])) continue;
    without = program;
    without.facts.erase(without.facts.begin() + static_cast<std::ptrdiff_t>(fact));
    if (holds(without)) program = std::move(without);
  }
  return program;
}

}  // namespace weft::loop
